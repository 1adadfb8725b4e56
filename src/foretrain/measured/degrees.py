"""Degrees that no row states: every plan that may be meant.

A row that leaves out how several axes divide its devices is priced over the ways that are legal:
tensor axes within a node, pipelines of whole layers, and replicas of the rest, each with a whole
share of the batch. People run what is quick and fits, so a plan counts by its speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from foretrain.cluster.cluster import Cluster
from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.policies import Degrees, degrees_of
from foretrain.measured.run import MeasuredRun
from foretrain.workload.graph import Model

SPEED = 8.0
"""A plan that takes twice as long as the quickest counts one over two to this power.

From the degrees that tuned rows state, hidden and looked for again by predicted times alone; 4 and
16 are about as likely (`python -m validation.degrees`).
"""


def degrees_choices(
    run: MeasuredRun, model: Model, cluster: Cluster, *, assumptions: Assumptions
) -> tuple[Degrees, ...]:
    """The degrees that a run may have had; one choice where at most one of them is blank.

    Raises:
        NotCovered: no degrees are legal, or stated ones do not multiply to the devices.
    """
    layout, devices = run.layout, stated(run.place.devices, "number of devices")
    known = {"data": layout.data, "tensor": layout.tensor, "pipeline": layout.pipeline}
    blank = [name for name, degree in known.items() if degree is None]
    if len(blank) < 2 or devices == 1:
        return (degrees_of(run, model, assumptions),)
    context = assumptions.fill(layout.context, defaults.NO_CONTEXT)
    known["data"] = _replicas(run) if layout.data is None else layout.data
    found = tuple(_choices(run, model, cluster, known=known, context=context))
    if not found:
        raise NotCovered(f"degree of the {' and '.join(blank)} axis not stated, and none is legal")
    assumptions.note(f"degrees of the {' and '.join(blank)} axes not stated")
    return found


def _replicas(run: MeasuredRun) -> int | None:
    """Replicas by the batch, where accumulation and micro-batch are stated."""
    layout, step = run.layout, run.global_batch
    if step is None or layout.accumulation is None or layout.micro_batch is None:
        return None
    replicas = step / (layout.accumulation * layout.micro_batch)
    return int(replicas) if replicas.is_integer() else None


def _choices(
    run: MeasuredRun, model: Model, cluster: Cluster, *, known: dict[str, int | None], context: int
) -> Iterator[Degrees]:
    """Every way that keeps what is stated and gives each replica a whole share of the batch."""
    devices = cluster.devices
    expert = (run.layout.expert or 1) if model.experts else 1
    for tensor in _divisors(cluster.node_devices):
        for pipeline in _divisors(devices // tensor):
            data, rest = divmod(devices, tensor * pipeline * context)
            found = {"data": data, "tensor": tensor, "pipeline": pipeline}
            keeps = all(degree in (None, found[name]) for name, degree in known.items())
            if rest or not keeps or pipeline > model.cuttable_layers or not _shares(run, data):
                continue
            yield Degrees(**found, context=context, expert=expert)


def _divisors(number: int) -> Sequence[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def _shares(run: MeasuredRun, data: int) -> bool:
    """Whether replicas get whole micro-batches, as many as are stated."""
    layout, step = run.layout, run.global_batch
    if step is None:
        return True
    together = prod((data, layout.accumulation or 1, int(layout.micro_batch or 1)))
    return step % together == 0


def weights(seconds: Sequence[float], *, power: float = SPEED) -> tuple[float, ...]:
    """How much each of some plans counts, by the seconds of its step; they add up to 1."""
    quickest = min(seconds)
    speed = [(quickest / each) ** power for each in seconds]
    return tuple(each / sum(speed) for each in speed)


def quantile(seconds: Sequence[float], share: float, *, power: float = SPEED) -> int:
    """The position of the plan below which a share of the weight of some lies, by their seconds."""
    counted = weights(seconds, power=power)
    order = sorted(range(len(seconds)), key=lambda place: seconds[place])
    below = 0.0
    for place in order:
        below += counted[place]
        if below >= share - 1e-12:
            return place
    return order[-1]
