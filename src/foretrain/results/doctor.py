"""What `doctor` answers: what works on this machine, and what to do about the rest."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Health(StrEnum):
    """How a check went."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: what it is.
        health: whether it works, works in part, or does not.
        found: what is there.
        advice: what to do; empty if nothing needs doing.
    """

    name: str
    health: Health
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Every check, in the order in which they matter."""

    checks: tuple[Check, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing fails."""
        return all(check.health is not Health.FAIL for check in self.checks)
