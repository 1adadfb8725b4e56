"""The legal plans of a small case, one by one, by the rules of docs/reference/strategies."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations, product
from math import ceil, prod

from foretrain.plan.choices import SEARCHED
from foretrain.plan.plan import (
    AXES,
    ChannelSplit,
    ContextExchange,
    Cut,
    Offload,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.workload.operator import Attention


@dataclass(frozen=True, kw_only=True)
class Case:
    """What the rules need to know of a question."""

    levels: tuple[int, ...]
    batch: int
    layers: int
    tokens: int
    tensor_parts: tuple[int, ...]
    kernels: tuple[Attention, ...]
    key_heads: int = 0
    pixels: tuple[int, ...] = ()
    channels: tuple[int, int] = (0, 0)
    experts: int = 0
    expert_columns: int = 1
    schedules: tuple[Schedule, ...] = (Schedule.ONE_F_ONE_B,)
    sends: tuple[Sends, ...] = (Sends.OVERLAPPED,)
    cuts: tuple[Cut, ...] = ("even", "counted", "remainder")
    recompute_layers: tuple[int, ...] = (0,)
    offloads: tuple[Offload, ...] = (Offload.NONE,)
    shardings: tuple[Sharding, ...] = tuple(Sharding)
    shards: bool = True
    reshards: tuple[bool, ...] = (True,)


def legal_plans(case):
    for plan in of_degrees(case):
        for choice in choices(plan, case):
            orders = [replace(choice, order=order) for order in permutations(AXES)]
            yield from {placement(each, case.levels): each for each in orders}.values()


def of_degrees(case):
    """Axes, chunks and micro-batches."""
    devices = prod(case.levels)
    counts = [count for count in range(1, devices + 1) if devices % count == 0]
    for tensor, context, data, pipeline in product(counts, repeat=4):
        if tensor * context * data * pipeline != devices or case.batch % data:
            continue
        if context > 1 and not case.pixels and not case.key_heads:
            continue
        if context > 1 and not case.pixels and case.tokens % (2 * context):
            continue
        if not any(parts % tensor for parts in case.tensor_parts):
            axes = {"tensor": tensor, "context": context, "data": data, "pipeline": pipeline}
            for pictures in product(grids(context, case), channels(tensor, case)):
                grid, kind = pictures
                yield from of_chunks(Plan(**axes, grid=grid, convolutions=kind), case)


def grids(context, case):
    """Ways to share pictures of equal sides; a wider first side stands for a wider second."""
    if context == 1 or not case.pixels:
        return [()]
    sides = product(*(range(1, most + 1) for most in case.pixels))
    return [each for each in sides if prod(each) == context and list(each) == sorted(each)[::-1]]


def channels(tensor, case):
    """Channels of convolutions that so many members can share."""
    if tensor == 1 or not any(case.channels):
        return [ChannelSplit.FILTER]
    return [kind for kind in ChannelSplit if tensor <= case.channels[kind]]


def of_chunks(plan, case):
    sizes = range(1, case.batch + 1), range(1, case.layers + 2)
    for micro_batch, chunks, cut in product(*sizes, case.cuts):
        parts = plan.pipeline * chunks
        count, rest = divmod(case.batch, plan.data * micro_batch)
        fits = parts <= case.layers or cut == "counted"
        whole = fits and cut_so(cut, case.layers, plan.pipeline, parts)
        rounds = chunks == 1 or (plan.pipeline > 1 and count % plan.pipeline == 0)
        named = plan.pipeline > 1 or cut == case.cuts[0]
        if not rest and whole and rounds and named:
            yield replace(plan, micro_batch=micro_batch, interleaving=chunks, cut=cut)


def cut_so(cut, layers, pipeline, parts):
    """Whether chunks can be filled in that way, one after the other."""
    if cut == "balanced":
        return True
    if cut == "even" or layers % pipeline == 0:
        return cut == "even" and layers % parts == 0
    ends = ["end"] if cut == "counted" else []
    row = [*ends, *["layer"] * layers, *ends]
    most = ceil(len(row) / parts)
    chunks = [row[start : start + most].count("layer") for start in range(0, len(row), most)]
    least = 1 if parts == pipeline else 0
    different = not ends or parts > 2
    fullest = most * (parts // pipeline) <= ceil(len(row) / pipeline) + 1
    filled = len(chunks) == parts and chunks[0] >= (least if ends else 1) and chunks[-1] >= least
    return filled and different and fullest


def choices(plan, case):
    """Everything else; of choices that change nothing only the neutral one."""
    options = {
        "sequence_parallel": (False, True),
        "exchange": SEARCHED,
        "attention": case.kernels,
        "recompute": Recompute,
        "recompute_layers": case.recompute_layers,
        "offload": case.offloads,
        "schedule": case.schedules,
        "sends": case.sends,
    }
    for values in product(*options.values()):
        choice = replace(plan, **dict(zip(options, values, strict=True)))
        if all(rule(choice, case) for rule in (tokens, attends, recomputes, passes)):
            for one in sharded(choice, case):
                yield from routed(one, case)


def tokens(plan, case):
    divided = plan.tensor > 1 and case.tokens % (plan.tensor * plan.context) == 0
    return divided or not plan.sequence_parallel


def attends(plan, case):
    ring = plan.exchange is ContextExchange.RING
    if plan.context == 1:
        return ring
    if ring:
        return plan.attention is Attention.FLASH or bool(plan.grid)
    if plan.grid:
        return False
    if plan.exchange is ContextExchange.ALL_GATHER:
        return True
    return case.key_heads % (plan.tensor * plan.context) == 0


def recomputes(plan, case):
    if plan.recompute_layers:
        return plan.recompute is Recompute.FULL and plan.recompute_layers < case.layers
    return plan.recompute is not Recompute.SELECTIVE or plan.attention is Attention.PLAIN


def passes(plan, case):
    if plan.pipeline == 1:
        return plan.schedule is Schedule.ONE_F_ONE_B and plan.sends is Sends.OVERLAPPED
    return plan.interleaving == 1 or plan.schedule is Schedule.ONE_F_ONE_B


def sharded(plan, case):
    replicas = plan.data * plan.context
    shards = [each for each in range(2, replicas) if replicas % each == 0 and case.shards]
    for kind in case.shardings if replicas > 1 or case.experts else (Sharding.NONE,):
        drops = case.reshards if kind is Sharding.PARAMETERS else (True,)
        for shard, reshard in product([0, *shards] if kind else [0], drops):
            yield replace(plan, sharding=kind, shard=shard, reshard=reshard)


def routed(plan, case):
    """Experts folded over the devices of the tensor, context and data axis."""
    if not case.experts:
        yield plan
        return
    among = plan.tensor * plan.context * plan.data
    for tensor, expert in product({1, plan.tensor}, range(1, case.experts + 1)):
        whole = case.experts % expert == 0 and among % (expert * tensor) == 0
        alike = expert == 1 and tensor == plan.tensor
        sends_once = plan.tensor == 1 or plan.sequence_parallel
        same = max(1, among // (expert * tensor))
        whole = whole and not (plan.shard % same and same % max(1, plan.shard))
        # One replica of everything else may still have several of the same experts.
        whole = whole and (plan.data * plan.context * same > 1 or not plan.sharding)
        if whole and case.expert_columns % tensor == 0 and (alike or sends_once):
            yield replace(plan, expert=expert, expert_tensor=tensor)


def neutral(plan, case):
    """The name under which a plan is listed: fields that change nothing have one value."""
    if plan.tensor == 1:
        plan = replace(plan, sequence_parallel=False)
    if plan.context == 1:
        plan = replace(plan, exchange=ContextExchange.RING)
    if plan.pipeline == 1:
        plan = replace(plan, sends=Sends.OVERLAPPED, schedule=Schedule.ONE_F_ONE_B, cut="even")
    if plan.recompute is Recompute.SELECTIVE and plan.attention is Attention.FLASH:
        plan = replace(plan, recompute=Recompute.NONE)
    if plan.recompute is Recompute.FULL and plan.recompute_layers == case.layers:
        plan = replace(plan, recompute_layers=0)
    return neutrally_sharded(plan, case)


def neutrally_sharded(plan, case):
    replicas = plan.data * plan.context
    alike = plan.tensor // (plan.expert * plan.expert_tensor) if case.experts else 1
    if replicas == 1 and alike <= 1 and plan.shard == 0:
        plan = replace(plan, sharding=Sharding.NONE)
    if plan.sharding is Sharding.NONE and plan.shard:
        plan = replace(plan, sharding=Sharding.OPTIMIZER)
    if plan.sharding is not Sharding.PARAMETERS:
        plan = replace(plan, reshard=True)
    return replace(plan, shard=0) if plan.shard == replicas > 1 else plan


def placement(plan, levels):
    """The fewest members that share a group of a level, for every level of every axis."""
    return shares(tuple((axis, getattr(plan, axis)) for axis in plan.order), levels)


@lru_cache
def shares(layout, levels):
    found, stride = [], 1
    for axis, degree in layout:
        firsts = [rank for rank in range(prod(levels)) if rank // stride % degree == 0]
        groups = [range(first, first + degree * stride, stride) for first in firsts]
        for size in (prod(levels[: level + 1]) for level in range(len(levels))):
            members = [Counter(rank // size for rank in group).values() for group in groups]
            found.append((axis, size, min(map(min, members))))
        stride *= degree
    return tuple(sorted(found))
