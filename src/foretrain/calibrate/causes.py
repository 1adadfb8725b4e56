"""Causes: what may be wrong with a measured step that no prediction comes near."""

from __future__ import annotations

from collections.abc import Iterator
from math import log

NEAR = 0.4
"""Logarithm of a ratio within which a mistake explains a figure: predictions are off by as much."""


def causes(ratio: float, *, micro_batches: float, devices: int, mfu: float) -> Iterator[str]:
    """What may explain a figure, the mistakes that would lead to just such a one first.

    Args:
        ratio: measured over predicted.
        micro_batches: of each replica in a step.
        devices: that the plan uses.
        mfu: FLOP of the model per second over the devices' peak, if the figure is right.
    """
    if mfu > 1.0:
        yield f"the devices would compute at {mfu:.0%} of their peak, which none can"
    factors = {
        "seconds written for milliseconds": 1000.0,
        "milliseconds written for seconds": 1 / 1000.0,
        f"one of the step's {micro_batches:,.0f} micro-batches was timed": 1 / micro_batches,
        f"the time of one device counted for each of {devices:,}": float(devices),
    }
    for words, factor in factors.items():
        if factor != 1.0 and abs(log(ratio / factor)) < NEAR:
            yield words
    yield "another batch, sequence, number of devices, precision or recomputation than the study's"
    yield "steps that wait for samples, checkpoints or a start-up"
