"""Tongues: the dialects in which the options of one run may be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from foretrain.trainers.flags import Flag
from foretrain.trainers.trainer import Trainer


class Tongues:
    """The dialects in which the options of a run may be written, its trainer's own first."""

    def __init__(self, trainer: Trainer, others: Sequence[Trainer] = ()) -> None:
        """The dialects of a trainer and of those whose files stand beside its own.

        Args:
            trainer: who runs.
            others: every trainer of the catalogue.
        """
        self.trainer = trainer
        beside = [_newest(others, family, trainer) for family in trainer.dialect.families]
        self.dialects = [trainer.dialect, *(each.dialect for each in beside if each)]
        self.releases = sorted(
            (it for it in others if it.family == trainer.family and it.name != trainer.name),
            key=lambda it: it.date,
            reverse=True,
        )

    def named(self, name: str) -> str:
        """The name under which an option is known; hyphens and underscores are alike."""
        known = (each for each in _spellings(name) if any(it.knows(each) for it in self.dialects))
        return next(known, name)

    def flag(self, name: str) -> tuple[Flag, int] | None:
        """The flag of a name, and its rank among all."""
        for place, dialect in enumerate(self.dialects):
            if found := dialect.flag(name):
                return found, place * RANKS + dialect.flags.index(found)
        return None

    def other(self, name: str) -> tuple[str, Flag | None] | None:
        """Another release that has an option, and the flag that it is there."""
        for each in _spellings(name):
            for trainer in self.releases:
                if trainer.dialect.knows(each):
                    return trainer.name, trainer.dialect.flag(each)
        return None

    def unread(self, name: str) -> str | None:
        """What an option is about that matters and is not priced."""
        told = (it.about(name) for it in self.dialects)
        return next((each for each in told if each is not None), None)

    def ignored(self, name: str) -> str | None:
        """What an option is about that changes neither time nor memory."""
        told = (it.idle(name) for it in self.dialects)
        return next((each for each in told if each is not None), None)

    def knows(self, name: str) -> bool:
        """Whether an option is known."""
        return any(it.knows(each) for each in _spellings(name) for it in self.dialects)

    def names(self) -> list[str]:
        """Every option that is known."""
        return [
            name
            for it in self.dialects
            for name in (*(flag.name for flag in it.flags), *it.unread, *it.ignored)
        ]


RANKS: Final = 10_000


def _spellings(name: str) -> tuple[str, str, str]:
    return name, name.replace("_", "-"), name.replace("-", "_")


def _newest(trainers: Sequence[Trainer], family: str, beside: Trainer) -> Trainer | None:
    """Of a family, the newest release that was out with another trainer."""
    found = [it for it in trainers if it.family == family and it.dialect]
    out = [it for it in found if it.date <= beside.date] or found[:1]
    return max(out, key=lambda it: it.date, default=None)
