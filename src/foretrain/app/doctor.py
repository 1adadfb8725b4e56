"""What `doctor` answers: what works on this machine, and what to do about the rest.

Doctor: what works on this machine, what does not, and what to do about it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from foretrain.errors import EXTRAS, ForetrainError, missing
from foretrain.show.report import AnswerReport, ReportSection, Strong
from foretrain.show.table import label, table


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

    name: str = field(metadata=label("what"))
    health: Health = field(metadata=label("how"))
    found: str = field(metadata=label("found"))
    advice: str = field(default="", metadata=label("what to do"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Every check, in the order in which they matter."""

    checks: tuple[Check, ...] = field(metadata=label("checks"))

    @property
    def healthy(self) -> bool:
        """Whether nothing fails."""
        return all(check.health is not Health.FAIL for check in self.checks)


NEEDED: Final = ("jinja2", "numpy", "pydantic", "rich", "scipy", "typer")
OLDEST_PYTHON: Final = (3, 11)


def doctor() -> Diagnosis:
    """Look at Python, the libraries, the catalogue, the terminal and the processors."""
    checks = (
        _python(),
        _foretrain(),
        *_libraries(),
        *_extras(),
        _tried("catalogue", _known),
        _terminal(),
        Check(name="processors", health=Health.OK, found=f"{os.cpu_count() or 1} cores"),
    )
    return Diagnosis(checks=checks)


def _python() -> Check:
    found = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info >= OLDEST_PYTHON:
        return Check(name="python", health=Health.OK, found=found)
    return Check(name="python", health=Health.FAIL, found=found, advice="Install 3.11 or newer.")


def _foretrain() -> Check:
    installed = _version("foretrain")
    if installed:
        return Check(name="foretrain", health=Health.OK, found=installed)
    advice = "Run 'pip install .' in its folder, so that it knows its version."
    return Check(name="foretrain", health=Health.WARN, found="not installed", advice=advice)


def _libraries() -> Iterator[Check]:
    """The libraries that foretrain cannot do without."""
    for library in NEEDED:
        installed = _version(library)
        health = Health.OK if installed else Health.FAIL
        advice = "" if installed else f"Run 'pip install {library}'."
        yield Check(name=library, health=health, found=installed or "absent", advice=advice)


def _extras() -> Iterator[Check]:
    """What only some answers need: its absence is no fault."""
    for extra in EXTRAS:
        installed = _version(extra)
        advice = "" if installed else missing(extra, what="what trains or measures for real")
        yield Check(name=extra, health=Health.OK, found=installed or "absent", advice=advice)


def _terminal() -> Check:
    encoding = sys.stdout.encoding or "unknown"
    where = "a terminal" if sys.stdout.isatty() else "not a terminal"
    found = f"{where}, {encoding}"
    if encoding.lower().startswith("utf"):
        return Check(name="output", health=Health.OK, found=found)
    advice = "Set PYTHONUTF8=1 for bars that are not made of '#'."
    return Check(name="output", health=Health.WARN, found=found, advice=advice)


def _known() -> str:
    """How many things the catalogue knows, by kind."""
    from foretrain.study.catalogue import names
    from foretrain.workload.library.entries import entries

    counts = {kind: len(known) for kind, known in names().items()} | {"models": len(entries())}
    return ", ".join(f"{number} {kind}" for kind, number in counts.items())


def _tried(name: str, look: Callable[[], str]) -> Check:
    """A check that fails with the error that looking raises."""
    try:
        return Check(name=name, health=Health.OK, found=look())
    except ForetrainError as error:
        return Check(name=name, health=Health.FAIL, found="does not load", advice=str(error))


def _version(library: str) -> str:
    """The installed version; empty if there is none."""
    try:
        return version(library)
    except PackageNotFoundError:
        return ""


def doctor_report(_question: None, answer: Diagnosis) -> AnswerReport:
    """What is said of a diagnosis."""
    verdict = "Everything needed is here." if answer.healthy else "Something needed is missing."
    shown = table(answer.checks, "health", "name", "found", "advice")
    section = ReportSection(name="checks", title="", body=(shown, Strong(verdict)))
    return AnswerReport(kind="Diagnosis", title="What works on this machine", sections=(section,))
