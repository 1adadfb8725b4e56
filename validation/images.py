"""How well steps of convolutional networks are predicted without anything of their publisher.

    python -m validation.images

Every run is predicted by the set that was fitted without its publisher (`cold`); then the smallest
run of each group of alike runs corrects the others (`anchored`). Beside that stands what comes out
of coefficients of pictures as they were known before any fit. `python -m validation.calibrate` fits
the sets. The exit status is 1 if a figure that foretrain must keep is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean

import numpy as np
from validation.fitting.images import Measured, Pictures, benches_of, fitted, taught_by
from validation.fitting.scaling import scaling
from validation.fitting.scores import Scored, anchored, score
from validation.parts.cold import HERE, folds, judged, publishers
from validation.parts.families import kinds_of

from foretrain.coefficients.coefficients import Coefficient, Coefficients, Origin
from foretrain.errors import ForetrainError
from foretrain.evidence.fit import Fit, Free, Observation, free_of, observation
from foretrain.evidence.predict import CATALOGUE
from foretrain.measured.case import Case, case_of
from foretrain.measured.lore import UPDATES
from foretrain.measured.run import MeasuredRun
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT, PRIORS
from foretrain.study.measurements import read_runs

GROUPS = ("pictures", "picture_steps")
EARLY = "u39kun"
"""Software of 2018 that ran few 16-bit convolutions on matrix units: only its fp32 counts."""

MUST_COLD, MUST_ANCHORED, MUST_SCALING = 0.15, 0.06, 0.04

Told = tuple[MeasuredRun, Case]


def main() -> int:
    """Predicts and prints; 1 if a figure is missed."""
    known = {name: as_known(each) for name, each in folds().items()}
    print_figures("pictures as known before any fit", judged("cnn_training", known).scored)
    kept = print_figures("without the publisher", judged("cnn_training", folds()).scored)
    return 0 if kept else 1


def as_known(fitted_set: Coefficients) -> Coefficients:
    """A set whose coefficients of pictures are those before any fit."""
    return fitted_set.changed({name: PRIORS.coefficients.value(name) for name in fittable()})


def print_figures(title: str, cold: Sequence[Scored]) -> bool:
    """Prints the figures of coefficients that know nothing of the runs; whether all are kept."""
    print("\n".join(errors(f"cold: {title}", cold)))
    rest = anchored(cold)
    print("\n".join(errors("anchored: corrected by one run of the group", rest)))
    points = [abs(point.error) for point in scaling(cold)]
    figures = (
        ("cold", score(cold).mean, MUST_COLD),
        ("anchored", score(rest).mean, MUST_ANCHORED),
        (f"scaling efficiency, {len(points)} counts", fmean(points), MUST_SCALING),
    )
    for name, figure, must in figures:
        assert figure is not None
        verdict = "kept" if figure <= must else "MISSED"
        print(f"{name}: mean error {figure:.1%}: {verdict} (at most {must:.0%})")
    return all(figure is not None and figure <= must for _, figure, must in figures)


def errors(title: str, rows: Sequence[Scored]) -> Iterator[str]:
    """Errors by source."""
    yield f"\n{title}"
    for source, it in score(rows).sources.items():
        bias = fmean(row.error for row in rows if row.run.source_id == source)
        yield (
            f"  {source:16} {it.rows:4} rows   mean {it.mean:6.1%}   median {it.median:6.1%}   "
            f"bias {bias:+7.1%}"
        )


def fittable() -> tuple[str, ...]:
    """Names of the coefficients that steps on pictures may move."""
    return tuple(
        name
        for name, it in PRIORS.known.items()
        if name.split(".", maxsplit=1)[0] in GROUPS and it.low < it.high
    )


def learned(
    base: Coefficients, without: Mapping[str, Coefficients], *, command: str
) -> tuple[dict[str, Coefficient], dict[str, dict[str, Coefficient]]]:
    """Coefficients of pictures as all runs tell them, and as those without each publisher do.

    Args:
        base: the values of all others.
        without: the same fitted without a publisher, by publisher.
        command: by which the fit can be made again.
    """
    many = [each for each in told("cnn_training") if each[0].may_be_fitted]
    one = [each for each in told("single_device") if counts(*each)]
    pictures = pictures_of(many, one)
    free = [free_of(name, PRIORS.known[name]) for name in fittable()]
    found = fitted(pictures, free, base, without=without)
    ids = [run.id for run, _ in (*many, *one)]
    told_by = partial(_coefficients, free=free, pictures=pictures, ids=ids, command=command)
    return told_by(found.whole), {
        name: told_by(fold, without=name) for name, fold in found.without.items()
    }


def _coefficients(
    found: Fit,
    *,
    free: Sequence[Free],
    pictures: Pictures,
    ids: Sequence[str],
    command: str,
    without: str = "",
) -> dict[str, Coefficient]:
    """What a fit found, each value with the rows that it makes a difference to."""
    known = {}
    for place, each in enumerate(free):
        rows = taught_by(found, pictures, place, without=without)
        if not rows.size:
            continue
        low, high = found.interval(free, place)
        known[each.name] = Coefficient(
            value=each.value(float(found.scores[place])),
            unit=PRIORS.known[each.name].unit,
            low=low,
            high=high,
            kind=Origin.MEASURED,
            source=command,
            rows=tuple(ids[row] for row in rows),
        )
    return known


def told(table: str, *, of: Collection[str] = ()) -> Iterator[Told]:
    """The runs of a table that are predicted and can be scored, or those of some names."""
    for run in read_runs(HERE / "tables" / f"{table}.csv"):
        if of and run.id not in of:
            continue
        if run.measured is None or run.check or run.source_kind == "memory":
            continue
        try:
            yield run, case_of(run, CATALOGUE)
        except ForetrainError:
            continue


def counts(run: MeasuredRun, _: Case) -> bool:
    """Whether a training on one device says something of today's software."""
    return run.source_id != EARLY or run.precision == "fp32"


def pictures_of(many: Sequence[Told], one: Sequence[Told]) -> Pictures:
    """What is fitted: every configuration is priced once."""
    owners = publishers()
    known: dict[Hashable, int] = {}
    observations: list[Observation] = []
    place = []
    for run, case in many:
        place.append(known.setdefault(_configuration(case), len(known)))
        if len(known) > len(observations):
            observations.append(_observed(run, case))
    return Pictures(
        observations=tuple(observations),
        place=np.array(place, np.intp),
        measured=np.array([run.measured for run, _ in many]),
        sources=tuple(run.source_id for run, _ in many),
        publishers=tuple(owners[run.source_id] for run, _ in many),
        others=tuple(kinds_of(run) for run, _ in many),
        trainers=tuple(trainer_of(run) for run, _ in many),
        alike=tuple(
            f"{run.source_id}, {run.network.name} {run.network.variant}, "
            f"{case.cluster.device.name}, {run.precision}"
            for run, case in many
        ),
        alone=Measured(
            benches=benches_of([case for _, case in one]),
            seconds=np.array([run.measured for run, _ in one]),
            groups=tuple(run.source_id for run, _ in one),
            others=tuple({owners[run.source_id], *kinds_of(run)} for run, _ in one),
            update=np.array([UPDATES.of(run) for run, _ in one]),
        ),
    )


def trainer_of(run: MeasuredRun) -> str:
    """The code that ran: submissions of one benchmark to a round of MLPerf share it."""
    shared = run.source_id.startswith("mlperf")
    return f"{run.source_id}, {run.network.name if shared else run.framework}"


def _configuration(case: Case) -> Hashable:
    """What decides the prediction; models are built once and told apart by their identity."""
    workload = case.workload
    learned = (id(workload.model), workload.precision, workload.global_batch, workload.optimizer)
    return (*learned, case.cluster, case.plan, case.software)


def _observed(run: MeasuredRun, case: Case) -> Observation:
    priced = setting(case.workload, case.cluster, DEFAULT, software=case.software)
    return observation(priced, case.plan, measured=float(run.measured or 0.0))


if __name__ == "__main__":
    sys.exit(main())
