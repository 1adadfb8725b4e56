"""How much a plan counts that may be meant: degrees of rows that state them, hidden and looked for.

    python -m validation.degrees

Rows of tuned recipes state their degrees. Hidden, they are one choice of many; a weight by speed
gives the stated ones a likelihood, and the plan in the middle an error. Printed is, for each power
of speed, the mean logarithm of that likelihood and how far the middle's step is from that of the
stated plan, as predicted. No measured time enters.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from statistics import fmean

from foretrain.errors import ForetrainError
from foretrain.evidence.predict import CATALOGUE, climb, setting_of
from foretrain.measured import degrees
from foretrain.measured.case import case_of
from foretrain.measured.degrees import quantile, weights
from foretrain.measured.run import MeasuredRun
from foretrain.study.coefficients import DEFAULT
from foretrain.study.measurements import read_runs

TABLES = Path(__file__).parent / "tables"
SOURCES = ("mbridge", "mlperf-v3.0", "mlperf-v3.1", "mlperf-v4.0", "mlperf-v4.1")
"""Whose runs were tuned; sweeps show every plan, whoever would have chosen it."""

POWERS = (1.0, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """Plans that a row may have meant.

    Attributes:
        source: of the row.
        seconds: a step of each that fits.
        stated: position of the one that was run.
    """

    source: str
    seconds: tuple[float, ...]
    stated: int


def main() -> int:
    """Prints a line for each power."""
    found = [each for run in runs() for each in hidden(run)]
    print(f"{len(found)} rows, {fmean(len(each.seconds) for each in found):.1f} plans each")
    for power in POWERS:
        likely, off = [], []
        for each in found:
            counted = weights(each.seconds, power=power)
            likely.append(log(counted[each.stated]))
            middle = each.seconds[quantile(each.seconds, 0.5, power=power)]
            off.append(abs(log(middle / each.seconds[each.stated])))
        mark = "  (in use)" if power == degrees.SPEED else ""
        print(f"  power {power:4g}: log likelihood {fmean(likely):.3f}, off {fmean(off):.3f}{mark}")
    return 0


def runs() -> Iterator[MeasuredRun]:
    """Rows that state their degrees, one of each configuration."""
    seen = set()
    for name in ("llm_training.csv", "more/llm_training.csv"):
        for run in read_runs(TABLES / name):
            layout = run.layout
            shown = (layout.data, layout.tensor, layout.pipeline)
            devices = run.place.devices or 0
            if run.source_id not in SOURCES or None in shown or devices < 2 or run.check:
                continue
            key = (run.network.name, run.place.device, devices, run.global_batch, run.precision)
            if (*key, shown) not in seen:
                seen.add((*key, shown))
                yield run


NO_RECIPES = replace(CATALOGUE, recipes=tuple)
"""Degrees are looked for by predicted times alone."""


def hidden(run: MeasuredRun) -> Iterator[Hidden]:
    """What a row without its degrees may mean; nothing if what was run is not among it."""
    layout = replace(run.layout, data=None, tensor=None, pipeline=None, interleaving=None)
    try:
        stated = case_of(run, NO_RECIPES).plan
        case = case_of(replace(run, layout=layout), NO_RECIPES)
        every = [replace(case, others=()), *case.others]
        rungs = [climb(setting_of(each, DEFAULT), each.plausible) for each in every]
    except ForetrainError:
        return
    fit = [rung for rung in rungs if rung.seconds]
    axes = [(rung.plan.tensor, rung.plan.pipeline, rung.plan.data) for rung in fit]
    wanted = (stated.tensor, stated.pipeline, stated.data)
    if len(fit) > 1 and wanted in axes:
        seconds = tuple(rung.likely for rung in fit)
        yield Hidden(source=run.source_id, seconds=seconds, stated=axes.index(wanted))


if __name__ == "__main__":
    sys.exit(main())
