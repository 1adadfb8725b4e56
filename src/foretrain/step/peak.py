"""Peaks: when in a step the memory of a device is fullest, and what is alive then.

Weights and optimizer state are always there. What else is there depends on the moment: activations
are freed as gradients come, the loss goes before a layer is computed again, and an update comes
when no activation is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import IntEnum

import numpy as np

from foretrain.plan.table import Column, Rows


class MemoryPeak(IntEnum):
    """Moments of a step at which memory may be fullest."""

    LOSS = 0
    """The forward pass has ended and the backward pass begins with the loss."""
    FIRST_LAYER = 1
    """The backward pass is in its first layer, the last of the model."""
    LAST_LAYER = 2
    """It is in its last layer, the first of the model."""
    REDUCTION = 3
    """Gradients of what stands around the layers are reduced, as the last ones."""
    UPDATE = 4
    """The optimizer works on all parameters."""

    @property
    def words(self) -> str:
        """For people."""
        return _WORDS[self]


_WORDS = {
    MemoryPeak.LOSS: "at the loss, between forward and backward pass",
    MemoryPeak.FIRST_LAYER: "as the backward pass begins, with all activations",
    MemoryPeak.LAST_LAYER: "as the backward pass ends, with all gradients",
    MemoryPeak.REDUCTION: "as the gradients of embedding and head are reduced",
    MemoryPeak.UPDATE: "in the optimizer's update",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moment:
    """Bytes beside weights and optimizer state at one moment. [plan] or [run, plan]

    Attributes:
        gradients: as they are held until the update.
        activations: kept for the backward pass.
        buffers: everything that passes.
    """

    gradients: Column
    activations: Column
    buffers: Column

    @property
    def total(self) -> Column:
        """Their sum."""
        return self.gradients + self.activations + self.buffers


def fullest(moments: Sequence[Moment]) -> tuple[Moment, Rows]:
    """The moment with the largest total, the first of equals, and which of them that is."""
    if len(moments) == 1:
        return moments[0], np.zeros(1, np.intp)
    totals = np.stack(np.broadcast_arrays(*(each.total for each in moments)))
    at = np.argmax(totals, axis=0)

    def chosen(name: str) -> Column:
        each = np.broadcast_arrays(totals[0], *(getattr(moment, name) for moment in moments))[1:]
        taken: Column = np.take_along_axis(np.stack(each), at[np.newaxis], axis=0)[0]
        return taken

    return Moment(**{each.name: chosen(each.name) for each in fields(Moment)}), at
