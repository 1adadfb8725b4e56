"""What a prediction of a measured run needs, leaves out, assumes and knows beside the row."""

from __future__ import annotations

import re
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief(Generic[T_co]):
    """What holds of some measured runs.

    Texts are patterns, found anywhere unless they say where; what is not given holds for any run.

    Attributes:
        says: what holds of them.
        why: what speaks for it; never that it fits the measurements.
        framework: of the name of their framework, in lower case.
        source: of the id of their source.
        task: of their task.
        network: of the name of what they train.
        family: of the family of what they train.
        device: of the name of their device.
        precision: of the words for their precision.
        dispatch: of the words for tokens that an expert has no room for.
        notes: of their notes.
        container: the first release of their container.
        since: the first year; runs without a date are not among them.
        before: the year after the last; runs without a date are not among them.
    """

    says: T_co
    why: str
    framework: str = ""
    source: str = ""
    task: str = ""
    network: str = ""
    family: str = ""
    device: str = ""
    precision: str = ""
    dispatch: str = ""
    notes: str = ""
    container: str = ""
    since: int | None = None
    before: int | None = None

    def holds(self, run: MeasuredRun) -> bool:
        """Whether a run is one of them."""
        texts = (
            (self.framework, run.framework.lower()),
            (self.source, run.source_id),
            (self.task, run.task),
            (self.network, run.network.name),
            (self.family, run.network.family),
            (self.device, run.place.device),
            (self.precision, run.precision),
            (self.dispatch, run.layout.dispatch),
            (self.notes, run.notes),
        )
        return (
            all(re.search(pattern, text) for pattern, text in texts if pattern)
            and run.stack.container >= self.container
            and (self.since is None or (run.year is not None and run.year >= self.since))
            and (self.before is None or (run.year is not None and run.year < self.before))
        )


class Lore(Generic[T_co]):
    """The answer to one question about a measured run: the first of some entries that holds."""

    def __init__(self, *entries: Belief[T_co], otherwise: T_co) -> None:
        self.entries, self.otherwise = entries, otherwise

    def of(self, run: MeasuredRun) -> T_co:
        """What is known of a run."""
        return next((each.says for each in self.entries if each.holds(run)), self.otherwise)


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
