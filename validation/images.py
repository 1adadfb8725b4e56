"""How well steps of convolutional networks are predicted without anything of their publisher.

    python -m validation.images [--fit]

Coefficients of kernels over pictures are shipped as they were known before any fit, so every run is
predicted by what no run was fitted to (`cold`); then the smallest run of each group of alike runs
corrects the others (`anchored`). With `--fit` the same is printed of a fit to all runs but those of
one publisher, which takes some minutes; nothing of it is written. The exit status is 1 if a figure
that foretrain must keep is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Sequence
from statistics import fmean

import numpy as np
from validation.cold import HERE, publishers

from foretrain.calibrate.free import Floats, free_of
from foretrain.calibrate.images import Fitted, Pictures, fitted
from foretrain.calibrate.observation import Observation, observation
from foretrain.calibrate.scaling import scaling
from foretrain.calibrate.scored import Scored
from foretrain.calibrate.scores import anchored, score
from foretrain.calibrate.single import Measured, benches_of
from foretrain.cost.setting import setting
from foretrain.errors import ForetrainError
from foretrain.files.coefficients import PRIORS
from foretrain.files.measurements import read_measurements
from foretrain.measured.case import PASSES, Case, case_of
from foretrain.measured.run import MeasuredRun
from foretrain.verbs.predict import CATALOGUE

GROUPS = ("pictures", "picture_steps")
EARLY = "u39kun"
"""Software of 2018 that ran few 16-bit convolutions on matrix units: only its fp32 counts."""

MUST_COLD, MUST_ANCHORED, MUST_SCALING = 0.15, 0.06, 0.04

Told = tuple[MeasuredRun, Case]


def main(*options: str) -> int:
    """Predicts and prints; 1 if a figure is missed."""
    many = list(told("cnn_training"))
    one = [each for each in told("single_device") if "--fit" in options and counts_alone(each[0])]
    pictures = pictures_of(many, one)
    asked = np.arange(len(many) + len(one)) < len(many)
    known = np.exp(pictures.log_seconds(PRIORS.coefficients, asked))[: len(many)]
    kept = judged("known before any fit", scored(many, known))
    if one:
        _compare(many, pictures)
    return 0 if kept else 1


def _compare(many: Sequence[Told], pictures: Pictures) -> None:
    """Prints what a fit would do."""
    free = [free_of(name, it) for name, it in PRIORS.known.items() if name.split(".")[0] in GROUPS]
    found = fitted(pictures, free, PRIORS.coefficients)
    print("\n".join(["", *coefficients(found)]))
    print("\n".join(errors("fitted to everything (not a test)", scored(many, found.warm))))
    judged("fitted without the publisher", scored(many, found.cold))


def scored(many: Sequence[Told], seconds: Floats) -> list[Scored]:
    """Runs with what is predicted of them."""
    owners = publishers()
    return [
        Scored(
            run=run,
            publisher=owners[run.source_id],
            measured=float(run.measured or 0.0),
            predicted=float(each),
        )
        for (run, _), each in zip(many, seconds, strict=True)
    ]


def judged(title: str, cold: Sequence[Scored]) -> bool:
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


def told(table: str) -> Iterator[Told]:
    """The runs of a table that are predicted and can be scored."""
    for run in read_measurements(HERE / "tables" / f"{table}.csv"):
        if run.measured is None or run.check or run.source_kind == "memory":
            continue
        try:
            yield run, case_of(run, CATALOGUE)
        except ForetrainError:
            continue


def counts_alone(run: MeasuredRun) -> bool:
    """Whether a training on one device says something of today's software."""
    return run.source_id != EARLY or run.precision == "fp32"


def pictures_of(many: Sequence[Told], one: Sequence[Told]) -> Pictures:
    """What is fitted: every configuration once."""
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
        trainers=tuple(f"{run.source_id}, {run.framework}" for run, _ in many),
        alone=Measured(
            benches=benches_of([case for _, case in one]),
            seconds=np.array([run.measured for run, _ in one]),
            groups=tuple(run.source_id for run, _ in one),
            update=np.array([not run.task.startswith(PASSES) for run, _ in one]),
        ),
    )


def _configuration(case: Case) -> Hashable:
    """What decides the prediction; models are built once and told apart by their identity."""
    workload = case.workload
    learned = (id(workload.model), workload.precision, workload.global_batch, workload.optimizer)
    return (*learned, case.cluster, case.plan, case.software)


def _observed(run: MeasuredRun, case: Case) -> Observation:
    priced = setting(case.workload, case.cluster, PRIORS.coefficients, software=case.software)
    return observation(priced, case.plan, measured=float(run.measured or 0.0))


def coefficients(found: Fitted) -> Iterator[str]:
    """Every coefficient: before, fitted to everything, and without each publisher."""
    folds = list(found.without)
    yield f"{'coefficient':32} {'prior':>9} {'all':>9} " + " ".join(f"-{it:>9}" for it in folds)
    for name, value in found.values.items():
        left = " ".join(f"{found.without[fold][name]:10.3g}" for fold in folds)
        yield f"{name:32} {PRIORS.coefficients.value(name):9.3g} {value:9.3g} {left}"


def errors(title: str, rows: Sequence[Scored]) -> Iterator[str]:
    """Errors by source."""
    yield f"\n{title}"
    for source, it in score(rows).sources.items():
        bias = fmean(row.error for row in rows if row.run.source_id == source)
        yield (
            f"  {source:16} {it.rows:4} rows   mean {it.mean:6.1%}   median {it.median:6.1%}   "
            f"bias {bias:+7.1%}"
        )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
