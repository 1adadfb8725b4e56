"""Divisors: the degrees into which a count can be divided.

Choices: which values each field of a plan may take once the fields before it are known.

Fields whose values make sense together only are one dimension of the space. A value that changes
nothing has one name: nothing is sharded among one device, only full recomputation counts layers,
and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, isqrt, prod
from types import MappingProxyType
from typing import Final, TypeVar

import numpy as np

from foretrain.plan import division
from foretrain.plan.plan import (
    ChannelSplit,
    ContextExchange,
    Grid,
    Offload,
    Recompute,
    Sharding,
    cuts_into,
    most_chunks,
)
from foretrain.plan.study import Space
from foretrain.plan.table import Column, Flags, PlanTable
from foretrain.workload.graph import Model
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload


@lru_cache(maxsize=1024)
def divisors(number: int) -> tuple[int, ...]:
    """Every divisor of a count of at least 1, in order."""
    small = [value for value in range(1, isqrt(number) + 1) if number % value == 0]
    return (*small, *(number // value for value in reversed(small) if value * value != number))


Choice = tuple[int, ...]
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Question:
    """What to list.

    Attributes:
        workload: what is learned.
        space: choices.
        kernels: kernels worth telling apart, and whether with each of them selective recomputation
            is worth telling from none.
        units: what the tensor axis must divide.
        heads: key-value heads, which tensor and context axis may have to divide together.
        experts: what the expert axis must divide; 0 without experts.
        width: what members that share an expert must divide.
        grids: ways to share pictures, the first of them none.
        convolved: whether it has convolutions, whose channels the tensor axis may divide.
    """

    workload: Workload
    space: Space
    kernels: Mapping[Attention, bool]
    units: frozenset[int]
    heads: int
    experts: int
    width: int
    grids: tuple[Grid, ...]
    convolved: bool

    @property
    def model(self) -> Model:
        """The network."""
        return self.workload.model


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
    return Question(
        workload=workload,
        space=space,
        kernels=MappingProxyType(worth),
        units=frozenset(o.units for o in operators if o.units and not o.experts),
        heads=gcd(*(o.units for o in operators if o.keys)),
        experts=gcd(*(o.experts for o in operators if o.experts)),
        width=gcd(*(o.units for o in operators if o.experts)),
        grids=_grids(workload.model, space),
        convolved=any(operator.filters for operator in operators),
    )


def _grids(model: Model, space: Space) -> tuple[Grid, ...]:
    """Every grid of a space, for whichever front of the network."""
    every = (grid for split in space.split for grid in division.grids(model, split))
    return ((), *dict.fromkeys(chosen(space.grid or every, space.grid)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dimension:
    """Fields that are chosen together.

    Attributes:
        names: the fields.
        reads: what decides which values they may take, from fields chosen before. [plan]
        choices: lists the values, given one row of that.
    """

    names: tuple[str, ...]
    reads: Callable[[Question, PlanTable], Sequence[Column | Flags]]
    choices: Callable[[Question, Choice], Iterable[Choice]]


def known(*names: str) -> Callable[[Question, PlanTable], Sequence[Column]]:
    """Fields that decide as they are."""
    return lambda _question, plans: [getattr(plans, name) for name in names]


def divides_tokens(model: Model, context: int) -> bool:
    """Whether so many members can share a sample: twice as many equal blocks of tokens.

    Each member takes one block from the front and one from the back, so that causal attention
    gives all of them the same work.
    """
    return context == 1 or (model.attends and model.tokens % (2 * context) == 0)


def shares_pictures(question: Question, context: int) -> bool:
    """Whether some grid has so many members."""
    return any(prod(grid) == context for grid in question.grids[1:])


def shares_channels(question: Question, tensor: int) -> bool:
    """Whether so many members have channels of all convolutions of some front of the network."""
    return tensor == 1 or any(
        tensor <= division.channels(question.model, kind, split).many
        for split in question.space.split
        for kind in chosen(ChannelSplit, question.space.convolutions)
    )


def fronts(question: Question, given: Choice) -> Iterator[Choice]:
    """Layers in which pictures and convolutions are divided, if any are."""
    tensor, context = given
    divided = (tensor > 1 and question.convolved) or shares_pictures(question, context)
    for split in question.space.split[: None if divided else 1]:
        yield (split,)


def grids(question: Question, given: Choice) -> Iterator[Choice]:
    """How members of the context axis share a picture (by position), or that they share tokens."""
    context, split = given
    if divides_tokens(question.model, context):
        yield (0,)
    fewest = division.pixels(question.model, split)
    for place, grid in enumerate(question.grids):
        alike = prod(grid) == context > 1 and len(grid) == len(fewest)
        if alike and all(one <= least.many for one, least in zip(grid, fewest, strict=True)):
            yield (place,)


def channel_splits(question: Question, given: Choice) -> Iterator[Choice]:
    """Which channels of convolutions the tensor axis divides."""
    tensor, split = given
    kinds = chosen(ChannelSplit, question.space.convolutions)
    if tensor == 1 or not question.convolved:
        yield (kinds[0],)
        return
    for kind in kinds:
        if tensor <= division.channels(question.model, kind, split).many:
            yield (kind,)


def micro_batches(question: Question, given: Choice) -> Iterator[Choice]:
    """Samples that divide what a replica gets."""
    samples = question.workload.global_batch // given[0]
    yield from ((size,) for size in chosen(divisors(samples), question.space.micro_batch))


def token_splits(question: Question, given: Choice) -> Iterator[Choice]:
    """Sequence parallelism."""
    tensor, context = given
    divided = question.model.tokens % (tensor * context) == 0
    for split in chosen([False, True], question.space.sequence_parallel):
        if not split or divided:
            yield (split,)
        if tensor == 1:
            return


SEARCHED: Final = (ContextExchange.RING, ContextExchange.ALL_TO_ALL)
"""Exchanges of the context axis that are tried where none is named: one that waits for all keys
takes as many bytes as a ring that hides them."""


def attentions(question: Question, given: Choice) -> Iterator[Choice]:
    """Kernel and exchange; blocks that come one by one need a kernel that adds them up."""
    tensor, context, grid = given
    allowed = question.space.exchange or SEARCHED
    shares_heads = question.heads % (tensor * context) == 0
    for kernel in question.kernels:
        if context == 1 or grid:
            yield kernel, allowed[0] if question.space.exchange else ContextExchange.RING
            continue
        for exchange in allowed:
            ring = exchange is ContextExchange.RING
            heads = exchange is ContextExchange.ALL_TO_ALL
            if (kernel is Attention.FLASH or not ring) and (shares_heads or not heads):
                yield kernel, exchange


def experts(question: Question, given: Choice) -> Iterator[Choice]:
    """Degree of the expert axis and members that share one expert.

    Experts that are not divided like the rest want every token once.
    """
    tensor, replicas, split = given
    space = question.space
    if not question.experts:
        yield (*neutral(space.expert, 1), *neutral(space.expert_tensor, 1))
        return
    for sharing in chosen(sorted({1, tensor}), space.expert_tensor):
        among = tensor * replicas // sharing
        for degree in chosen(divisors(gcd(question.experts, among)), space.expert):
            apart = tensor > 1 and (degree > 1 or sharing != tensor)
            if question.width % sharing == 0 and (split or not apart):
                yield degree, sharing


def recomputes(question: Question, given: Choice) -> Iterator[Choice]:
    """What is recomputed, and of how many layers.

    Selective recomputation without operators that it would run again is none.
    """
    for kind in chosen(list(Recompute), question.space.recompute):
        if kind is Recompute.SELECTIVE and not question.kernels[Attention(given[0])]:
            continue
        for layers in question.space.recompute_layers:
            if kind is not Recompute.FULL:
                yield kind, 0
                break
            if layers < question.model.cuttable_layers:
                yield kind, layers


def shardings(question: Question, given: Choice) -> Iterator[Choice]:
    """What is sharded, among how many, and whether parameters are dropped between passes."""
    replicas, same = given
    space, alone = question.space, max(given) == 1
    for kind in chosen(list(Sharding), space.sharding):
        if kind is Sharding.NONE or alone:
            yield kind, *neutral(space.shard, 0), space.reshard[0]
            if alone:
                return
            continue
        for shard in _shards(space, replicas):
            if same % max(shard, 1) and shard % same:
                continue
            for reshard in space.reshard[: None if kind is Sharding.PARAMETERS else 1]:
                yield kind, shard, reshard


def kinds(question: Question, given: Choice) -> Iterator[Choice]:
    """What is sharded and whether it is dropped between passes, all replicas sharing one copy."""
    yield from dict.fromkeys((kind, reshard) for kind, _, reshard in shardings(question, given))


def shards(question: Question, given: Choice) -> Iterator[Choice]:
    """Devices that share one copy of what is sharded."""
    *holders, sharding, reshard = given
    for kind, shard, dropped in shardings(question, tuple(holders)):
        if (kind, dropped) == (sharding, reshard):
            yield (shard,)


def _shards(space: Space, replicas: int) -> list[int]:
    """Devices that may share one copy; all of them go by the name of 0."""
    if space.shard is None:
        return [0, *divisors(replicas)[1:-1]]
    return [shard for shard in space.shard if not shard or (shard > 1 and replicas % shard == 0)]


def _holders(question: Question, plans: PlanTable) -> Sequence[Column | Flags]:
    """Replicas, and devices that hold the same experts, which a shard divides or fills."""
    same = plans.tensor * plans.replicas / (plans.expert * plans.expert_tensor)
    return plans.replicas, same if question.experts else np.zeros_like(same)


def _sharded(question: Question, plans: PlanTable) -> Sequence[Column | Flags]:
    """The same, and what is sharded."""
    return *_holders(question, plans), plans.sharding, plans.reshard


def offloads(question: Question, _given: Choice) -> Iterator[Choice]:
    """What waits in the host's memory, and of how many layers."""
    for kind in question.space.offload:
        for layers in question.space.offload_layers:
            if kind < Offload.ACTIVATIONS:
                yield kind, 0
                break
            if layers < question.model.cuttable_layers:
                yield kind, layers


def schedules(question: Question, given: Choice) -> Iterator[Choice]:
    """Schedule, interleaving and cut (by position in the space's choices).

    Interleaving passes micro-batches in groups of the pipeline's degree.
    """
    pipeline, in_groups = given
    space, layers = question.space, question.model.cuttable_layers
    # A single stage is not cut: it has the neutral word where that is a choice.
    cuts = sorted(enumerate(space.cut), key=lambda each: pipeline == 1 and each[1] != "even")
    for schedule in space.schedule:
        interleaved = schedule.interleaves and pipeline > 1 and in_groups
        most = most_chunks(space.cut, layers, pipeline=int(pipeline)) if interleaved else 1
        for chunks in chosen(range(1, most + 1), space.interleaving):
            for place, cut in cuts:
                if cuts_into(cut, layers, pipeline=int(pipeline), chunks=int(pipeline) * chunks):
                    yield schedule, chunks, place
                    if pipeline == 1:
                        return


def _rounds(question: Question, plans: PlanTable) -> Sequence[Column | Flags]:
    """Stages, and whether the micro-batches are a multiple of them."""
    passes = question.workload.micro_batches(plans.data, plans.micro_batch)
    return plans.pipeline, passes % plans.pipeline == 0


def sends(question: Question, given: Choice) -> Iterator[Choice]:
    """Whether stages compute while they send."""
    for kind in question.space.sends[: None if given[0] > 1 else 1]:
        yield (kind,)


LAYERS = (
    Dimension(names=("micro_batch",), reads=known("data"), choices=micro_batches),
    Dimension(names=("split",), reads=known("tensor", "context"), choices=fronts),
    Dimension(names=("grid",), reads=known("context", "split"), choices=grids),
    Dimension(names=("convolutions",), reads=known("tensor", "split"), choices=channel_splits),
    Dimension(names=("sequence_parallel",), reads=known("tensor", "context"), choices=token_splits),
    Dimension(
        names=("attention", "exchange"),
        reads=known("tensor", "context", "grid"),
        choices=attentions,
    ),
    Dimension(
        names=("expert", "expert_tensor"),
        reads=known("tensor", "replicas", "sequence_parallel"),
        choices=experts,
    ),
    Dimension(
        names=("recompute", "recompute_layers"), reads=known("attention"), choices=recomputes
    ),
)
"""What a layer depends on, degrees of the axes apart."""

PARAMETERS = (
    Dimension(names=("sharding", "shard", "reshard"), reads=_holders, choices=shardings),
    Dimension(names=("offload", "offload_layers"), reads=known(), choices=offloads),
)
"""Where parameters and what belongs to them are."""

KINDS = (
    Dimension(names=("sharding", "reshard"), reads=_holders, choices=kinds),
    Dimension(names=("offload", "offload_layers"), reads=known(), choices=offloads),
)
SHARDS = (Dimension(names=("shard",), reads=_sharded, choices=shards),)
"""The same in two steps."""

STAGES = (
    Dimension(names=("schedule", "interleaving", "cut"), reads=_rounds, choices=schedules),
    Dimension(names=("sends",), reads=known("pipeline"), choices=sends),
)
"""How a pipeline works."""


def chosen(values: Iterable[Value], choices: Sequence[Value] | None) -> list[Value]:
    """The values that a space allows."""
    return [value for value in values if choices is None or value in choices]


def neutral(choices: Sequence[int] | None, value: int) -> Choice:
    """What a field says where it changes nothing: its first choice, or the neutral value."""
    return (value if choices is None else int(choices[0]),)
