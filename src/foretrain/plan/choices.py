"""Choices: which values each field of a plan may take once the degrees of its axes are known.

Fields whose values make sense together only are listed together. A value that changes nothing has
one name: nothing is sharded among one device, only full recomputation counts layers, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from types import MappingProxyType
from typing import TypeVar

from foretrain.plan.divisors import divisors
from foretrain.plan.plan import ContextExchange, Cut, Recompute, Schedule, Sharding
from foretrain.plan.space import Space
from foretrain.workload.graph import Model
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload

Choice = tuple[int, ...]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to list.

    Attributes:
        workload: what is learned.
        space: choices.
        kernels: kernels worth telling apart, and whether with each of them selective recomputation
            is worth telling from none.
    """

    workload: Workload
    space: Space
    kernels: Mapping[Attention, bool]

    @property
    def model(self) -> Model:
        """The network."""
        return self.workload.model


@dataclass(frozen=True, slots=True)
class Degrees:
    """How many devices each axis has."""

    tensor: int
    context: int
    data: int
    pipeline: int

    @property
    def replicas(self) -> int:
        """Devices that hold the same part of the model."""
        return self.data * self.context

    @property
    def experts(self) -> int:
        """Devices over which experts fold."""
        return self.tensor * self.replicas


def question_of(workload: Workload, space: Space) -> Question:
    """What to list of a space."""
    operators = [operator for _, operator in workload.model.operators]
    kernels = space.attention or (Attention.FLASH, Attention.PLAIN)
    if not workload.model.kernels:
        kernels = kernels[:1]
    alone = space.recompute is not None and Recompute.NONE not in space.recompute
    worth = {
        kernel: alone or any(o.selective and o.attention in (None, kernel) for o in operators)
        for kernel in kernels
    }
    return Question(workload=workload, space=space, kernels=MappingProxyType(worth))


def degrees_of(question: Question, devices: int) -> Iterator[Degrees]:
    """The ways to write the device count as a product that the model can be divided by."""
    model, space = question.model, question.space
    units = {o.units for _, o in model.operators if o.units and not o.experts}
    for tensor in chosen(divisors(devices), space.tensor):
        if any(unit % tensor for unit in units):
            continue
        for context in chosen(divisors(devices // tensor), space.context):
            if not divides_tokens(model, context):
                continue
            for pipeline in chosen(divisors(devices // tensor // context), space.pipeline):
                data = devices // tensor // context // pipeline
                if pipeline <= model.cuttable_layers and chosen([data], space.data):
                    yield Degrees(tensor, context, data, pipeline)


def divides_tokens(model: Model, context: int) -> bool:
    """Whether so many members can share a sample: twice as many equal blocks of tokens.

    Each member takes one block from the front and one from the back, so that causal attention
    gives all of them the same work.
    """
    return context == 1 or (model.attends and model.tokens % (2 * context) == 0)


def micro_batches(question: Question, degrees: Degrees) -> Iterator[Choice]:
    """Samples that divide what a replica gets."""
    samples, rest = divmod(question.workload.global_batch, degrees.data)
    if not rest:
        yield from ((size,) for size in chosen(divisors(samples), question.space.micro_batch))


def schedules(question: Question, degrees: Degrees) -> Iterator[Choice]:
    """Schedule, interleaving and cut (by position in the space's choices)."""
    space, layers = question.space, question.model.cuttable_layers
    pipeline = degrees.pipeline
    for schedule in space.schedule[: None if pipeline > 1 else 1]:
        interleaved = schedule is Schedule.ONE_F_ONE_B and pipeline > 1
        most = layers // pipeline if interleaved else 1
        for chunks in chosen(range(1, most + 1), space.interleaving):
            for place, cut in enumerate(space.cut):
                if cuts_into(cut, layers, pipeline * chunks):
                    yield schedule, chunks, place
                    if pipeline == 1:
                        return


def cuts_into(cut: Cut, layers: int, chunks: int) -> bool:
    """Whether layers can be cut into so many chunks in that way."""
    if cut == "even":
        return layers % chunks == 0
    if cut == "balanced":
        return chunks <= layers
    return len(cut) == chunks and sum(cut) == layers


def token_splits(question: Question, degrees: Degrees) -> Iterator[Choice]:
    """Sequence parallelism."""
    divided = question.model.tokens % (degrees.tensor * degrees.context) == 0
    for split in chosen([False, True], question.space.sequence_parallel):
        if not split or divided:
            yield (split,)
        if degrees.tensor == 1:
            return


def attentions(question: Question, degrees: Degrees) -> Iterator[Choice]:
    """Kernel and exchange; blocks that come one by one need a kernel that adds them up."""
    allowed = question.space.exchange or tuple(ContextExchange)
    for kernel in question.kernels:
        if degrees.context == 1:
            yield kernel, allowed[0] if question.space.exchange else ContextExchange.RING
            continue
        for exchange in allowed:
            ring = exchange is ContextExchange.RING
            if kernel is Attention.FLASH if ring else divides_heads(question.model, degrees):
                yield kernel, exchange


def divides_heads(model: Model, degrees: Degrees) -> bool:
    """Whether tensor and context axis together can share the key-value heads."""
    heads = gcd(*(o.units for _, o in model.operators if o.keys))
    return heads % (degrees.tensor * degrees.context) == 0


def recomputes(question: Question, degrees: Degrees) -> Iterator[Choice]:
    """What is recomputed, and of how many layers."""
    for kind in chosen(list(Recompute), question.space.recompute):
        for layers in question.space.recompute_layers:
            if kind is not Recompute.FULL:
                yield kind, 0
                break
            if layers < question.model.cuttable_layers:
                yield kind, layers


def shardings(question: Question, degrees: Degrees) -> Iterator[Choice]:
    """What is sharded, among how many, and whether parameters are dropped between passes."""
    space = question.space
    for kind in chosen(list(Sharding), space.sharding):
        if kind is Sharding.NONE or degrees.replicas == 1:
            yield kind, *neutral(space.shard, 0), space.reshard[0]
            if degrees.replicas == 1:
                return
            continue
        for shard in _shards(space, degrees):
            for reshard in space.reshard[: None if kind is Sharding.PARAMETERS else 1]:
                yield kind, shard, reshard


def _shards(space: Space, degrees: Degrees) -> list[int]:
    """Devices that may share one copy; all of them go by the name of 0."""
    replicas = degrees.replicas
    if space.shard is None:
        return [0, *divisors(replicas)[1:-1]]
    return [shard for shard in space.shard if not shard or (shard > 1 and replicas % shard == 0)]


def experts(question: Question, degrees: Degrees) -> Iterator[Choice]:
    """Degree of the expert axis and members that share one expert."""
    operators = [o for _, o in question.model.operators if o.experts]
    count, width = (gcd(*(getattr(o, name) for o in operators)) for name in ("experts", "units"))
    space = question.space
    if not operators:
        yield (*neutral(space.expert, 1), *neutral(space.expert_tensor, 1))
        return
    for tensor in chosen(sorted({1, degrees.tensor}), space.expert_tensor):
        among = degrees.experts // tensor
        for degree in chosen(divisors(gcd(count, among)), space.expert):
            if width % tensor == 0:
                yield degree, tensor


def sends(question: Question, degrees: Degrees) -> Iterator[Choice]:
    """Whether stages compute while they send."""
    for kind in question.space.sends[: None if degrees.pipeline > 1 else 1]:
        yield (kind,)


def offloads(question: Question, degrees: Degrees) -> Iterator[Choice]:
    """What waits in the host's memory."""
    for kind in question.space.offload:
        yield (kind,)


FREE: Mapping[tuple[str, ...], Callable[[Question, Degrees], Iterable[Choice]]] = MappingProxyType(
    {
        ("micro_batch",): micro_batches,
        ("sequence_parallel",): token_splits,
        ("attention", "exchange"): attentions,
        ("expert", "expert_tensor"): experts,
        ("recompute", "recompute_layers"): recomputes,
        ("schedule", "interleaving", "cut"): schedules,
        ("sharding", "shard", "reshard"): shardings,
        ("offload",): offloads,
        ("sends",): sends,
    }
)
"""Fields that vary among the plans of the same degrees, those that hang together side by side.

The last ones vary fastest. What a layer depends on comes first, so that a piece of a table has few
layers to price.
"""


def chosen(values: Iterable[Value], choices: Sequence[Value] | None) -> list[Value]:
    """The values that a space allows."""
    return [value for value in values if choices is None or value in choices]


def neutral(choices: Sequence[int] | None, value: int) -> Choice:
    """What a field says where it changes nothing: its first choice, or the neutral value."""
    return (value if choices is None else int(choices[0]),)
