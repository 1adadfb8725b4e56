"""What `doctor` answers: what works on this machine, and what to do about the rest.

Doctor: what works on this machine, what does not, and what to do about it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, replace
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from foretrain.errors import EXTRAS, ForetrainError, absent, missing
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


NEEDED: Final = ("jinja2", "numpy", "pydantic", "pyyaml", "rich", "scipy", "typer")
OLDEST_PYTHON: Final = (3, 11)

USES: Final = {
    "torch": "what trains or measures for real, or reads a model's code,",
    "transformers": "a config.json of a family that foretrain does not know by itself",
    "onnx": "a model in an ONNX file",
}
"""What needs each of the extras."""


def doctor() -> Diagnosis:
    """Look at Python, the libraries, the catalogue, the terminal and the processors."""
    found = ".".join(str(part) for part in sys.version_info[:3])
    python = Check(name="python", health=Health.OK, found=found)
    if sys.version_info < OLDEST_PYTHON:
        python = replace(python, health=Health.FAIL, advice="Install 3.11 or newer.")
    encoding = sys.stdout.encoding or "unknown"
    where = "a terminal" if sys.stdout.isatty() else "not a terminal"
    output = Check(name="output", health=Health.OK, found=f"{where}, {encoding}")
    if not encoding.lower().startswith("utf"):
        advice = "Set PYTHONUTF8=1 for bars that are not made of '#'."
        output = replace(output, health=Health.WARN, advice=advice)
    in_folder = "Run 'pip install .' in its folder, so that it knows its version."
    foretrain = _library("foretrain", Health.WARN, in_folder)
    if foretrain.health is Health.WARN:
        foretrain = replace(foretrain, found="not installed")
    checks = (
        python,
        foretrain,
        *(_library(name, Health.FAIL, f"Run 'pip install {name}'.") for name in NEEDED),
        # What only some answers need: its absence is no fault.
        *(_library(name, Health.OK, missing(name, what=USES[name])) for name in EXTRAS),
        _catalogue(),
        output,
        Check(name="processors", health=Health.OK, found=f"{os.cpu_count() or 1} cores"),
        _streams(),
    )
    return Diagnosis(checks=checks)


def _streams() -> Check:
    """Whether members of an ensemble can be trained here, and share their input."""
    name, system = "ensembles", str(sys.platform)
    if system.startswith("linux"):
        lacking = " and trained" if not absent("torch") else "; training them needs torch, above"
        return Check(name=name, health=Health.OK, found=f"can be estimated{lacking}")
    advice = "share(...), attach(...) and 'ensemble run' need Linux, a container of it will do."
    return Check(name=name, health=Health.WARN, found="can be estimated", advice=advice)


def _library(name: str, without: Health, advice: str) -> Check:
    """Whether a library is installed, and what its absence means."""
    try:
        return Check(name=name, health=Health.OK, found=version(name))
    except PackageNotFoundError:
        return Check(name=name, health=without, found="absent", advice=advice)


def _catalogue() -> Check:
    """How many things the catalogue knows, by kind; fails with the error that looking raises."""
    from foretrain.study.catalogue import names
    from foretrain.workload.library.entries import entries

    try:
        counts = {kind: len(known) for kind, known in names().items()}
        counts["models"] = len(entries())
    except ForetrainError as error:
        advice = str(error)
        return Check(name="catalogue", health=Health.FAIL, found="does not load", advice=advice)
    found = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    return Check(name="catalogue", health=Health.OK, found=found)


def doctor_report(_question: None, answer: Diagnosis) -> AnswerReport:
    """What is said of a diagnosis."""
    verdict = "Everything needed is here." if answer.healthy else "Something needed is missing."
    shown = table(answer.checks, "health", "name", "found", "advice")
    section = ReportSection(name="checks", title="", body=(shown, Strong(verdict)))
    return AnswerReport(kind="Diagnosis", title="What works on this machine", sections=(section,))
