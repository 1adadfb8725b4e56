"""What a prediction of a measured run needs, leaves out, assumes and knows beside the row."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from foretrain.errors import ForetrainError
from foretrain.measured.run import MeasuredRun
from foretrain.trainers.trainer import ANY, Circumstances, Trainer
from foretrain.trainers.variants import Opened, opened
from foretrain.trainers.vocabulary import HABITS, OPTIONS, Meaning

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


NOTHING_KNOWN: Final = Circumstances()


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
    """Fills blanks and remembers each.

    Attributes:
        trainer: what a run leaves open in its software's options, this says.
        at: what is known of the run.
    """

    def __init__(self, trainer: Trainer = ANY, at: Circumstances = NOTHING_KNOWN) -> None:
        self.trainer, self.at = trainer, at
        self._words: list[str] = []
        self._asked: dict[str, None] = {}

    def fill(self, stated: T | None, default: Default[T]) -> T:
        """What the source states, or the default for a blank."""
        return self.take(default) if stated is None else stated

    def take(self, default: Default[T]) -> T:
        """The default, for what tables have no column for."""
        self.note(default.words)
        return default.value

    def unset(self, option: str) -> Meaning:
        """What an option of the trainer is taken to have been, which the source does not state."""
        meaning = self.of(option)
        self.note(meaning.words)
        return meaning

    def of(self, name: str) -> Meaning:
        """What an option of the trainer is when nobody sets it, or a habit, unnoted."""
        self._asked[name] = None
        feature = self.trainer.option(name) or self.trainer.habit(name)
        line = None if feature is None else feature.at(self.at)
        kind = OPTIONS.get(name) or HABITS[name]
        if line is None:
            return next(iter(kind.values.values()))
        return kind.values[line.value]

    def note(self, words: str) -> None:
        """Remembers an assumption in words, once."""
        if words not in self._words:
            self._words.append(words)

    def note_all(self, every: Iterable[str]) -> None:
        """Remembers several."""
        for words in every:
            self.note(words)

    def opened(self, *, freely: bool = False) -> Opened:
        """Options that were asked for and that the trainer may have had in several values."""
        return opened(self.trainer, tuple(self._asked), self.at, freely=freely)

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
        notes: of their notes.
    """

    says: T_co
    why: str
    framework: str = ""
    source: str = ""
    task: str = ""
    network: str = ""
    notes: str = ""

    def holds(self, run: MeasuredRun) -> bool:
        """Whether a run is one of them."""
        texts = (
            (self.framework, run.framework.lower()),
            (self.source, run.source_id),
            (self.task, run.task),
            (self.network, run.network.name),
            (self.notes, run.notes),
        )
        return all(re.search(pattern, text) for pattern, text in texts if pattern)


class Lore(Generic[T_co]):
    """The answer to one question about a measured run: the first of some entries that holds."""

    def __init__(self, *entries: Belief[T_co], otherwise: T_co) -> None:
        self.entries, self.otherwise = entries, otherwise

    def of(self, run: MeasuredRun) -> T_co:
        """What is known of a run."""
        return next((each.says for each in self.entries if each.holds(run)), self.otherwise)


DATE: Final = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-\d\d)?)?(?!\d)")


def circumstances_of(run: MeasuredRun) -> Circumstances:
    """What is known of a run that entries of trainers may ask for."""
    date = DATE.match(run.date)
    return Circumstances(
        framework=run.framework.lower(),
        publisher=run.source_id,
        task=run.task,
        model=run.network.name,
        family=run.network.family,
        device=run.place.device,
        precision=run.precision,
        dispatch=run.layout.dispatch,
        container=run.stack.container,
        date=date[0] if date else "",
    )


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
