"""Uncertainty: how far off predictions have been."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """Uncertainty: how far off predictions have been.

    Widths are half of the interval from the 10th to the 90th percentile, as logarithms. Widenings
    are logarithms of factors on them, 0 where something makes a prediction no less sure.

    Attributes:
        time: width of a step's time in an easy case.
        anchored: the same once a measured run has moved the factor of its framework.
        device: widening on a device that was not fitted to.
        sharded: where replicas share the parameters.
        divided: where a copy of the model lies on several devices.
        experts: for mixtures of experts.
        narrow: for matrix products of 8 or 4 bits.
        unfused: for attention without a fused kernel.
        pictures: for networks of images.
        unseen: for each of these kinds that was not fitted to.
        assumed: for each default that stands for a blank.
        host_bound: where the host needs all of the time to start kernels.
        size: for a model e times larger or smaller than all that were fitted to.
        count: for e times more or fewer devices than all that were fitted to.
    """

    time: float
    anchored: float
    device: float
    sharded: float
    divided: float
    experts: float
    narrow: float
    unfused: float
    pictures: float
    unseen: float
    assumed: float
    host_bound: float
    size: float
    count: float
