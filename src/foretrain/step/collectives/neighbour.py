"""Neighbour: every member sends a message of its own to the next one."""

from __future__ import annotations

import numpy as np

from foretrain.step.collectives.group import Group
from foretrain.step.collectives.line import Line


def send(group: Group) -> Line:
    """One message over the slowest hop of the group.

    Of the members inside a node, neighbours in a line, only the last sends out of it: it has the
    shares of all of them, as far as its own port goes. A framework may take messages through the
    memory of the host.
    """
    levels = group.stretches
    fixed, per_byte = np.zeros_like(levels[0].inside), np.zeros_like(levels[0].inside)
    for level in levels:
        reached = np.minimum(level.alone, level.below * level.around)
        fixed = np.where(level.crossed, level.hop, fixed)
        per_byte = np.where(level.crossed, 1.0 / reached, per_byte)
    return Line(fixed=fixed + group.staged_start, per_byte=per_byte + group.staged)
