"""Degrees of the axes of a measured run.

How many devices each axis of a measured run has.

What the free text of a row says, and which of its words nothing here understands.

What a measured run did beside dividing the work: sharding, recomputation, kernels, sends.

Degrees that no row states: every plan that may be meant.

A row that leaves out how several axes divide its devices is priced over the ways that are legal:
tensor axes within a node, pipelines of whole layers, and replicas of the rest, each with a whole
share of the batch. People run what is quick and fits, so a plan counts by its speed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Final

from foretrain.cluster.cluster import Cluster
from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.run import MeasuredRun, RunLayout, Subject
from foretrain.measured.tuning import storage_of, unread
from foretrain.plan.plan import Recompute, Sharding
from foretrain.trainers.variants import rungs_of
from foretrain.units import as_written
from foretrain.workload.graph import Model
from foretrain.workload.operator import Attention


@dataclass(frozen=True, slots=True, kw_only=True)
class Degrees:
    """Degrees of the axes, under the names of `Plan`."""

    data: int
    tensor: int
    pipeline: int
    context: int
    expert: int

    @property
    def divided(self) -> bool:
        """Whether two axes or more are used, so that their order matters."""
        return sum(each > 1 for each in (self.data, self.tensor, self.pipeline, self.context)) > 1


def degrees_of(run: MeasuredRun, model: Model, assumptions: Assumptions) -> Degrees:
    """The degrees that a row states; one that is blank follows from the number of devices.

    Raises:
        NotCovered: two are blank, or they do not multiply to the number of devices.
    """
    layout = run.layout
    context = assumptions.fill(layout.context, defaults.NO_CONTEXT)
    known = {"data": layout.data, "tensor": layout.tensor, "pipeline": layout.pipeline}
    devices = stated(run.place.devices, "number of devices")
    if devices == 1:
        # One device has nothing to divide, whatever is left out.
        known = {name: degree or 1 for name, degree in known.items()}
    blank = [name for name, degree in known.items() if degree is None]
    if len(blank) > 1:
        raise NotCovered(f"degree of the {' and '.join(blank)} axis not stated")
    together = context * prod(degree for degree in known.values() if degree is not None)
    rest = devices // together if blank else 1
    if together * rest != devices:
        raise NotCovered("degrees do not multiply to the number of devices")
    filled = {name: degree or rest for name, degree in known.items()}
    if blank:
        assumptions.note(f"degree of the {blank[0]} axis from the number of devices")
    return Degrees(**filled, context=context, expert=(layout.expert or 1) if model.experts else 1)


_STAGES: Final = (
    (re.compile(r"full_?shard|fully_?shard|fsdp|zero-?3"), 3),
    (re.compile(r"shard_grad_op|zero-?2"), 2),
    (re.compile(r"distributed optimizer|zero-?1"), 1),
    (re.compile(r"^(none|no_?shard|ddp|zero-?0|single device)$"), 0),
)
"""How sources write the stages of ZeRO; the first that is found counts."""

_GROUPED: Final = re.compile(r"hybrid|hsdp|mics")
"""Strategies that say that groups share a copy, and not how large they are."""

GROUP: Final = re.compile(r"group ([0-9]+)")
ONE_AXIS: Final = ("data parallel", "single")
"""How a column of words about parallelism begins where every device has the whole network."""

_REMARKS: Final = ("sequence parallel", "bf16")
"""What may follow a plus, beside how frozen weights are stored."""


def stage_of(words: str) -> int | None:
    """The stage of ZeRO that words for a way of sharding mean; nothing where they are not known."""
    said = words.lower().replace("zero ", "zero").strip()
    if _GROUPED.search(said) and not GROUP.search(said):
        return None
    return next((stage for pattern, stage in _STAGES if pattern.search(said)), None)


def shard_of(layout: RunLayout) -> int | None:
    """Devices that share one copy, where the words for the sharding say so."""
    group = GROUP.search(layout.sharding)
    return int(group[1]) if group else None


def first_of(words: str) -> str:
    """What words say before a plus."""
    return words.partition("+")[0].strip()


def not_understood(run: MeasuredRun) -> Iterator[str]:
    """The column and the words of free text that are left out."""
    layout = run.layout
    if layout.sharding and stage_of(layout.sharding) is None:
        yield left_out("shard_strategy", layout.sharding)
    for column, words in (("recompute", layout.recompute), ("precision", run.precision)):
        more = [part.strip() for part in words.split("+")[1:]]
        if left := [part for part in more if part.lower() not in _REMARKS and not storage_of(part)]:
            yield left_out(column, " + ".join(left))
    for column, words in unread(run):
        yield left_out(column, words)
    if layout.axes and not layout.axes.lower().startswith(ONE_AXIS):
        yield left_out("parallelism", layout.axes)


def left_out(column: str, words: str) -> str:
    """What is said of words that are not understood."""
    return f"{column} {as_written(words)} is not understood and left out"


Rung = tuple[Recompute, int]
"""What is computed twice, and in how many layers (0 for all)."""

RECOMPUTE: Mapping[str, Recompute] = MappingProxyType(
    {
        "none": Recompute.NONE,
        "sequence parallel only": Recompute.NONE,
        "selective": Recompute.SELECTIVE,
        "selective only": Recompute.SELECTIVE,
        "selective (attention)": Recompute.SELECTIVE,
        "selective (per op)": Recompute.SELECTIVE,
        "selective (every other layer)": Recompute.FULL,
        "full": Recompute.FULL,
    }
)
OTHER_LAYER = "every other layer"
FUSED = ("flash", "sdpa", "memory-efficient")
UNFUSED = ("unfused", "pre-flash")


def sharding_of(
    run: MeasuredRun, degrees: Degrees, assumptions: Assumptions
) -> tuple[Sharding, int]:
    """What replicas divide, and how many devices share one copy (0 for all)."""
    replicas = degrees.data * degrees.context
    if replicas == 1:
        return Sharding.NONE, 0
    written = run.layout.zero_stage
    said = stage_of(run.layout.sharding) if written is None else written
    stage = Sharding(assumptions.unset("sharding").value if said is None else said)
    group = shard_of(run.layout)
    shard = group if group and stage is not Sharding.NONE else 0
    return stage, 0 if shard == replicas else shard


def recompute_of(run: MeasuredRun, model: Model, assumptions: Assumptions) -> tuple[Rung, ...]:
    """What is computed twice, the choices in order of cost."""
    words = first_of(run.layout.recompute)
    if not words and run.subject is Subject.PEAK_MEMORY:
        return rungs_of(model, assumptions.take(defaults.RECOMPUTE_TO_FIT))
    if not words:
        return rungs_of(model, assumptions.unset("recompute").value)
    if words not in RECOMPUTE:
        raise NotCovered(f"recomputation '{words}'")
    share = 0.5 if OTHER_LAYER in words else 1.0
    return rungs_of(model, ((RECOMPUTE[words], share),))


def sequence_parallel_of(run: MeasuredRun, degrees: Degrees, assumptions: Assumptions) -> bool:
    """Whether the tensor axis divides tokens too."""
    if degrees.tensor == 1:
        return False
    if run.layout.sequence_parallel is not None:
        return run.layout.sequence_parallel
    if "sequence parallel" in run.layout.recompute:
        return True
    return bool(assumptions.unset("sequence_parallel").value)


def attention_of(run: MeasuredRun, model: Model, assumptions: Assumptions) -> Attention:
    """The kernel of the attention core."""
    if not model.kernels:
        return Attention.FLASH
    if len(model.kernels) == 1:
        return next(iter(model.kernels))
    words = run.layout.attention.lower()
    if any(known in words for known in UNFUSED):
        return Attention.PLAIN
    if any(known in words for known in FUSED):
        return Attention.FLASH
    if words:
        raise NotCovered(f"attention '{words}'")
    attention: Attention = assumptions.unset("attention").value[0]
    return attention


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
