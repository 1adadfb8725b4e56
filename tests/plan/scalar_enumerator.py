"""The legal plans of a small case, one by one, by the rules of docs/reference/strategies."""

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from itertools import permutations, product
from math import prod

from foretrain.plan.plan import AXES, Plan, Recompute, Sends, Sharding
from foretrain.workload.operator import Attention


def legal_plans(*, levels, batch, layers, tokens, tensor_parts, kernels):
    devices = range(1, prod(levels) + 1)
    for tensor, data, pipeline, chunks in product(devices, devices, devices, devices):
        if tensor * data * pipeline != len(devices) or layers % (pipeline * chunks):
            continue
        if batch % data or any(parts % tensor for parts in tensor_parts):
            continue
        for micro_batch in range(1, batch // data + 1):
            passes, rest = divmod(batch, data * micro_batch)
            if rest or (chunks > 1 and (pipeline == 1 or passes % pipeline)):
                continue
            axes = {"tensor": tensor, "data": data, "pipeline": pipeline}
            plan = Plan(**axes, interleaving=chunks, micro_batch=micro_batch)
            for choice in choices(plan, tokens, kernels):
                orders = [replace(choice, order=order) for order in permutations(AXES)]
                yield from {placement(each, levels): each for each in orders}.values()


def choices(plan, tokens, kernels):
    options = product((False, True), Sharding, Recompute, kernels, Sends)
    for parallel, sharding, recompute, kernel, sends in options:
        divides = not parallel or (plan.tensor > 1 and tokens % plan.tensor == 0)
        useful = recompute != Recompute.SELECTIVE or kernel == Attention.PLAIN
        if divides and useful and plan.data > bool(sharding) and plan.pipeline > bool(sends):
            known = {"sequence_parallel": parallel, "sharding": sharding, "recompute": recompute}
            yield replace(plan, **known, attention=kernel, sends=sends)


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
