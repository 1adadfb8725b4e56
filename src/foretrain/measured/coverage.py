"""What a prediction of a measured run needs, leaves out and assumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from foretrain.errors import ForetrainError
from foretrain.measured.run import MeasuredRun

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class NotCovered(ForetrainError):
    """A run that foretrain does not predict; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Default(Generic[T_co]):
    """What stands for a blank.

    Attributes:
        value: the value.
        words: what was assumed, for the reason of a row.
        why: what speaks for it; never that it fits the measurements.
    """

    value: T_co
    words: str
    why: str


class Assumptions:
    """Fills blanks and remembers each."""

    def __init__(self) -> None:
        self._words: list[str] = []

    def fill(self, stated: T | None, default: Default[T]) -> T:
        """What the source states, or the default for a blank."""
        return self.take(default) if stated is None else stated

    def take(self, default: Default[T]) -> T:
        """The default, for what tables have no column for."""
        self.note(default.words)
        return default.value

    def note(self, words: str) -> None:
        """Remembers an assumption in words, once."""
        if words not in self._words:
            self._words.append(words)

    @property
    def words(self) -> tuple[str, ...]:
        """Every assumption, in the order in which it was made."""
        return tuple(self._words)


def stated(value: T | None, name: str) -> T:
    """A value without which no prediction is possible.

    Raises:
        NotCovered: the source does not state it.
    """
    if value is None:
        raise NotCovered(f"{name} not stated")
    return value


def blanks(run: MeasuredRun) -> tuple[str, ...]:
    """What a prediction of a training cannot do without and the source does not state.

    A row without such blanks names its model and its device, and states the number of devices and
    a batch: of a step, or of one device. Coverage is counted over these rows.
    """
    batch = run.global_batch or run.layout.micro_batch or run.layout.batch_tokens
    needed = {
        "model": run.network.name,
        "device": run.place.device,
        "number of devices": run.place.devices,
        "batch": batch,
    }
    return tuple(name for name, value in needed.items() if not value)
