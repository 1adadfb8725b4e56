"""Log lines: what a step took, as a trainer prints it."""

from __future__ import annotations

import re
from typing import Final

from foretrain.errors import InputError
from foretrain.units import SECONDS, as_written

_NUMBER: Final = r"(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"

FIELDS: Final = tuple(
    re.compile(field.replace("NUMBER", _NUMBER))
    for field in (
        # Megatron-LM and Megatron-DeepSpeed; BigScience's in seconds.
        r"elapsed time per iteration \((?P<unit>ms|s)\):\s*NUMBER",
        # NeMo.
        r"train_step_timing in (?P<unit>s):\s*NUMBER",
        # Megatron Bridge.
        r"Step Time\s*:\s*NUMBER(?P<unit>s)\b",
        # DeepSpeed's engine of pipelines.
        r"iter time \((?P<unit>s)\):\s*NUMBER",
        # MaxText.
        r"completed step: \d+, (?P<unit>s)econds:\s*NUMBER",
    )
)
"""Fields that say what a whole step took, each with its unit."""


def step_seconds(text: str) -> float:
    """Seconds of a step: a time with its unit, or the line of a log that says it.

    Raises:
        InputError: it says no time, or several.
    """
    found = [match for field in FIELDS for match in field.finditer(text)]
    if not found:
        return SECONDS.read(text)
    if len(found) > 1:
        raise InputError(
            f"{as_written(text)} tells the time of {len(found)} steps. Give one line, or the median"
            ' of some as a time: "2.15 s".'
        )
    return SECONDS.read(f"{found[0]['number']} {found[0]['unit']}")
