"""Amounts of training: tokens, samples, epochs or steps, and how many samples they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from foretrain.errors import InputError, nearest
from foretrain.study.keys import Reads
from foretrain.study.problems import Problems
from foretrain.units import EPOCHS, SAMPLES, STEPS, TOKENS, Quantity, as_written

AMOUNTS: Final[dict[str, Quantity]] = {
    "tokens": TOKENS,
    "samples": SAMPLES,
    "epochs": EPOCHS,
    "steps": STEPS,
}
EXAMPLES: Final = '"15 T tokens", "1 M samples", "90 epochs" or "2000 steps"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much training: a number of tokens, samples, epochs or steps."""

    number: float
    unit: str


def read_amount(value: object) -> Amount:
    """An amount of training, such as "15 T tokens".

    Raises:
        InputError: if it is not a number above 0 of something that training is counted in.
    """
    if not isinstance(value, str):
        raise InputError(f"{as_written(value)} has no unit. Write for example {EXAMPLES}.")
    text = value.rstrip()
    unit = next((unit for unit in AMOUNTS if text.endswith((unit, unit[:-1]))), None)
    if unit is None:
        word = text.split()[-1] if text.split() else ""
        raise InputError(
            f"{as_written(value)} is not an amount of training.{nearest(word, AMOUNTS)} "
            f"Write for example {EXAMPLES}."
        )
    number = AMOUNTS[unit].read(value)
    if number == 0:
        raise InputError(f"{as_written(value)} is no training; write more, or leave it out.")
    return Amount(number=number, unit=unit)


SomeTraining = Annotated[Amount, Reads(read_amount, {"type": "string", "description": EXAMPLES})]


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many samples one of each unit is.

    Attributes:
        model: its name, for messages.
        step: samples of a step.
        token: samples of a token; None for a model of images.
        epoch: samples of an epoch; None without a data set.
    """

    model: str
    step: float
    token: float | None
    epoch: float | None

    def samples(self, amount: Amount | None, key: str, problems: Problems) -> float | None:
        """The samples of an amount; None without one, or where `problems` says why not.

        Args:
            amount: what was read.
            key: where it stands.
            problems: takes an amount that cannot be counted in samples.
        """
        if amount is None:
            return None
        each = {"samples": 1.0, "steps": self.step, "tokens": self.token, "epochs": self.epoch}
        size = each[amount.unit]
        if size is not None:
            return amount.number * size
        lacking = {
            "tokens": f"{self.model} reads images; write samples, epochs or steps",
            "epochs": "epochs need the size of the data set: write workload.data.samples",
        }
        problems.add(key, f"{lacking[amount.unit]}.")
        return None
