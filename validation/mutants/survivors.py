"""Mistakes that no test notices, and why."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("survivors.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """A mistake that was looked at.

    Attributes:
        name: of the mutant.
        equivalent: whether no answer can differ; it is not counted then.
        reason: why no test kills it.
    """

    name: str
    equivalent: bool
    reason: str


def survivors() -> Mapping[str, Survivor]:
    """All that are listed, by their names."""
    listed = tomllib.loads(FILE.read_text("utf-8")).get("survivor", [])
    return {each["name"]: Survivor(**each) for each in listed}
