"""The tables of the docs page, from what is recorded on two machines."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from validation.parts.pages import put_between

MARKS = (
    "<!-- ensemble: python benchmarks/ensemble.py --page -->",
    "<!-- end of ensemble -->",
)
OTHER_MARKS = (
    "<!-- another machine: python benchmarks/ensemble.py --page -->",
    "<!-- end of another machine -->",
)


def write_page(page: Path, recorded: Path, other: Path) -> None:
    """Puts the tables between their marks on a page; cells only of the first machine."""
    rows, others = (tomllib.loads(path.read_text("utf-8")) for path in (recorded, other))
    tables = "\n".join([*_taken(rows), "", *_claims(rows), "", *_cells(rows)])
    text = put_between(page.read_text("utf-8"), MARKS, tables)
    claims = "\n".join([*_taken(others), "", *_claims(others)])
    page.write_text(put_between(text, OTHER_MARKS, claims), "utf-8")


def _taken(rows: Mapping[str, Any]) -> Iterator[str]:
    """How often, when and on what, one line for all rows that were measured alike."""
    alike: dict[str, list[str]] = {}
    for name, row in rows.items():
        how = f"repetitions: {row['repetitions']}; {row['measured']}; {row['machine']}"
        alike.setdefault(how, []).append(name)
    yield from (f"- {', '.join(names)}: {how}." for how, names in alike.items())


def _claims(rows: Mapping[str, Any]) -> Iterator[str]:
    yield "| what | must | is | |"
    yield "|---|---|---|---|"
    for row in rows.values():
        for name, claim in row["claims"].items():
            yield f"| {name} | {claim['bar']} | {claim['shown']} | {claim['verdict']} |"


def _cells(rows: Mapping[str, Any]) -> Iterator[str]:
    """Processor and wall milliseconds per sample: median (least to most)."""
    yield "| row | cell | processor ms per sample | wall ms per sample | peak MB | others, cores |"
    yield "|---|---|---|---|---|---|"
    for row_name, row in rows.items():
        for name, cell in row["cells"].items():
            cpu, wall = (_spread(cell[key], 1e3, 2) for key in ("cpu", "wall"))
            memory, others = _spread(cell["memory"], 1e-6, 0), _spread(cell["others"], 1.0, 2)
            yield f"| {row_name} | {name} | {cpu} | {wall} | {memory} | {others} |"


def _spread(values: list[float], unit: float, digits: int) -> str:
    median, least, most = (f"{unit * value:.{digits}f}" for value in values)
    return f"{median} ({least} to {most})"
