"""Fits the coefficients that foretrain ships to published runs, and once without each publisher.

    python -m validation.calibrate

Writes `src/foretrain/coefficients/sets/2026-11.toml` and `folds/PUBLISHER.toml`, and prints how far
every coefficient moved. Takes some minutes. Nothing is fitted to the sources of
`evaluation-only.txt`, to doubtful rows and to rows written down from memory.
"""

from __future__ import annotations

import os
import sys

from validation.cold import FOLDS, HERE, publishers

from foretrain.files.coefficients import PRIORS, as_toml
from foretrain.files.measurements import read_measurements
from foretrain.results.calibrate import Calibrated
from foretrain.verbs.calibrate import Fitting, calibrate
from foretrain.verbs.engine import engine

TABLES = ("llm_training",)
GROUPS = ("matrix", "attention", "traffic", "host", "links", "overlap")
FIXED = ("host.memory",)
"""No table holds runs that tell of them."""

NAME, DATE = "2026-11", "2026-11-22"
SHIPPED = HERE.parent / "src" / "foretrain" / "coefficients" / "sets" / f"{NAME}.toml"


def main(tables: list[str]) -> int:
    """Fits, prints and writes; tables given by name are printed and not written."""
    fitting = Fitting(
        free=tuple(name for name in PRIORS.known if _free(name)),
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
    text = as_toml(found.calibration, over=PRIORS, about=about + "validation/calibrate.py.")
    SHIPPED.write_text(text, "utf-8")
    FOLDS.mkdir(exist_ok=True)
    for publisher, made in found.folds.items():
        about = f"Fitted without the runs of {publisher}, over priors.toml."
        text = as_toml(made, over=PRIORS, about=about)
        (FOLDS / f"{publisher}.toml").write_text(text, "utf-8")


def _free(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] in GROUPS and name not in FIXED


def _told(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
