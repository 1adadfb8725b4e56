"""Fits the coefficients that foretrain ships to published runs, and once without each publisher.

    python -m validation.calibrate

Writes what steps tell into `src/foretrain/coefficients/sets/2026-11.toml`, whose other values come
from other commands, and `folds/PUBLISHER.toml`; prints how far every coefficient moved. Kernels
over pictures are fitted after that, to their own tables (`validation.images`). Takes some minutes.
Nothing is fitted to the sources of `evaluation-only.txt`, to doubtful rows and to rows written down
from memory; nor to mixtures of experts and hybrids, all of one source, whose kernels are priced as
they were known before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace

from validation.fitting.classes import is_hybrid, is_of_experts
from validation.images import fittable as of_pictures
from validation.images import learned
from validation.parts.cold import FOLDS, HERE, publishers
from validation.parts.families import kinds_of

from foretrain.app.engine import engine
from foretrain.coefficients.calibration import Calibration
from foretrain.coefficients.coefficient import Coefficient
from foretrain.evidence.fit_runs import Fitting, fit_runs, fittable
from foretrain.evidence.result import Calibrated
from foretrain.measured.run import MeasuredRun
from foretrain.study.coefficients import PRIORS, SHIPPED, as_toml
from foretrain.study.measurements import read_runs

TABLES = ("llm_training", "more/llm_training")
NAME, DATE = "2026-11", "2026-11-22"
COMMAND = "python -m validation.calibrate"
FILE = HERE.parent / "src" / "foretrain" / "coefficients" / "sets" / f"{NAME}.toml"


def main(tables: list[str]) -> int:
    """Fits, prints and writes; tables given by name are printed and not written."""
    fitting = Fitting(
        free=fittable(),
        kept_apart=kept_apart(),
        left_out=left_out(publishers()),
        name=NAME,
        date=DATE,
        command=COMMAND,
    )
    runs = [
        run
        for table in tables or TABLES
        for run in read_runs(HERE / "tables" / f"{table}.csv")
        if not (is_of_experts(run) or is_hybrid(run))
    ]
    with engine(os.cpu_count() or 1) as spread:
        found = fit_runs(runs, fitting, engine=spread, progress=_told)
    print("\n".join(lines(found)))
    if not tables:
        write(found)
    return 0


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
    """The shipped set, and one for each publisher."""
    whole, without = with_pictures(found)
    about = "The set that predictions use: what was fitted, over priors.toml. Made by "
    text = as_toml(whole, over=PRIORS, about=about + "validation/calibrate.py.")
    FILE.write_text(text, "utf-8")
    for group, made in without.items():
        about = f"Fitted without the runs of {group}, over priors.toml."
        text = as_toml(made, over=PRIORS, about=about)
        file = FOLDS / f"{group}.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def with_pictures(found: Calibrated) -> tuple[Calibration, Mapping[str, Calibration]]:
    """Fits of language models with what networks of pictures tell beside them.

    Who published runs of one of the two alone is left out of that one.
    """
    whole = beside(found.calibration)
    without = {name: beside(made) for name, made in found.folds.items()}
    _told("fitting kernels over pictures")
    known, folds = learned(
        whole.coefficients,
        {name: made.coefficients for name, made in without.items()},
        command=COMMAND,
    )
    print("\n".join(picture_lines(known, folds)))
    return _and(whole, known), {
        name: _and(without.get(name, whole), folds.get(name, known))
        for name in sorted({*without, *folds})
    }


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


def beside(made: Calibration) -> Calibration:
    """A fit of steps, with the shipped values of what steps tell nothing of."""
    mine = set(fittable())
    others = {name: it for name, it in SHIPPED.known.items() if name not in mine}
    return replace(made, known={**made.known, **others}, covers=SHIPPED.covers)


def _told(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
