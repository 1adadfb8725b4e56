"""Uncertainty: how far off predictions have been."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """Uncertainty: how far off predictions have been.

    Widths are logarithms of how much slower than predicted the 90th percentile is. Widenings are
    logarithms of factors on them where nothing else makes a prediction less sure, 0 where
    something does not.

    Attributes:
        time: width of a step's time in an easy case.
        quicker: the width to the 10th percentile over that; 1 if errors have no side.
        anchored: `time` once a measured run has moved the factor of its framework.
        anchored_quicker: `quicker` once one has.
        device: widening on a device that was not fitted to.
        sharded: where replicas share the parameters.
        divided: where a copy of the model lies on several devices.
        experts: for mixtures of experts.
        narrow: for matrix products of 8 or 4 bits.
        wide: for those of 32 bits.
        unfused: for attention without a fused kernel.
        pictures: for networks of images.
        sample: where no run had such samples (pictures, sound, numbers).
        unseen: for each of these kinds that was not fitted to.
        assumed: for each default that stands for a blank.
        host_bound: where the host needs all of the time to start kernels.
        size: for a model e times larger or smaller than all that were fitted to.
        count: for e times more or fewer devices than all that were fitted to.
    """

    time: float
    quicker: float
    anchored: float
    anchored_quicker: float
    device: float
    sharded: float
    divided: float
    experts: float
    narrow: float
    wide: float
    unfused: float
    pictures: float
    sample: float
    unseen: float
    assumed: float
    host_bound: float
    size: float
    count: float
