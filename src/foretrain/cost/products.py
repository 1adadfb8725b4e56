"""Products of matrices: what the matrix units of a device reach at best."""

from __future__ import annotations

from foretrain.cluster.device import Device
from foretrain.coefficients.matrix import Matrix


def best_share(device: Device, matrix: Matrix) -> float:
    """Share of the 16-bit peak that the best product reaches inside of a training.

    Units whose instructions do not wait slow down with what else a step does, and the first
    generation of units is fed late; both hold for products of matrices and for convolutions.
    """
    half = device.peak.bf16 or device.peak.fp16
    best = device.matmul / half if device.matmul and half else matrix.best
    if device.asynchronous:
        return best * matrix.asynchronous
    return best * matrix.earliest if device.peak.bf16 is None else best
