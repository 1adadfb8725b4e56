"""Fits the coefficients that foretrain ships to published runs, and once without each publisher.

    python -m validation.calibrate
    python -m validation.calibrate pictures

Writes what steps tell into `src/foretrain/coefficients/sets/2026-11.toml`, whose other values come
from other commands, and into the sets that something was left out of: `folds/PUBLISHER.toml`,
`folds/software/FAMILY.toml`, `folds/generation/NAME.toml`, and of mixtures of experts
`folds/model/NAME.toml` and `folds/precision/NAME.toml`. Prints how far every coefficient moved.
Kernels over pictures are fitted after that, to their own tables (`validation.images`). Each takes
some minutes.
Nothing is fitted to the sources of `evaluation-only.txt`, to doubtful rows and to rows written down
from memory. Mixtures of experts and hybrids, all of one source, move what they alone tell of.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from validation.fitting.classes import is_hybrid, is_of_experts
from validation.fitting.scores import grouped
from validation.images import fittable as of_pictures
from validation.images import learned
from validation.parts.cold import FOLDS, HERE, publishers
from validation.parts.families import kinds_of, model_of, precision_of

from foretrain.app.engine import engine
from foretrain.coefficients.coefficients import Calibration, Coefficient
from foretrain.evidence.fit_runs import FitEngine, Fitting, fit_runs, fittable
from foretrain.evidence.result import Calibrated
from foretrain.measured.run import MeasuredRun
from foretrain.study.coefficients import PRIORS, SHIPPED, as_toml, calibration
from foretrain.study.measurements import read_runs

TABLES = ("llm_training", "more/llm_training")
NAME, DATE = "2026-11", "2026-11-22"
COMMAND = "python -m validation.calibrate"
FILE = HERE.parent / "src" / "foretrain" / "coefficients" / "sets" / f"{NAME}.toml"


PICTURES = "pictures"


def main(tables: list[str]) -> int:
    """Fits, prints and writes; tables given by name are printed and not written."""
    if tables == [PICTURES]:
        with_pictures()
        return 0
    fitting = Fitting(
        free=fittable(),
        kept_apart=kept_apart(),
        left_out=left_out(publishers()),
        name=NAME,
        date=DATE,
        command=COMMAND,
    )
    runs = [
        run for table in tables or TABLES for run in read_runs(HERE / "tables" / f"{table}.csv")
    ]
    sparse = [run for run in runs if is_of_experts(run) or is_hybrid(run)]
    with engine(os.cpu_count() or 1) as spread:
        dense = thinned(run for run in runs if not (is_of_experts(run) or is_hybrid(run)))
        found = fit_runs(dense, fitting, engine=spread, progress=_told)
        print("\n".join(lines(found)))
        if sparse:
            found = with_experts(found, sparse, fitting, engine=spread)
    if not tables:
        write(found)
    return 0


EXPERTS = (
    "matrix.experts",
    "overlap.experts",
    "traffic.stretched",
    "traffic.scanned",
    "host.kernel",
)
"""What runs of mixtures of experts, and of state-space layers, alone tell of."""


def with_experts(
    found: Calibrated, runs: Sequence[MeasuredRun], fitting: Fitting, *, engine: FitEngine
) -> Calibrated:
    """A fit to dense models with what sparse ones tell beside it.

    They are all of one publisher: each model, and each precision, is left out once, beside what is
    left out of dense ones.
    """
    dense = found.calibration.known
    priors = replace(PRIORS, known={**dense, **{name: PRIORS.known[name] for name in EXPERTS}})
    asked = replace(fitting, free=EXPERTS, left_out=beside_models(fitting.left_out))
    told = fit_runs(runs, asked, priors=priors, engine=engine, progress=_told)
    print("\n".join(lines(told)))
    folds = {}
    for name in sorted({*found.folds, *told.folds}):
        fold, others = (
            found.folds.get(name, found.calibration),
            told.folds.get(name, told.calibration),
        )
        folds[name] = replace(fold, known={**fold.known, **_experts(others)})
    whole = replace(found.calibration, known={**dense, **_experts(told.calibration)})
    return replace(found, calibration=whole, folds=MappingProxyType(folds))


def _experts(made: Calibration) -> dict[str, Coefficient]:
    return {name: made.known[name] for name in EXPERTS}


def beside_models(
    groups: Callable[[MeasuredRun], AbstractSet[str]] | None,
) -> Callable[[MeasuredRun], AbstractSet[str]]:
    """What a run is left out with, its model and its precision among that."""

    def found(run: MeasuredRun) -> AbstractSet[str]:
        return {*(groups(run) if groups else ()), model_of(run), precision_of(run)}

    return found


def thinned(runs: Iterable[MeasuredRun], *, most: int = 60) -> list[MeasuredRun]:
    """No more runs of one software of a source than tell what they can: evenly many of the rest.

    A source counts as a dozen rows, however many it has; each costs as much time as any other.
    """
    groups = grouped(runs, lambda run: (run.source_id, run.framework)).values()
    return [run for its in groups for run in its[:: -(-len(its) // most)]]


def left_out(owners: Mapping[str, str]) -> Callable[[MeasuredRun], frozenset[str]]:
    """What a run is left out with: its publisher, its software, its generation of devices."""

    def groups(run: MeasuredRun) -> frozenset[str]:
        return kinds_of(run) | {owners.get(run.source_id, run.source_id)}

    return groups


def kept_apart() -> frozenset[str]:
    """Sources to which nothing may be fitted."""
    text = (HERE / "evaluation-only.txt").read_text("utf-8")
    return frozenset(filter(None, (line.split("#")[0].strip() for line in text.splitlines())))


def lines(found: Calibrated) -> list[str]:
    """Every coefficient that was fitted."""
    head = f"{'coefficient':28} {'prior':>9} {'value':>9} {'low':>9} {'high':>9} {'moved':>6} rows"
    return [head] + [
        f"{it.name:28} {it.prior:9.3g} {it.value:9.3g} {it.low:9.3g} {it.high:9.3g} "
        f"{it.score:+6.2f} {it.rows:4}"
        for it in found.moved
    ]


def write(found: Calibrated) -> None:
    """The shipped set, and one for each group that is left out; what is of pictures stays."""
    written(beside(found.calibration, SHIPPED), FILE)
    before = known_folds()
    for name in {*found.folds, *before}:
        made = found.folds.get(name, found.calibration)
        written(beside(made, before.get(name, SHIPPED)), FOLDS / f"{name}.toml")


def written(made: Calibration, file: Path) -> None:
    """A set in its file."""
    about = (
        "The set that predictions use: what was fitted, over priors.toml. Made by "
        "validation/calibrate.py."
        if file == FILE
        else f"Fitted without the runs of {_named(file)}, over priors.toml."
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(as_toml(made, over=PRIORS, about=about), "utf-8")


def _named(file: Path) -> str:
    """What was left out of the set of a file."""
    return str(file.relative_to(FOLDS).with_suffix(""))


def known_folds() -> Mapping[str, Calibration]:
    """Every set that something was left out of, by the name of that."""
    return {
        _named(file): calibration(file.read_text("utf-8"), over=PRIORS, where=file.name)
        for file in sorted(FOLDS.rglob("*.toml"))
    }


def with_pictures() -> None:
    """Fits kernels over pictures, beside what the sets in their files say of all else."""
    without = known_folds()
    known, folds = learned(
        SHIPPED.coefficients,
        {name: made.coefficients for name, made in without.items()},
        command=f"{COMMAND} {PICTURES}",
    )
    print("\n".join(picture_lines(known, folds)))
    written(_and(SHIPPED, known), FILE)
    for name in {*without, *folds}:
        made = _and(without.get(name, SHIPPED), folds.get(name, known))
        written(made, FOLDS / f"{name}.toml")


def _and(made: Calibration, pictures: Mapping[str, Coefficient]) -> Calibration:
    """A fit with other coefficients of pictures, those before any fit where rows tell nothing."""
    before = {name: PRIORS.known[name] for name in of_pictures()}
    return replace(made, known={**made.known, **before, **pictures})


def picture_lines(
    known: Mapping[str, Coefficient], folds: Mapping[str, Mapping[str, Coefficient]]
) -> list[str]:
    """Every coefficient of pictures: before, fitted to everything, and without each publisher."""
    heads = " ".join(f"{'-' + name:>9}" for name in folds)
    rows = []
    for name in known:
        left = " ".join(
            f"{fold.get(name, PRIORS.known[name]).value:9.3g}" for fold in folds.values()
        )
        rows.append(f"{name:28} {PRIORS.known[name].value:9.3g} {known[name].value:9.3g} {left}")
    return [f"{'coefficient':28} {'prior':>9} {'value':>9} {heads}", *rows]


def beside(made: Calibration, known: Calibration) -> Calibration:
    """A fit of steps, with the known values of what steps tell nothing of."""
    mine = {*fittable(), *EXPERTS}
    others = {name: it for name, it in known.known.items() if name not in mine}
    return replace(made, known={**made.known, **others}, covers=SHIPPED.covers)


def _told(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
