"""Division: how far the pictures and the channels of a network can be shared, and where it ends.

A grid of devices shares pixels from the first layer up to the first operator that needs the whole
of what it reads (a fully connected layer, say), the tensor axis channels of convolutions. Whoever
asks for more is told which layer has too few of them.

Source: kahira2021, table III (limits of each strategy).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, product
from math import inf, prod

from foretrain.plan.plan import ChannelSplit, Grid
from foretrain.workload.graph import Layer, Model, divisible_pixels
from foretrain.workload.operator import Operator, Pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class Fewest:
    """The least of something that has to be shared, and who has it.

    Attributes:
        many: pixels along one dimension, or channels; infinite where nobody has any.
        where: the layer and its operator.
    """

    many: float = inf
    where: str = ""


def _covered(model: Model, split: int) -> Iterator[tuple[Layer, Operator]]:
    """The operators of the first layers, of all for 0."""
    for layer, until in zip(model.layers, _ends(model), strict=True):
        if split and until > split:
            return
        yield from ((layer, operator) for operator in layer.operators)


def _ends(model: Model) -> tuple[int, ...]:
    """Layers up to the end of each kind, that one included."""
    return tuple(accumulate(layer.repeats for layer in model.layers))


def splits(model: Model) -> tuple[int, ...]:
    """Numbers of layers after which a front of the network may end."""
    return _ends(model)


@lru_cache(maxsize=256)
def pixels(model: Model, split: int = 0) -> tuple[Fewest, ...]:
    """The fewest pixels along each dimension of pictures that a grid shares; none without any.

    What is one pixel only is repeated by every member, and limits nobody.
    """
    covered = [*_covered(model, split)]
    shared = divisible_pixels(operator for _, operator in covered)
    fewest: dict[int, Fewest] = {}
    for (layer, operator), divided in zip(covered, shared, strict=True):
        for dimension, side in enumerate(_shared_sides(divided)):
            if side < fewest.get(dimension, Fewest()).many:
                fewest[dimension] = Fewest(many=side, where=_named(layer, operator))
    return tuple(fewest[dimension] for dimension in sorted(fewest))


def _shared_sides(divided: Pixels | None) -> tuple[int, ...]:
    """Pixels along each dimension of the smaller of the pictures that an operator shares."""
    if divided is None or prod(divided.read) == 1:
        return ()
    if prod(divided.written) == 1:
        return divided.read
    return tuple(min(sides) for sides in zip(divided.read, divided.written, strict=True))


@lru_cache(maxsize=256)
def channels(model: Model, kind: ChannelSplit, split: int = 0) -> Fewest:
    """The fewest filters or channels of convolutions that the tensor axis divides."""
    fewest = Fewest()
    for layer, operator in _covered(model, split):
        many = operator.filters if kind is ChannelSplit.FILTER else operator.channels
        if 0 < many < fewest.many:
            fewest = Fewest(many=many, where=_named(layer, operator))
    return fewest


@lru_cache(maxsize=256)
def grids(model: Model, split: int = 0) -> tuple[Grid, ...]:
    """Every grid whose members all have pixels, those of fewest members first.

    Where all pictures have equal sides, grids that differ in the order of dimensions are one.
    """
    sides = [int(least.many) for least in pixels(model, split)]
    if not sides:
        return ()
    found = [each for each in product(*(range(1, side + 1) for side in sides)) if prod(each) > 1]
    if _equal_sides(model):
        found = [each for each in found if list(each) == sorted(each, reverse=True)]
    return tuple(sorted(found, key=lambda each: (prod(each), max(each), each)))


def _equal_sides(model: Model) -> bool:
    """Whether no dimension of a picture differs from another."""
    known = [operator.pixels for _, operator in model.operators if operator.pixels]
    return all(
        len(set(each.read)) == len(set(each.written)) == len(set(each.borders)) == 1
        for each in known
    )


def _named(layer: Layer, operator: Operator) -> str:
    return f"'{operator.name}' of layer '{layer.name}'"
