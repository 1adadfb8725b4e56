"""Fits the coefficients that foretrain ships to published runs, and once without each publisher.

    python -m validation.calibrate

Writes what steps tell into `src/foretrain/coefficients/sets/2026-11.toml`, whose other values come
from other commands, and `folds/PUBLISHER.toml`; prints how far every coefficient moved. Takes some
minutes. Nothing is fitted to the sources of `evaluation-only.txt`, to doubtful rows and to rows
written down from memory; nor to mixtures of experts and hybrids, all of one source, whose kernels
are priced as they were known before.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from validation.cold import FOLDS, HERE, publishers

from foretrain.calibrate.classes import is_hybrid, is_of_experts
from foretrain.coefficients.calibration import Calibration
from foretrain.files.coefficients import PRIORS, SHIPPED, as_toml
from foretrain.files.measurements import read_measurements
from foretrain.results.calibrate import Calibrated
from foretrain.verbs.calibrate import Fitting, calibrate, fittable
from foretrain.verbs.engine import engine

TABLES = ("llm_training",)
NAME, DATE = "2026-11", "2026-11-22"
FILE = HERE.parent / "src" / "foretrain" / "coefficients" / "sets" / f"{NAME}.toml"


def main(tables: list[str]) -> int:
    """Fits, prints and writes; tables given by name are printed and not written."""
    fitting = Fitting(
        free=fittable(),
        kept_apart=kept_apart(),
        publishers=publishers(),
        name=NAME,
        date=DATE,
        command="python -m validation.calibrate",
    )
    runs = [
        run
        for table in tables or TABLES
        for run in read_measurements(HERE / "tables" / f"{table}.csv")
        if not (is_of_experts(run) or is_hybrid(run))
    ]
    with engine(os.cpu_count() or 1) as spread:
        found = calibrate(runs, fitting, engine=spread, progress=_told)
    print("\n".join(lines(found)))
    if not tables:
        write(found)
    return 0


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
    about = "The set that predictions use: what was fitted, over priors.toml. Made by "
    text = as_toml(beside(found.calibration), over=PRIORS, about=about + "validation/calibrate.py.")
    FILE.write_text(text, "utf-8")
    FOLDS.mkdir(exist_ok=True)
    for publisher, made in found.folds.items():
        about = f"Fitted without the runs of {publisher}, over priors.toml."
        text = as_toml(beside(made), over=PRIORS, about=about)
        (FOLDS / f"{publisher}.toml").write_text(text, "utf-8")


def beside(made: Calibration) -> Calibration:
    """A fit of steps, with the shipped values of what steps tell nothing of."""
    mine = set(fittable())
    others = {name: it for name, it in SHIPPED.known.items() if name not in mine}
    return replace(made, known={**made.known, **others}, covers=SHIPPED.covers)


def _told(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
