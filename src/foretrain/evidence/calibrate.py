"""calibrate: which coefficients do runs of somebody's own speak for, and does it help?

The report of `calibrate`: what measured runs made of the coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import expm1

from foretrain.coefficients.calibration import Calibration
from foretrain.errors import InputError
from foretrain.evidence.anchor import anchor
from foretrain.evidence.fit_runs import FitEngine, Fitting, fit_runs
from foretrain.evidence.result import Calibrated
from foretrain.measured.run import MeasuredRun, UnreadRow
from foretrain.plan.study import Study
from foretrain.show.report import AnswerReport, Block, Note, ReportSection
from foretrain.show.table import table
from foretrain.show.words import count, percent, written
from foretrain.study.coefficients import SHIPPED
from foretrain.units import SECONDS


def calibrate(
    ran: Sequence[MeasuredRun | UnreadRow] | Study,
    *,
    step_time: float | None = None,
    anyway: bool = False,
    called: str = "given in Python",
    name: str = "mine",
    date: str = "",
    base: Calibration = SHIPPED,
    engine: FitEngine = map,
    progress: Callable[[str], None] = lambda _: None,
) -> Calibrated:
    """Learn from measured runs, or from one measured step of a study.

    What cannot be believed, or does not help on runs that were left out of the fit, is answered
    with its doubts and not accepted.

    Args:
        ran: measured runs, those of a table that cannot be read left out; or a study of one plan,
            with `step_time`.
        step_time: seconds that a step of the study took.
        anyway: whether to accept what is doubted.
        called: what ran, as the set names it among its sources.
        name: of the new set.
        date: of it, year first.
        base: the set before.
        engine: applies a function to every item, in order.
        progress: told in words what is done.

    Raises:
        InputError: no run is left to fit to; or the study is not one plan, or no pace makes its
            step as long as that.
    """
    if isinstance(ran, Study):
        if step_time is None:
            raise InputError("calibrate: a study needs step_time, the seconds that its step took.")
        return anchor(ran, step_time, run=called, name=name, date=date, base=base, anyway=anyway)
    if step_time is not None:
        raise InputError("calibrate: step_time is that of a study; runs have theirs.")
    fitting = Fitting(
        free=(),
        kept_apart=frozenset(),
        left_out=None,
        name=name,
        date=date,
        command=f"foretrain calibrate {called}",
        own=True,
        anyway=anyway,
    )
    runs = [each for each in ran if isinstance(each, MeasuredRun)]
    return fit_runs(runs, fitting, priors=base, engine=engine, progress=progress)


SHOWN = 5
"""Odd runs that are listed."""


def calibrate_report(ran: object, found: Calibrated) -> AnswerReport:
    """What is said of a fit."""
    told = [it for it in found.moved if it.rows]
    silent = [it.name for it in found.moved if not it.rows]
    runs = f"Set {found.calibration.name}, fitted to {count(len(found.rows), 'run')}"
    off = f"; it predicts them {percent(expm1(found.error))} off (root mean square)"
    notes = [f"No run tells of {', '.join(silent)}."] if silent else []
    if found.judged is not None:
        before, after = (percent(expm1(off)) for off in (found.judged.before, found.judged.after))
        notes.append(
            f"On runs left out of it, each once: {after} off in the mean, {before} without this "
            "set."
        )
    odd = [
        f"Odd: {each.run} took {written(SECONDS, each.measured)}, and "
        f"{written(SECONDS, each.predicted)} are predicted ({each.deviations:+.0f} standard "
        "deviations)"
        for each in found.odd[:SHOWN]
    ]
    shown = ("name", "before", "after", "interval", "score", "rows")
    title = f"{runs}{off if len(found.rows) > 1 else ''}"
    body: tuple[Block, ...] = (
        table(told, *shown, legend=True),
        *map(Note, notes),
        *odd,
    )
    sections = (ReportSection(name="fit", title=title, body=body),)
    return AnswerReport(kind="Calibration", title=found.calibration.name, sections=sections)
