"""Sets of coefficients that somebody brings: every problem told at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import Any, Final

from foretrain.coefficients.calibration import Calibration
from foretrain.coefficients.coefficient import Coefficient
from foretrain.coefficients.uncertainty import Covers
from foretrain.errors import nearest
from foretrain.study.coefficients import (
    COVERS,
    PRIORS,
    SHIPPED,
    rows_of,
    shipped,
    shipped_sets,
)
from foretrain.study.documents import read_toml
from foretrain.study.problems import Problems, validated
from foretrain.units import as_written

BASES: Final[Mapping[str, Calibration]] = {it.name: it for it in (SHIPPED, PRIORS)}
"""Sets that hold for whatever another one leaves out, by name."""

HEAD: Final = ("name", "date", "over", COVERS)

MOST_ROWS: Final = 100_000
"""Rows that one value may list; more are a slip of the pen in `first..last`."""


def read_calibration(path: Path) -> Calibration:
    """A set of coefficients from a file, over the shipped set that it names.

    Args:
        path: a file as `foretrain calibrate --output` writes it, or the name of a set that comes
            with foretrain.

    Raises:
        InputError: it is not such a file; tells every problem.
    """
    if str(path) in shipped_sets():
        return shipped(str(path))
    problems = Problems(str(path))
    document = read_toml(path, problems)
    # The set that holds for what the file leaves out.
    base, over = SHIPPED, document.get("over", SHIPPED.name)
    if isinstance(over, str) and over in BASES:
        base = BASES[over]
    else:
        problems.add(
            "over",
            f"this foretrain has no set {as_written(over)}. Known: {', '.join(BASES)}. "
            "Calibrate again over one of them.",
        )
    known = {
        name: _coefficient(name, entry, base.known[name], problems=problems)
        for name, entry in _entries(document, base, problems)
    }
    covers, told = base.covers, document.get(COVERS, {})
    if not isinstance(told, dict):
        problems.add(COVERS, f"is {as_written(told)}; a table is wanted.")
    elif COVERS in document:
        covers = validated(Covers, told, path=COVERS, problems=problems) or covers
    name = document.get("name", path.stem)
    if not isinstance(name, str) or name in BASES:
        problems.add("name", f"is {as_written(name)}; give the set a name of its own.")
    problems.check()
    return Calibration(
        name=name, date=str(document.get("date", "")), known={**base.known, **known}, covers=covers
    )


def _entries(
    document: Mapping[str, Any], base: Calibration, problems: Problems
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The coefficients of a file by name."""
    for group, inside in document.items():
        if group in HEAD:
            continue
        if not isinstance(inside, dict):
            problems.add(group, f"unknown key. Known beside coefficients: {', '.join(HEAD)}.")
            continue
        for field, entry in inside.items():
            name = f"{group}.{field}"
            if name not in base.known:
                problems.add(name, f"unknown coefficient.{nearest(name, base.known)}")
            elif not isinstance(entry, dict):
                problems.add(name, f"is {as_written(entry)}; a table with a value is wanted.")
            else:
                yield name, entry


def _coefficient(
    name: str, entry: Mapping[str, Any], before: Coefficient, *, problems: Problems
) -> Coefficient:
    """A coefficient of a file; the one of the base where it has problems."""
    entry = {"unit": before.unit, **entry}
    found = validated(Coefficient, entry, path=name, problems=problems)
    if problems.touch(name) or found is None:
        return before
    if found.unit != before.unit:
        problems.add(f"{name}.unit", f"is {as_written(found.unit)}; {before.unit!r} is meant.")
    if not all(isfinite(end) for end in (found.low, found.high)):
        problems.add(name, "has an interval without an end.")
    if before.low > 0 and not found.low > 0:
        problems.add(f"{name}.low", f"is {found.low:g}; only values above 0 have a meaning.")
    rows = tuple(islice(chain.from_iterable(map(rows_of, found.rows)), MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        problems.add(f"{name}.rows", f"are more than {MOST_ROWS:,}, the most that is read.")
    return replace(found, rows=rows)
