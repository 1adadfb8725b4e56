"""Six coefficients for the whole system, fitted to the oracle's measured runs: how well can it go?

    python -m validation.paradl.fitted            # minutes

The framework's share of links, the way of messages through the host, what a collective waits for
and what of kernels never shrinks are the same for every network, strategy and number of devices.
Networks whose seconds per sample are published are priced by those, as the oracle does. Each
network is also predicted by coefficients that were fitted without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import exp
from statistics import fmean

import numpy as np
from scipy.optimize import minimize
from validation.paradl.goldens import HERE, SAMPLES
from validation.paradl.measured import CHAINER, Cell, accuracy, cells, plan_of, setting_of

from foretrain.step.price import price_plan
from foretrain.step.setting import Setting, recalibrated, setting
from foretrain.study.coefficients import DEFAULT
from foretrain.study.layer_lists import read_layer_list
from foretrain.workload.workload import Workload

START: Mapping[str, float] = {
    "links.nvlink": 0.9,
    "links.infiniband": 0.31,
    "links.staged": 13.0,
    "links.staged_start": 3e-3,
    "links.start": 2e-5,
    "pictures.unshrunk": 0.15,
}
"""Where the search for the six begins."""

SHARES = ("links.nvlink", "links.infiniband", "pictures.unshrunk")
"""Those that are at most 1."""

SECONDS = {"resnet-50": 3.119502e-3, "vgg-16": 8.245589e-3}
"""Of both passes of one sample on one V100, as the oracle's layer files have it (kahira2020)."""

EVALUATIONS = 160
"""Sets of coefficients that a fit tries."""


def main() -> int:
    """Fit all, then each network left out; print mean accuracies by strategy."""
    every = [each for each in cells() if each.network != "cosmoflow-512"]
    networks = dict.fromkeys(each.network for each in every)
    found = fit(every)
    print("fitted to all:", ", ".join(f"{name} {value:.3g}" for name, value in found.items()))
    left_out: dict[Cell, float] = {}
    for network in networks:
        others = fit([each for each in every if each.network != network])
        mine = [each for each in every if each.network == network]
        left_out |= {each: accuracy(seconds(each, others), each.measured) for each in mine}
    fitted = {each: accuracy(seconds(each, found), each.measured) for each in every}
    print("| source | strategy | cells | fitted to all | its network left out | authors |")
    print("|---|---|---:|---:|---:|---:|")
    for source, strategy in dict.fromkeys((each.source, each.strategy) for each in every):
        mine = [each for each in every if (each.source, each.strategy) == (source, strategy)]
        theirs = [accuracy(each.authors, each.measured) for each in mine if each.authors]
        print(
            f"| {source} | {strategy} | {len(mine)} | {fmean(fitted[each] for each in mine):.1%} "
            f"| {fmean(left_out[each] for each in mine):.1%} | {fmean(theirs):.1%} |"
        )
    print(
        f"\nmean accuracy: {fmean(fitted.values()):.1%} fitted to all, "
        f"{fmean(left_out.values()):.1%} with each network left out"
    )
    return 0


def fit(runs: Sequence[Cell]) -> dict[str, float]:
    """The six values with the largest mean accuracy on some runs."""

    def loss(values: np.ndarray) -> float:
        chosen = _bounded(values)
        return fmean(1.0 - accuracy(seconds(each, chosen), each.measured) for each in runs)

    start = np.log(np.array(list(START.values())))
    simplex = np.vstack([start, *(start + 0.7 * row for row in np.eye(len(START)))])
    options = {"maxfev": EVALUATIONS, "initial_simplex": simplex, "fatol": 1e-3, "xatol": 0.02}
    return _bounded(minimize(loss, start, method="Nelder-Mead", options=options).x)


def _bounded(values: Iterable[float]) -> dict[str, float]:
    """Coefficients of logarithms, shares at most 1 and slower paths never quicker than links."""
    found = {name: exp(value) for name, value in zip(START, values, strict=True)}
    found |= {name: min(1.0, found[name]) for name in SHARES}
    return found | {"links.staged": max(1.0, found["links.staged"])}


def seconds(cell: Cell, values: Mapping[str, float]) -> float:
    """Of a step or an epoch of a run, by some values of the six."""
    known = recalibrated(_timed(cell.network, cell.batch, cell.devices), DEFAULT.changed(values))
    priced = price_plan(known, plan_of(cell), played=False)
    per_epoch = cell.source == "table 8" or cell.strategy == "pipeline"
    step = priced.step_time - priced.parts.input
    return step * SAMPLES / cell.batch if per_epoch else step


@cache
def _timed(network: str, batch: int, devices: int) -> Setting:
    """The setting of a run, its layers at their measured seconds where those are published."""
    known = setting_of(network, batch, devices)
    if network not in SECONDS:
        return known
    model = read_layer_list(HERE / "networks" / f"{network}.csv", seconds=SECONDS[network])
    workload = Workload(
        model=model,
        global_batch=batch,
        precision=known.workload.precision,
        optimizer=known.workload.optimizer,
    )
    return setting(workload, known.cluster, known.coefficients, software=CHAINER)


if __name__ == "__main__":
    raise SystemExit(main())
