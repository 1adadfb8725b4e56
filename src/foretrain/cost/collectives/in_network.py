"""In-network: switches add up and hand out, so that bytes cross each link once.

NVLink SHARP inside a switch domain, SHARP on InfiniBand. A level whose switches do not add up has
a ring among its units. The levels work side by side on pieces of the message, and an outer level
moves what the members below it share.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from foretrain.cost.collectives.group import Group, Stretch
from foretrain.cost.collectives.line import Line, Number


def reduce(group: Group) -> Line:
    """Up into the switches and down again; twice around where they do not add up.

    Source: graham2016 (trees of switches that add up); nvidia-nccl, NVLS.
    """

    def hops(level: Stretch) -> Number:
        steps = 2.0 * (level.units - 1.0) * level.hop
        return 2.0 * level.hop * level.crossed if level.adding else steps

    def busy(level: Stretch) -> Number:
        around = 2.0 * (level.units - 1.0) / (level.inside * level.around)
        return level.crossed / (level.below * level.adding) if level.adding else around

    return _pipelined(group, hops, busy)


def gather(group: Group) -> Line:
    """Every member's part up once and to all others; a reduce-scatter goes the other way.

    Source: nvidia-nccl, NVLS.
    """

    def hops(level: Stretch) -> Number:
        return level.hop * level.crossed if level.adding else (level.units - 1.0) * level.hop

    def busy(level: Stretch) -> Number:
        return (level.units - 1.0) / (level.inside * (level.adding or level.around))

    return _pipelined(group, hops, busy)


def broadcast(group: Group) -> Line:
    """Up once and to all others.

    Source: nvidia-nccl, NVLS.
    """

    def hops(level: Stretch) -> Number:
        return level.hop * level.crossed if level.adding else (level.units - 1.0) * level.hop

    def busy(level: Stretch) -> Number:
        return level.crossed / (level.below * (level.adding or level.around))

    return _pipelined(group, hops, busy)


def _pipelined(
    group: Group, hops: Callable[[Stretch], Number], busy: Callable[[Stretch], Number]
) -> Line:
    """Hops of all levels, the busiest one's bytes; never where no switch on the way adds up."""
    adds = group.most(lambda level: np.where(level.crossed, level.adding, 0.0)) > 0.0
    return Line(
        fixed=np.where(adds, group.total(hops), np.inf),
        per_byte=np.where(adds, group.most(busy), 0.0),
    )
