"""What came out of each row, with the machine and its load, in one file."""

from __future__ import annotations

import json
import os
import platform
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from validation.parts.claims import Claim
from validation.parts.processors import kernel

from ensemble_parts.rounds import Effort, Measured, medians
from ensemble_parts.rows import Row

SHOWN = ("cpu", "wall", "delivered", "memory", "arena", "others", "seconds")
HEAD = """# What came out of benchmarks/ensemble.py. Of a cell: median, least and most over the
# repetitions; cpu and wall in seconds per sample of the data set, all members together; others in
# processor cores that the rest of the machine took; memory in bytes.
"""


@dataclass(frozen=True, kw_only=True)
class Came:
    """What came out of a row.

    Attributes:
        when: date and time at which it ended.
        load: load averages of a minute, before and after.
        effort: how much was measured.
        row: what it is about.
        taken: what was measured, by it and by others.
    """

    when: str
    load: tuple[float, float]
    effort: Effort
    row: Row
    taken: Measured

    @property
    def claims(self) -> list[Claim]:
        """Its figures."""
        return list(self.row.claims(self.taken))

    @property
    def table(self) -> dict[str, object]:
        """As TOML keeps it."""
        return {
            "measured": self.when,
            "machine": machine(),
            "load": list(self.load),
            "repetitions": min(len(self.taken[cell]) for cell in self.row.cells),
            "seconds": self.effort.seconds,
            "claims": {claim.name: _told(claim) for claim in self.claims},
            "cells": {
                str(cell): {name: list(medians(self.taken[cell], name)) for name in SHOWN}
                for cell in self.row.cells
            },
        }


def _told(claim: Claim) -> dict[str, object]:
    return {
        "figure": claim.figure,
        "bar": claim.bar,
        "shown": claim.shown,
        "verdict": claim.verdict,
    }


def now() -> str:
    """Date and time."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def machine() -> str:
    """Processor, cores, memory and versions."""
    import torch

    names = Path("/proc/cpuinfo").read_text().splitlines()
    name = next((line.split(":")[1].strip() for line in names if line.startswith("model name")), "")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{name}, {os.cpu_count()} cores, {memory:.0f} GiB, Linux {kernel()},"
        f" Python {platform.python_version()}, torch {torch.__version__}"
    )


def record(path: Path, rows: Mapping[str, Came]) -> None:
    """Writes rows into the file; those that were not measured now stay."""
    before = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    kept = {**before, **{name: came.table for name, came in rows.items()}}
    lines = [line for name, table in kept.items() for line in _lines([name], table)]
    path.write_text(HEAD + "\n".join(lines) + "\n", "utf-8")


def _lines(names: Sequence[str], table: Mapping[str, object]) -> Iterator[str]:
    """A table and those within it, as TOML; strings and numbers are written as in JSON."""
    values = {key: value for key, value in table.items() if not isinstance(value, dict)}
    if values:
        yield ""
        yield f"[{'.'.join(map(json.dumps, names))}]"
        yield from (
            f"{json.dumps(key)} = {json.dumps(_short(value))}" for key, value in values.items()
        )
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _lines([*names, key], value)


def _short(value: object) -> object:
    """Numbers with six digits."""
    if isinstance(value, list):
        return [_short(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
