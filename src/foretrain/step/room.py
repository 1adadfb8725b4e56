"""Room: bytes of a device that a plan may fill, by what sets the limit.

A device that is asked for all its memory fails in as many runs as need more than was predicted. So
a plan may fill no more than what leaves room for that error with the probability that is asked for.
"""

from __future__ import annotations

from typing import Final

from foretrain.plan.study import Limit
from foretrain.step.memory import errors_of, holding
from foretrain.step.setting import Setting

MEMORY: Final = "device memory"
RISK: Final = "risk of device memory"
MEMORY_LIMIT: Final = "memory limit"
HOST_MEMORY: Final = "host memory"


def rooms(setting: Setting, limit: Limit) -> dict[str, float]:
    """Bytes of a device that a plan may fill, by the reason, the roomiest first.

    A reason that refuses nothing which another one does not refuse is left out.

    Args:
        setting: device, coefficients, and how unsure the model's memory is.
        limit: the bytes that a plan may fill, and how likely it must fit.
    """
    device = setting.cluster.device.memory
    found = {MEMORY: device}
    asked = {RISK: safe(setting, limit.fits), MEMORY_LIMIT: limit.memory or device}
    for reason, room in sorted(asked.items(), key=lambda each: -each[1]):
        if room < min(found.values()):
            found[reason] = room
    return found


def room(setting: Setting, limit: Limit) -> float:
    """Bytes of a device that a plan may fill."""
    return min(rooms(setting, limit).values())


def safe(setting: Setting, fits: float) -> float:
    """Bytes that a prediction may say so that a device holds them this likely."""
    device = setting.cluster.device.memory
    if not fits:
        return device
    spread = setting.workload.model.spread
    return min(device, holding(device, fits, errors_of(setting), spread=spread))
