"""Anchor: one measured step of somebody's own, to which all other predictions become relative."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import exp, isclose, isfinite
from types import MappingProxyType

from foretrain.coefficients.calibration import Calibration
from foretrain.coefficients.coefficient import Origin
from foretrain.coefficients.intervals import after_anchor
from foretrain.errors import InputError
from foretrain.evidence.free import free_of
from foretrain.evidence.judgement import FARTHEST, causes, deviations
from foretrain.evidence.place import FACTOR
from foretrain.evidence.result import Calibrated, Moved, Odd
from foretrain.plan.study import Study
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
