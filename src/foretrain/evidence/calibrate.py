"""calibrate: which coefficients do runs of somebody's own speak for, and does it help?

The report of `calibrate`: what measured runs made of the coefficients.

Anchor: one measured step of somebody's own, to which all other predictions become relative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import exp, expm1, isclose, isfinite
from types import MappingProxyType

from foretrain.coefficients.coefficients import Calibration, Origin
from foretrain.coefficients.intervals import after_anchor
from foretrain.errors import InputError
from foretrain.evidence.fit import free_of
from foretrain.evidence.fit_runs import FitEngine, Fitting, fit_runs
from foretrain.evidence.result import FACTOR, FARTHEST, Calibrated, Moved, Odd, causes, deviations
from foretrain.measured.run import MeasuredRun, UnreadRow
from foretrain.plan.study import Study
from foretrain.show.report import AnswerReport, Block, Note, ReportSection
from foretrain.show.table import table
from foretrain.show.words import count, percent, written
from foretrain.step.estimate import estimate
from foretrain.step.result import Estimate
from foretrain.study.coefficients import SHIPPED
from foretrain.units import SECONDS

WIDTHS: Mapping[str, str] = MappingProxyType(
    {
        "uncertainty.time": "uncertainty.anchored",
        "uncertainty.quicker": "uncertainty.anchored_quicker",
    }
)
"""How wide intervals are, and what stands in its place once a step was measured."""

EXACT = 1e-9
"""Relative difference between a measured step and the same step predicted afterwards."""


def anchor(
    study: Study,
    seconds: float,
    *,
    run: str,
    name: str,
    date: str,
    base: Calibration = SHIPPED,
    anyway: bool = False,
) -> Calibrated:
    """What one measured step says of all others of the same software.

    Args:
        study: what ran, with one value per field of the plan.
        seconds: that its step took.
        run: names it among the rows of the set.
        name: of the new set.
        date: of it, year first.
        base: the set before.
        anyway: whether to accept a figure that is hard to believe.

    Raises:
        InputError: the study is not one plan, or no pace makes its step as long as that.
    """
    made = anchored(study, seconds, base=base, run=run, anyway=True)
    before = estimate(study, coefficients=_unmoved(base).coefficients)
    doubts = tuple(_doubts(study, seconds, before))
    was, pace = base.known[FACTOR], made.known[FACTOR]
    moved = Moved(
        name=FACTOR,
        prior=was.value,
        value=pace.value,
        low=pace.low,
        high=pace.high,
        unit=pace.unit,
        score=free_of(FACTOR, was).score(pace.value),
        rows=len(pace.rows),
    )
    return Calibrated(
        calibration=replace(made, name=name, date=date),
        moved=(moved,),
        folds=MappingProxyType({}),
        rows=(run,),
        error=0.0,
        odd=tuple(_odd(run, seconds, before)),
        doubts=doubts,
        accepted=anyway or not doubts,
    )


def anchored(
    study: Study,
    seconds: float,
    *,
    base: Calibration = SHIPPED,
    run: str = "a step",
    anyway: bool = False,
) -> Calibration:
    """The set with which `estimate` answers a measured step, moved by its pace alone.

    The pace multiplies everything that devices, links and hosts do. What a step waits for its
    samples is no part of it.

    Args:
        study: what ran, with one value per field of the plan.
        seconds: that its step took.
        base: the set before.
        run: names it among the rows of the set.
        anyway: whether to accept a figure that is hard to believe.

    Raises:
        InputError: the study is not one plan, no pace makes its step as long as that, or the figure
            is too far from the prediction.
    """
    if not (seconds > 0 and isfinite(seconds)):
        raise InputError(f"step time: must be above 0 s, got {seconds:g}.")
    before = estimate(study, coefficients=base.coefficients)
    pace = base.known[FACTOR].value * seconds / (before.step_time - before.parts.input)
    # With the pace goes what made intervals wide: it is known now.
    width = after_anchor(base.coefficients.uncertainty)
    moved = replace(
        base.known[FACTOR],
        value=pace,
        low=pace * exp(-width.time * width.quicker),
        high=pace * exp(width.time),
        kind=Origin.MEASURED,
        source=f"a measured step of {SECONDS.write(seconds)}",
        rows=(run,),
    )
    narrower = {name: base.known[anchored] for name, anchored in WIDTHS.items()}
    made = replace(base, known={**base.known, FACTOR: moved, **narrower})
    after = estimate(study, coefficients=made.coefficients)
    if not isclose(after.step_time, seconds, rel_tol=EXACT):
        raise InputError(
            f"step time: no step takes {SECONDS.write(seconds)} whose samples take "
            f"{SECONDS.write(after.step_time)} to read and prepare. Correct [workload.data] or "
            "leave it out."
        )
    if not anyway:
        unmoved = estimate(study, coefficients=_unmoved(base).coefficients)
        doubts = list(_doubts(study, seconds, unmoved))
        if doubts:
            raise InputError(f"{' '.join(doubts)} If it is right, pass anyway=True.")
    return made


def _unmoved(base: Calibration) -> Calibration:
    """A set before any measured step moved it: a second step is judged like the first."""
    return replace(base, known={**base.known, **{n: SHIPPED.known[n] for n in (FACTOR, *WIDTHS)}})


def _odd(run: str, seconds: float, before: Estimate) -> Iterator[Odd]:
    """The step, if it is farther from its prediction than can be believed."""
    ends = (before.step_time_low, before.step_time_high)
    far = deviations(seconds, before.step_time, ends)
    if abs(far) > FARTHEST:
        yield Odd(run=run, measured=seconds, predicted=before.step_time, deviations=far)


def _doubts(study: Study, seconds: float, before: Estimate) -> Iterator[str]:
    """Why a measured step is not believed, and what may be wrong with it."""
    plan, batch = before.plan, study.workload.global_batch
    for odd in _odd("", seconds, before):
        told = causes(
            seconds / before.step_time,
            micro_batches=batch / (plan.data * plan.micro_batch),
            devices=before.devices,
            mfu=before.mfu * before.step_time / seconds,
        )
        yield (
            f"step time: {SECONDS.write(seconds)} is {abs(odd.deviations):.0f} standard deviations "
            f"from the {SECONDS.write(before.step_time)} that are predicted "
            f"({SECONDS.write(before.step_time_low)} to {SECONDS.write(before.step_time_high)} in "
            f"four of five cases). Perhaps: {'; '.join(told)}."
        )


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
