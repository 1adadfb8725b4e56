"""A trainer's words: options that say what a plan is, and lines that tell what a step took.

Writing: the options of a trainer that say what a plan is.

What is written is read again: a key that does not come back as it was is one that the trainer
cannot be told.

Log lines: what a step took, as a trainer prints it: a time, or a rate of steps, samples, tokens.

Sources: the lines that trainers print, by release: megatron-lm, nemo, megatron-bridge, deepspeed,
maxtext, torchtitan, transformers, llm-foundry, torchtune, litgpt, oneflow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from foretrain.errors import InputError
from foretrain.launch.derived import DERIVED
from foretrain.launch.option import FilePlace, Option, Tongues, Why
from foretrain.launch.reading import read
from foretrain.trainers.flags import TRUE, Fact, Facts, Flag, Form, fact
from foretrain.units import SECONDS, as_written

HERE: Final = FilePlace(file="")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenOption:
    """An option as it is written.

    Attributes:
        name: of the option.
        value: true where it stands alone.
        form: of the file in which it stands.
        key: what it says.
        listed: whether its value is a list of words.
    """

    name: str
    value: Fact
    form: Form
    key: str
    listed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """The options of a plan.

    Attributes:
        options: in the order of the entry.
        lost: keys that do not come back, with what is read instead; None where nothing is.
    """

    options: tuple[WrittenOption, ...]
    lost: dict[str, tuple[Fact, Fact | None]]


def write(facts: Facts, tongues: Tongues, unheard: frozenset[str] = frozenset()) -> Wrote:
    """The options that say some facts.

    Args:
        facts: by key.
        tongues: the dialects of the trainer that is told.
        unheard: keys that change nothing here, so that it does not matter what is read of them.
    """
    known = {**facts}
    told = [flag.keys() for dialect in tongues.dialects for flag in dialect.flags]
    spoken = {key for keys in told for key in keys}
    for derived in DERIVED:
        if derived.key not in spoken or derived.key in known:
            continue
        if (value := derived.of(known)) is not None:
            known[derived.key] = value
    found: dict[str, WrittenOption] = {}
    for dialect in tongues.dialects:
        said: set[str] = set()
        for flag in dialect.flags:
            if not flag.only_read:
                _write(flag, known, said=said, found=found)
    given = [_option(key, value) for key, value in facts.items() if key.startswith("cluster.")]
    again = read((_option(it.name, it.value) for it in found.values()), tongues, given=given)
    against = {
        it.taken.partition(" = ")[0] for it in again.not_understood if it.kind is Why.CONFLICT
    }
    back = {key: value for key, value in again.facts.items() if key not in against}
    lost = {
        key: (value, back.get(key))
        for key, value in facts.items()
        if not key.startswith("cluster.") and key not in unheard and back.get(key) != value
    }
    return Wrote(options=tuple(found.values()), lost=lost)


def _option(name: str, value: Fact) -> Option:
    return Option(name=name, value=value, place=HERE)


def _write(flag: Flag, facts: Facts, *, said: set[str], found: dict[str, WrittenOption]) -> None:
    """Write a flag where it says what is so, and nothing above it said it."""
    chosen = _chosen(flag, facts)
    if chosen is None:
        return
    value, keys = chosen
    if keys and keys <= said and not flag.always:
        return
    said |= keys
    key = ", ".join(sorted(keys))
    for name, word in (*flag.beside, (flag.name, value)):
        if name == flag.name or name not in found:
            listed = flag.listed and name == flag.name
            found[name] = WrittenOption(
                name=name, value=word, form=flag.place, key=key, listed=listed
            )


def _chosen(flag: Flag, facts: Facts) -> tuple[Fact, set[str]] | None:
    """The word of a flag that says what is so, and the keys of which it says it."""
    for word, sets in flag.words:
        if sets and all(key in facts and facts[key] == value for key, value in sets):
            return (True if word == TRUE else fact(word)), {key for key, _ in sets}
    if flag.key and flag.key in facts:
        value = facts[flag.key]
        if value is False and flag.place is Form.ARGUMENTS:
            return None
        return value, {flag.key}
    return None


def in_form(options: tuple[WrittenOption, ...], form: Form) -> Iterator[WrittenOption]:
    """The options that stand in a file of one form."""
    return (each for each in options if each.form is form)


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
