"""Log lines: what a step took, as a trainer prints it: a time, or a rate of steps, samples, tokens.

Sources: the lines that trainers print, by release: megatron-lm, nemo, megatron-bridge, deepspeed,
maxtext, torchtitan, transformers, llm-foundry, torchtune, litgpt, oneflow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from foretrain.errors import InputError
from foretrain.units import SECONDS, as_written

_NUMBER: Final = r"(?P<number>\d[\d,]*(?:\.\d+)?(?:[eE][+-]?\d+)?)"
_COLOUR: Final = re.compile("\x1b\\[[0-9;]*m")


class Per(StrEnum):
    """What a figure of a log is of."""

    STEP = "seconds of a step"
    PASS = "seconds of a micro-batch of a replica"
    STEPS = "steps a second"
    SAMPLES = "samples a second of all devices"
    TOKENS = "tokens a second of a device"


FIELDS: Final = tuple(
    (per, re.compile(field.replace("NUMBER", _NUMBER)))
    for per, field in (
        # Megatron-LM and Megatron-DeepSpeed; BigScience's in seconds.
        (Per.STEP, r"elapsed time per iteration \((?P<unit>ms|s)\):\s*NUMBER"),
        # NeMo: in its log, and in its bar.
        (Per.STEP, r"train_step_timing in (?P<unit>s)[:=]\s*NUMBER"),
        # Megatron Bridge.
        (Per.STEP, r"Step Time\s*:\s*NUMBER(?P<unit>s)\b"),
        # DeepSpeed's engine of pipelines; its other engine.
        (Per.STEP, r"\biter time \((?P<unit>s)\):\s*NUMBER"),
        (Per.SAMPLES, r"CurrSamplesPerSec=NUMBER"),
        # MaxText.
        (Per.STEP, r"completed step: \d+, (?P<unit>s)econds:\s*NUMBER"),
        # LiBai: not the time for its data.
        (Per.STEP, r"(?<![\w_])time:\s*NUMBER (?P<unit>s)/iter"),
        # LitGPT: one micro-batch, with the optimizer's step or without.
        (Per.PASS, r"\biter time:\s*NUMBER (?P<unit>ms)"),
        # torchtitan.
        (Per.TOKENS, r"\btps:\s*NUMBER"),
        # torchtune.
        (Per.TOKENS, r"tokens_per_second_per_gpu:\s*NUMBER"),
        # Composer, and so LLM Foundry.
        (Per.STEPS, r"throughput/batches_per_sec:\s*NUMBER"),
        (Per.TOKENS, r"throughput/device/tokens_per_sec:\s*NUMBER"),
        # The Trainer of transformers, once at its end.
        (Per.STEPS, r"train_steps_per_second['\"]?\s*[:=]\s*['\"]?NUMBER"),
        (Per.SAMPLES, r"train_samples_per_second['\"]?\s*[:=]\s*['\"]?NUMBER"),
        # Bars of progress (tqdm): Lightning counts micro-batches, transformers steps.
        (Per.PASS, r"NUMBER(?P<unit>s)/it\b"),
        (Per.PASS, r"NUMBER(?P<unit>it)/s\b"),
    )
)
"""Fields that say how long something took, the surest of a line first."""

BARS: Final = ("s/it", "it/s")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepCounts:
    """What a step is made of.

    Attributes:
        samples: of a step.
        tokens: of a sample; 1 where samples have none.
        devices: that the plan uses.
        micro_batches: of a replica in a step.
    """

    samples: float
    tokens: float
    devices: int
    micro_batches: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTime:
    """A figure of a log.

    Attributes:
        per: what it is of.
        value: seconds, or a rate per second.
        counted: whether nobody knows what the log counts: steps, or micro-batches of them.
    """

    per: Per
    value: float
    counted: bool = False

    def seconds(self, step: StepCounts) -> float:
        """Seconds of a step that is made of so much.

        Raises:
            InputError: it counts steps or micro-batches, and a step has several of these.
        """
        if self.counted and step.micro_batches > 1:
            raise InputError(
                f"a bar of progress counts micro-batches with some trainers and steps with others, "
                f"and a step of this plan has {step.micro_batches:g} micro-batches. Give the time "
                'of a step: "2.15 s".'
            )
        if self.per in (Per.STEP, Per.PASS):
            return self.value * (step.micro_batches if self.per is Per.PASS else 1.0)
        made = {
            Per.STEPS: 1.0,
            Per.SAMPLES: step.samples,
            Per.TOKENS: step.samples * step.tokens / step.devices,
        }
        return made[self.per] / self.value


def logged(text: str) -> LoggedTime:
    """What a step took: a time with its unit, or the line of a log that says it.

    Raises:
        InputError: it says no time, or several.
    """
    plain = _COLOUR.sub("", text)
    for per, field in FIELDS:
        found = [*field.finditer(plain)]
        if len(found) > 1:
            raise InputError(
                f"{as_written(text)} tells the time of {len(found)} steps. Give one line, or the "
                'median of some as a time: "2.15 s".'
            )
        if found:
            return figure_of(per, found[0])
    return LoggedTime(per=Per.STEP, value=SECONDS.read(text))


def figure_of(per: Per, found: re.Match[str]) -> LoggedTime:
    """The figure of a field.

    Raises:
        InputError: it is not above 0.
    """
    unit = found.groupdict().get("unit")
    number = found["number"].replace(",", "")
    if not float(number) > 0:
        raise InputError(f"{as_written(found[0])}: must be above 0.")
    value = SECONDS.read(f"{number} {unit}") if unit in ("s", "ms") else float(number)
    if unit == "it":
        value = 1.0 / value
    return LoggedTime(per=per, value=value, counted=found[0].endswith(BARS))
