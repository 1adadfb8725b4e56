"""Ladders: sizes to try when something is to be as large as fits.

For every plan of a space there is a ladder on all of whose sizes it is legal, and off which it is
not; along it the plan's memory can only grow. So the last size that fits on each ladder is found by
bisection, and the largest of those is the largest that fits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import lcm

from foretrain.errors import InputError
from foretrain.plan.choices import chosen, question_of
from foretrain.plan.divisors import divisors
from foretrain.plan.space import Space
from foretrain.search.fitting import lean
from foretrain.workload.depth import least_layers
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
    """
    found: dict[int, set[tuple[int, int]]] = defaultdict(set)
    step = step_of(workload.model.tokens)
    for tensor, context in _members(workload, space, devices):
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
            sizes=range(rung, LONGEST + 1, rung),
        )
        for rung, pairs in sorted(found.items())
    ]


def _members(workload: Workload, space: Space, devices: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Degrees of the tensor and the context axis."""
    units = question_of(workload, space).units
    every = sorted({degree for count in devices for degree in divisors(count)})
    for tensor in chosen(every, space.tensor):
        if not any(unit % tensor for unit in units):
            for context in chosen(every, space.context):
                several = context == 1 or workload.model.attends
                if several and any(count % (tensor * context) == 0 for count in devices):
                    yield tensor, context


def depth_ladders(workload: Workload, space: Space, *, devices: Sequence[int]) -> list[Ladder]:
    """Numbers of layers that the chunks of all stages can share.

    Raises:
        InputError: a key of the plan counts layers, or no layer repeats.
    """
    _refuse_counted(space)
    model = workload.model
    least, chunks = least_layers(model), lean(model, space).interleaving
    every = sorted({degree for count in devices for degree in divisors(count)})
    found = []
    for pipeline, cut in product(chosen(every, space.pipeline), space.cut):
        several = chunks or range(1, max(1, model.cuttable_layers // pipeline) + 1)
        for interleaving in several if pipeline > 1 else (1,):
            parts = pipeline * interleaving
            rung = parts if cut == "even" else 1
            mine = replace(space, pipeline=(pipeline,), interleaving=(interleaving,), cut=(cut,))
            first = rung * -(-max(least, parts) // rung)
            found.append(Ladder(space=mine, sizes=range(first, DEEPEST + 1, rung)))
    return found


def _refuse_counted(space: Space) -> None:
    hint = "counts layers, whose number is to be found. Leave it out"
    if not all(isinstance(cut, str) for cut in space.cut):
        raise InputError(f"plan.cut: {hint}, or write 'balanced'.")
    if any(space.recompute_layers):
        raise InputError(f"plan.recompute_layers: {hint}.")
