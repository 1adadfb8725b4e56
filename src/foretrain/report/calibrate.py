"""The report of `calibrate`: what measured runs made of the coefficients."""

from __future__ import annotations

from math import expm1

from rich.console import Group
from rich.text import Text

from foretrain.report import terminal
from foretrain.report.table import Column, Table
from foretrain.report.words import count, percent, written
from foretrain.results.calibrate import Calibrated, Judged, Moved, Odd
from foretrain.units import SECONDS

SHOWN = 5
"""Odd runs that are listed."""

COLUMNS = (
    Column(name="coefficient"),
    Column(name="before", number=True),
    Column(name="after", number=True),
    Column(name="interval"),
    Column(
        name="moved", meaning="standard deviations of what was known; above 3 is odd", number=True
    ),
    Column(name="runs", meaning="that tell of it", number=True),
)


def calibration_text(found: Calibrated) -> Group:
    """What the terminal shows of a fit."""
    told = [it for it in found.moved if it.rows]
    silent = [it.name for it in found.moved if not it.rows]
    runs = f"Set {found.calibration.name}, fitted to {count(len(found.rows), 'run')}"
    off = f"; it predicts them {percent(expm1(found.error))} off (root mean square)"
    unmoved = f"No run tells of {', '.join(silent)}." if silent else ""
    return Group(
        terminal.heading(f"{runs}{off if len(found.rows) > 1 else ''}"),
        terminal.table(Table(columns=COLUMNS, rows=tuple(map(_row, told)))),
        terminal.legend(COLUMNS),
        *([terminal.note(unmoved)] if unmoved else []),
        *([terminal.note(_left_out(found.judged))] if found.judged else []),
        *(Text(f"Odd: {_odd(each)}") for each in found.odd[:SHOWN]),
    )


def _left_out(judged: Judged) -> str:
    """What the fit is worth on runs that it has not seen."""
    before, after = (percent(expm1(off)) for off in (judged.before, judged.after))
    return f"On runs left out of it, each once: {after} off in the mean, {before} without this set."


def _odd(each: Odd) -> str:
    measured, predicted = (written(SECONDS, seconds) for seconds in (each.measured, each.predicted))
    far = f"{each.deviations:+.0f} standard deviations"
    return f"{each.run} took {measured}, and {predicted} are predicted ({far})"


def _row(it: Moved) -> tuple[str, ...]:
    unit = "" if it.unit == "1" else f" {it.unit}"
    return (
        it.name,
        f"{it.prior:.4g}{unit}",
        f"{it.value:.4g}{unit}",
        f"{it.low:.4g} to {it.high:.4g}",
        f"{it.score:+.2f}",
        str(it.rows),
    )
