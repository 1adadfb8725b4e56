"""Spatial parallelism: members of a grid share the pixels of each sample.

The context axis stands in a grid along height, width and depth; each member has the pixels at its
place and all parameters, so that members are replicas for the gradients. A window at the edge of a
part reaches into the parts beside it: the forward pass exchanges the borders of what an operator
reads, the backward pass those of the gradient of its result, dimension by dimension, so that the
second one brings the corners of the first along. Where in a window its maximum was, only the owner
of the window knows: a pooling sends gradients back the way that the borders came. A mean over all
pixels is added up. Where an operator needs the whole picture (or `split` ends the front) it is
gathered, and every member repeats what follows; on the way back each takes its part of what all of
them have. Members that share filters or channels too exchange borders of their own.

Sources: kahira2021, section 3.2 and table III; dryden2019, section 3.

The front of a network: operators in which a plan divides pictures and the channels of windows.

Source: kahira2021, section 3 (`split` of the front; filters and channels).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, prod

import numpy as np

from foretrain.plan.plan import ChannelSplit, Grid
from foretrain.plan.table import PlanTable
from foretrain.step.strategies.strategy import Axis, Pattern, Phase, Share, Strategy, Transfer
from foretrain.workload.graph import Flags, Floats, Operators
from foretrain.workload.operator import KernelFamily


def covered(operators: Operators, plans: PlanTable) -> Flags:
    """Operators of the front that divided pictures and convolutions end with. [operator, plan]"""
    mine: Flags = (plans.split == 0) | (operators.until <= plans.split)
    return mine


def by_channel(plans: PlanTable) -> Flags:
    """Plans that divide channels of the input. [plan]"""
    mine: Flags = plans.convolutions == ChannelSplit.CHANNEL
    return mine


def grouped(operators: Operators) -> Flags:
    """Convolutions of groups of channels. [operator, 1]"""
    found: Flags = np.isin(operators.family, (KernelFamily.GROUPED, KernelFamily.DEPTHWISE))
    return found


def channel_members(operators: Operators, plans: PlanTable) -> Floats:
    """All filters or channels over those of the member that has most. [operator, plan]"""
    units = np.where(by_channel(plans), operators.channels, operators.filters)
    mine = (units > 0) & covered(operators, plans)
    divided: Floats = np.where(mine, units / np.maximum(1.0, np.ceil(units / plans.tensor)), 1.0)
    return divided


def channels_met(operators: Operators, plans: PlanTable) -> tuple[Floats, Floats]:
    """By how many fewer channels a member reads, and has gradients of. [operator, plan]

    Whoever has some filters reads all channels and has the gradients of its own results; whoever
    has some channels of all filters reads those, and has all gradients.
    """
    members, groups, channel = (
        channel_members(operators, plans),
        grouped(operators),
        by_channel(plans),
    )
    return np.where(groups | channel, members, 1.0), np.where(groups | ~channel, members, 1.0)


SIDES = (Axis.GRID_1, Axis.GRID_2, Axis.GRID_3)
"""Who exchanges borders along each dimension."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridParts:
    """What the busiest member of each grid has of operators in the front. [operator, grid]

    Attributes:
        read: pixels that an operator reads over those of the member's part.
        written: the same of what it writes.
        rows: the same of the rows of its product.
        gathered: values of a whole result.
        summed: values of a mean that members add up.
        borders: values of a message to one neighbour, by pass, dimension and edge (lower, upper).
    """

    read: Floats
    written: Floats
    rows: Floats
    gathered: Floats
    summed: Floats
    borders: dict[tuple[Phase, int, int], Floats]


def in_parts(operators: Operators, plans: PlanTable) -> Flags:
    """Operators of which members have parts. [operator, plan]"""
    front = np.array([[pixels is not None] for pixels in operators.pixels], bool).reshape(-1, 1)
    mine: Flags = front & covered(operators, plans) & plans.spatial
    return mine


@lru_cache(maxsize=64)
def parts(operators: Operators, grids: tuple[Grid, ...]) -> GridParts:
    """The busiest member's part of every operator, in every grid."""
    found = [
        [_part(operators, place, grid) for grid in grids] for place in range(len(operators.pixels))
    ]
    fields = len(_part(operators, 0, ())) if found else 5 + 4 * len(SIDES)
    columns = np.array(found, np.float64).reshape(len(found), len(grids), fields)
    read, written, rows, gathered, summed, *borders = np.moveaxis(columns, 2, 0)
    keys = [(phase, side, edge) for phase in Phase for side in range(len(SIDES)) for edge in (0, 1)]
    return GridParts(
        read=read,
        written=written,
        rows=rows,
        gathered=gathered,
        summed=summed,
        borders=dict(zip(keys, borders, strict=True)),
    )


def _part(operators: Operators, place: int, grid: Grid) -> list[float]:
    """The fields of `GridParts` of one operator in one grid."""
    pixels = operators.pixels[place]
    if pixels is None or not grid:
        return [1.0, 1.0, 1.0, 0.0, 0.0, *(4 * len(SIDES) * [0.0])]
    read, written = _shared(pixels.read, grid), _shared(pixels.written, grid)
    # A transposed convolution has a row for each pixel that it reads, any other for each it writes.
    reads = operators.rows[place, 0] == prod(pixels.read) != prod(pixels.written)
    returns = (operators.backward_flop + operators.backward_values)[place, 0] > 0
    back = returns and not operators.first[place, 0]
    borders = [*_messages(pixels.read, pixels.borders, grid, channels=pixels.channels[0])]
    gradients = _messages(pixels.written, pixels.gradients, grid, channels=pixels.channels[1])
    return [
        read,
        written,
        read if reads else written,
        float(prod(pixels.written) * pixels.channels[1]) * (written > 1.0),
        float(pixels.channels[1]) * (pixels.averaged and read > 1.0),
        *borders,
        *(each * back for each in (borders if pixels.returned else gradients)),
    ]


def _shared(sides: tuple[int, ...], grid: Grid) -> float:
    """All pixels over those of the largest part; a single pixel is repeated."""
    return prod(sides) / prod(ceil(side / many) for side, many in zip(sides, grid, strict=True))


def _messages(
    sides: tuple[int, ...], planes: tuple[tuple[int, int], ...], grid: Grid, *, channels: int
) -> Iterator[float]:
    """Values of the message over the lower and the upper edge of each of three dimensions.

    A part with neighbours on both sides gets both; one of two parts gets the larger.
    """
    local = [ceil(side / many) for side, many in zip(sides, grid, strict=True)]
    for dimension in range(len(SIDES)):
        if dimension >= len(grid) or grid[dimension] == 1 or sides[dimension] == 1:
            yield from (0.0, 0.0)
            continue
        across = prod(local[:dimension]) * prod(local[dimension + 1 :]) * channels
        edges = planes[dimension]
        if grid[dimension] == 2:
            edges = (max(edges), 0)
        yield from (float(each * across) for each in edges)
        # The next dimension sends the corners along.
        local[dimension] += sum(edges)


def _of(values: Floats, plans: PlanTable) -> Floats:
    """What each plan's grid has. [operator, plan]"""
    return values.take(plans.grid.astype(np.intp), axis=1)


def pixels_shared(operators: Operators, plans: PlanTable) -> tuple[Floats | float, Floats | float]:
    """By how much a member's pictures, read and written, are smaller. [operator, plan]"""
    if not plans.spatial.any():
        return 1.0, 1.0
    found, mine = parts(operators, plans.grids), in_parts(operators, plans)
    return (
        np.where(mine, _of(found.read, plans), 1.0),
        np.where(mine, _of(found.written, plans), 1.0),
    )


def share(operators: Operators, plans: PlanTable) -> Share:
    """Pixels of every operator of the front, the largest part where they do not divide evenly."""
    if not plans.spatial.any():
        return Share()
    found, mine = parts(operators, plans.grids), in_parts(operators, plans)
    read = np.where(mine, _of(found.read, plans), 1.0)
    return Share(
        rows=np.where(mine, _of(found.rows, plans), 1.0),
        moved=read,
        kept=read,
        boundary=np.where(plans.spatial, plans.context, 1.0),
    )


def transfers(operators: Operators, plans: PlanTable) -> tuple[Transfer, ...]:
    """Borders in both passes, means that are added up, and the picture where its sharing ends."""
    if not plans.spatial.any():
        return ()
    found, mine = parts(operators, plans.grids), in_parts(operators, plans)
    # Behind the last operator nobody needs the picture.
    after = np.vstack([mine[1:], mine[-1:]])
    # The gradient of a mean within the front comes from all members' pixels, at its end from none.
    whole, summed = _of(found.gathered, plans), _of(found.summed, plans)
    channels = dict(zip(Phase, channels_met(operators, plans), strict=True))
    exchanged = [
        (Axis.GRID, Phase.FORWARD, Pattern.ALL_GATHER, whole * (mine & ~after)),
        (Axis.GRID, Phase.FORWARD, Pattern.ALL_REDUCE, summed * mine),
        (Axis.GRID, Phase.BACKWARD, Pattern.ALL_REDUCE, summed * (mine & after)),
        *(
            (SIDES[dimension], phase, Pattern.SEND, _of(values, plans) * mine / channels[phase])
            for (phase, dimension, _), values in found.borders.items()
            if values.any()
        ),
    ]
    return tuple(
        Transfer(axis=axis, phase=phase, pattern=pattern, values=values)
        for axis, phase, pattern, values in exchanged
    )


def _pictured(operators: Operators) -> bool:
    """Whether there are pictures to share."""
    return any(operators.pixels)


SPATIAL = Strategy(
    reads=("context", "grid", "split", "tensor", "convolutions"),
    divides=_pictured,
    share=share,
    transfers=transfers,
)
