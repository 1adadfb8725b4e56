"""Exponentials: what attention waits for beside its products.

A fused kernel takes an exponential for every pair of a query and a key, on units that have not
become quicker while those of matrices have. The narrower a head, the fewer products go with it. An
exponential of an A100 takes as long as 128 FLOP of its products, one of a B200 as long as 512.

Source: shah2024, section 2.2 (a head of 128 has 512 FLOP for each exponential, and an H100 as many
FLOP in the time of two: half of its products' time).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from foretrain.cluster.device import Device
from foretrain.plan.table import Column
from foretrain.step.picture_rates import cores_of

A_CLOCK: Final = ((10.3, 32.0), (6.0, 16.0))
"""Exponentials that a processor takes in a clock from a compute capability on, the latest first.

Source: NVIDIA, CUDA C++ programming guide, throughput of arithmetic instructions; blog of Blackwell
Ultra (twice as many; from memory).
"""

USUAL = 512.0
"""FLOP for each exponential of heads of 128, at which shares of attention's rate were measured."""


def flop_of_one(device: Device, top: float) -> float:
    """FLOP that units do while one exponential is taken; 0 where nobody says.

    Args:
        device: with a compute capability, or nothing is known.
        top: FLOP/s of its units.
    """
    cores, capability = cores_of(device), device.compute_capability or 0.0
    taken = next((each for first, each in A_CLOCK if capability >= first), None)
    if cores is None or taken is None:
        return 0.0
    return 2.0 * cores * top / device.peak.fp32 / taken


def waited(exponentials: Column, flop: Column, one: float, *, products: float = 1.0) -> Column:
    """Time of attention over that of as many FLOP in heads of 128. [operator, 1]

    Args:
        exponentials: that it takes; 0 for what takes none beside its products.
        flop: of the same pass.
        one: FLOP in the time of one.
        products: of the pass, over those of a forward pass.
    """
    each, usual = exponentials / np.maximum(flop, 1.0), 1.0 / (USUAL * products)
    found: Column = np.where(exponentials > 0, (1.0 + one * each) / (1.0 + one * usual), 1.0)
    return found
