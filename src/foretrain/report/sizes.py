"""Sizes: each number of nodes worth renting, how fast it is and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Final

from foretrain.plan.study import Study
from foretrain.report.table import Column, Table
from foretrain.report.words import written
from foretrain.results.search import ParetoPoint, SearchResult
from foretrain.units import DOLLARS, JOULES, SECONDS, Quantity

MOST_SIZES: Final = 8
"""Rows that a terminal shows."""


def sizes(study: Study, result: SearchResult, *, most: int | None = None) -> Table:
    """The fastest plan of every size that no other size beats in time and cost, fastest first.

    Args:
        study: the question; the table is empty where it leaves no choice.
        result: the answer, whose front holds these plans.
        most: how many sizes to show, the first and the last among them; None for all.
    """
    of, steps = _whole(study)
    columns = (
        Column(name="cluster"),
        Column(name="nodes", number=True),
        Column(name="devices", number=True, spare=2),
        Column(name=f"time {of}", meaning="steps alone", number=True),
        Column(name=f"cost {of}", number=True),
        Column(name=f"energy {of}", number=True, spare=1),
    )
    devices = {offer.cluster.name: offer.cluster.node_devices for offer in study.offers}
    rows = tuple(
        (
            point.cluster,
            f"{point.devices // devices[point.cluster]:,}",
            f"{point.devices:,}",
            written(SECONDS, steps * point.step_time),
            _spent(point.cost_per_step, steps, DOLLARS),
            _spent(point.energy_per_step, steps, JOULES),
        )
        for point in (_some(worth(result.pareto), most) if study.offers else ())
    )
    told = [any(texts) for texts in zip(*rows, strict=True)]
    kept = tuple(tuple(compress(row, told)) for row in rows)
    return Table(columns=tuple(compress(columns, told)), rows=kept)


def claim(result: SearchResult) -> str:
    """What distinguishes the sizes of the table."""
    less = "cheaper" if _priced(result.pareto) else "done in fewer device-hours"
    return f"no other size is both faster and {less} than one of these"


def worth(front: Sequence[ParetoPoint]) -> tuple[ParetoPoint, ...]:
    """The fastest plan of each size, but of sizes that cost more than a faster one.

    Where a cluster has no price, devices count in its place.
    """
    money = _priced(front)
    found: dict[tuple[str, int], ParetoPoint] = {}
    cheapest = float("inf")
    for point in sorted(front, key=lambda point: point.step_time):
        size = (point.cluster, point.devices)
        spent = float(point.cost_per_step or 0) if money else point.devices * point.step_time
        if size not in found and spent < cheapest:
            cheapest, found[size] = spent, point
    return tuple(found.values())


def _priced(front: Sequence[ParetoPoint]) -> bool:
    return all(point.cost_per_step is not None for point in front)


def _some(points: Sequence[ParetoPoint], most: int | None) -> Sequence[ParetoPoint]:
    """At most so many, spread evenly from the first to the last."""
    if most is None or len(points) <= most:
        return points
    return [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]


def _whole(study: Study) -> tuple[str, float]:
    """What amounts are of, and how many steps that is."""
    workload = study.workload
    if workload.samples is None:
        return "per step", 1.0
    return "to train", workload.samples / workload.global_batch


def _spent(amount: float | None, steps: float, quantity: Quantity) -> str:
    return "" if amount is None else written(quantity, steps * amount)
