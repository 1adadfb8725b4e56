"""Ladders: sizes to try when something is to be as large as fits.

For every plan of a space there are ladders on all of whose sizes it is legal, and off which it is
not; along each of them its memory can only grow. So the last size that fits on each ladder is found
by bisection, and the largest of those is the largest that fits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import lcm

from foretrain.errors import InputError
from foretrain.plan.choices import chosen, divisors, question_of
from foretrain.plan.plan import AS_MADE
from foretrain.plan.study import Maximise, Space, Study
from foretrain.search.exhaustive import lean
from foretrain.workload.graph import Model, least_layers, steady_layers
from foretrain.workload.workload import Workload

STEP = 1024
"""Tokens that lengths are multiples of; a sample's own largest power of two if that is less."""

LONGEST = 2**29
"""Tokens beyond which no length is tried."""

DEEPEST = 2**16
"""Layers beyond which no model is tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """Some plans, and sizes at which they are legal.

    Attributes:
        space: holds the plans; others that it holds may be legal at some of the sizes.
        sizes: ascending.
    """

    space: Space
    sizes: range

    def above(self, size: int) -> range:
        """The sizes above one."""
        return self.sizes[max(0, (size - self.sizes.start) // self.sizes.step + 1) :]


def climb(sizes: range, fits: Callable[[int], bool]) -> int | None:
    """The last size that fits, by doubling and bisection; None if the first does not."""
    if not sizes or not fits(sizes[0]):
        return None
    low, more = 0, 1
    while low + more < len(sizes) and fits(sizes[low + more]):
        low, more = low + more, 2 * more
    high = min(low + more, len(sizes))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(sizes[middle]) else (low, middle)
    return sizes[low]


def ladders_of(study: Study, devices: Sequence[int]) -> list[Ladder]:
    """What to try of that which a study wants as large as fits, on some numbers of devices."""
    match study.maximise:
        case Maximise.MICRO_BATCH:
            return micro_batch_ladders(study.workload, study.space)
        case Maximise.SEQUENCE:
            return length_ladders(study.workload, study.space, devices=devices)
        case _:
            return depth_ladders(study.workload, study.space, devices=devices)


def micro_batch_ladders(workload: Workload, space: Space) -> list[Ladder]:
    """One for each micro-batch, since plans with another one are other plans; largest first."""
    return [
        Ladder(space=replace(space, micro_batch=(size,)), sizes=range(size, size + 1))
        for size in reversed(chosen(divisors(workload.global_batch), space.micro_batch))
    ]


def step_of(tokens: int) -> int:
    """What lengths are multiples of where samples have so many tokens."""
    return min(STEP, tokens & -tokens)


def length_ladders(workload: Workload, space: Space, *, devices: Sequence[int]) -> list[Ladder]:
    """Lengths that tensor and context axis can divide.

    Args:
        workload: with samples of any length.
        space: choices.
        devices: numbers of devices that a plan may use.

    Raises:
        InputError: cuts depend on the length.
    """
    _refuse(space, counted=False)
    found: dict[int, set[tuple[int, int]]] = defaultdict(set)
    step = step_of(workload.model.tokens)
    units = question_of(workload, space).units
    every = sorted({degree for count in devices for degree in divisors(count)})
    several = [
        (tensor, context)
        for tensor in chosen(every, space.tensor)
        if not any(unit % tensor for unit in units)
        for context in chosen(every, space.context)
        if context == 1 or workload.model.attends
    ]
    for tensor, context in several:
        if all(count % (tensor * context) for count in devices):
            continue
        blocks = lcm(step, 2 * context if context > 1 else 1)
        found[blocks].add((tensor, context))
        found[lcm(blocks, tensor * context)].add((tensor, context))
    return [
        Ladder(
            space=replace(
                space,
                tensor=tuple(sorted({tensor for tensor, _ in pairs})),
                context=tuple(sorted({context for _, context in pairs})),
            ),
            sizes=_multiples(rung, rung, min(LONGEST, workload.model.longest or LONGEST)),
        )
        for rung, pairs in sorted(found.items())
    ]


def depth_ladders(workload: Workload, space: Space, *, devices: Sequence[int]) -> list[Ladder]:
    """Numbers of layers that the chunks of all stages can share evenly.

    Raises:
        InputError: a key of the plan counts layers, the number of chunks is not known, or no layer
            repeats.
    """
    _refuse(space, counted=True)
    space = replace(space, cut=("even",))
    every = sorted({degree for count in devices for degree in divisors(count)})
    return [
        Ladder(space=replace(space, pipeline=(pipeline,), interleaving=(chunks,)), sizes=sizes)
        for pipeline in chosen(every, space.pipeline)
        for chunks in _chunks(workload.model, space, pipeline)
        for sizes in _depths(workload.model, pipeline * chunks)
    ]


def _chunks(model: Model, space: Space, pipeline: int) -> Sequence[int]:
    """Chunks that a stage may have."""
    if pipeline == 1:
        return chosen((1,), space.interleaving)
    found = lean(model, space).interleaving
    if found is None:
        raise InputError(
            f"plan.interleaving: the layers of {model.name} are of several kinds, and more chunks "
            "might spread them better in ever deeper models. List what to try, such as 1."
        )
    return found


def _depths(model: Model, chunks: int) -> Iterator[range]:
    """Numbers of layers that so many chunks can share.

    As long as layers of other kinds move from one chunk to another, a deeper model may need less;
    each of these numbers is a ladder of its own.
    """
    least = least_layers(model)
    steady = chunks * (steady_layers(model) if chunks > 1 else 1)
    yield from (range(size, size + 1) for size in _multiples(chunks, least, steady - 1))
    yield _multiples(chunks, max(least, steady), DEEPEST)


def _multiples(rung: int, least: int, most: int) -> range:
    """Multiples of a number from one size to another."""
    return range(rung * -(-least // rung), most + 1, rung)


def _refuse(space: Space, *, counted: bool) -> None:
    """Keys that a size decides; `counted`: whether it is the number of layers."""
    if counted and space.cut not in (("even",), AS_MADE):
        raise InputError("plan.cut: the layers to cut are to be found. Leave it out.")
    for name in ("recompute_layers", "offload_layers") if counted else ():
        if any(getattr(space, name)):
            raise InputError(f"plan.{name}: the layers to count are to be found. Leave it out.")
    if "balanced" in space.cut:
        raise InputError(
            "plan.cut: balanced stages shift as samples grow, and their memory may fall. Leave it "
            "out, or list the layers of each chunk."
        )
