"""What a reader and a stream tell each other first, checked before any of it is used."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import prod
from typing import Any, Final

from batchcast.arena import MOST, Columns
from batchcast.errors import StreamGarbled
from batchcast.layout import Layout, Leaf
from batchcast.messages import LARGEST, Message
from batchcast.settings import Settings
from batchcast.subscription import POLICIES, STARTS

_LARGEST_FIELD: Final = 1 << 47
"""Bytes: what a process can address."""

LONGEST_MODEL: Final = 1024
"""Characters of a reader's name."""

OF_SAMPLES: Final = (None, "batch_size", "private", "collate", "drop_last")
"""Arguments of a reader that say what is done with single samples, besides none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """What a reader asks for.

    Attributes:
        version: of the protocol that it speaks.
        model: its name.
        batch: samples that it takes at a time; nothing for as many as the loader gives.
        of_samples: the argument that says what is done with single samples; nothing without one.
        policy: one of `POLICIES`.
        start: one of `STARTS`.
        spill: bytes on disk, for the policy of that name.
        about: what its saved state is about; nothing without one.
        place: epoch and position of its saved state; nothing without one.
        looks: epochs before that of which it only looked at the first batch.
    """

    version: int
    model: str
    batch: int | None
    of_samples: str | None
    policy: str
    start: str
    spill: int
    about: dict[str, object] | None
    place: tuple[int, int] | None
    looks: int = 0

    def __post_init__(self) -> None:
        whole("version", self.version)
        whole("looks", self.looks)
        whole("batch", 1 if self.batch is None else self.batch, least=1)
        whole("spill", self.spill)
        if len(self.model) > LONGEST_MODEL:
            raise StreamGarbled(f"A reader's name is a text of up to {LONGEST_MODEL} characters.")
        if self.of_samples not in OF_SAMPLES:
            raise StreamGarbled("A reader has arguments that this version knows.")
        if self.policy not in POLICIES or self.start not in STARTS:
            raise StreamGarbled("A reader has a policy and a start that this version knows.")
        for each in self.place or ():
            whole("place", each)

    @classmethod
    def of(cls, message: Message) -> Hello:
        """The greeting that travelled.

        Raises:
            StreamGarbled: it is none.
        """
        told = message.json()
        place = told.get("place")
        if place is not None and not (isinstance(place, list) and len(place) == 2):
            raise StreamGarbled("A place in a stream is an epoch and a position.")
        if not isinstance(told.get("model"), str):
            raise StreamGarbled("A reader's name is a text.")
        _check_facts(told.get("about") or {})
        hello: Hello = _made(cls, {**told, "place": None if place is None else tuple(place)})
        return hello

    def as_json(self) -> dict[str, object]:
        """The greeting as it travels."""
        return asdict(self)


LOOPS = 3
"""Moments of loops at which something is drawn."""

MOST_DRAWS = 1 << 32
"""Numbers that one may draw at most."""


OF_SETTINGS = ("epochs", "seed", "batch", "batches", "pinned", "draws", "waits", "told")
"""What whoever begins must know of what a stream was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """What a reader, a worker or a feeder is told when it may begin.

    Attributes:
        layout: of a sample.
        slots: of the arena.
        samples: of an epoch; nothing where only its end tells.
        epochs: of every reader; nothing for as many as they like.
        seed: that all draws come from.
        batch: samples of a batch of the loader that is shared, where it was told.
        batches: of an epoch, where the loader tells.
        pinned: whether the loader pinned its batches.
        draws: numbers that a private loader draws when its first loop begins, each later one, and
            each with its first batch.
        waits: whether a loader draws its order not before its first batch is asked for.
        noisy: whether samples draw where a script does, as the loader reads them itself.
        follows: whether orders hang on what readers draw, who tell when they begin an epoch.
        told: what the attributes of a loader tell.
        epoch: where to begin.
        position: in that epoch.
        about: what a saved state of this stream is about.
    """

    layout: Layout
    slots: int
    samples: int | None
    epochs: int | None
    seed: int
    batch: int | None
    batches: int | None
    pinned: bool
    draws: tuple[int, int, int]
    waits: bool
    noisy: bool
    follows: bool
    told: Mapping[str, int]
    epoch: int
    position: int
    about: Mapping[str, object]

    def __post_init__(self) -> None:
        whole("slots", self.slots, least=1, most=MOST)
        whole("epoch", self.epoch)
        whole("position", self.position)
        whole("seed", self.seed, least=-LARGEST)
        if len(self.draws) != LOOPS:
            raise StreamGarbled(
                "Draws are told of the first loop, of the later ones and of the first batch."
            )
        if not all(isinstance(each, bool) for each in (self.follows, self.waits, self.noisy)):
            raise StreamGarbled("Whether and when orders hang on readers is true or false.")
        for value in self.draws:
            whole("draws", value, most=MOST_DRAWS)
        for name, value in self.told.items():
            whole(name, value)
        for name in ("samples", "epochs", "batch", "batches"):
            value = getattr(self, name)
            if value is not None:
                whole(name, value)

    @classmethod
    def of(cls, message: Message) -> Welcome:
        """The greeting that travelled.

        Raises:
            StreamGarbled: it is none.
        """
        told: dict[str, Any] = message.json()
        _check_facts(told.get("about"))
        _check_facts(told.get("told"))
        if not isinstance(draws := told.get("draws"), list):
            raise StreamGarbled("Draws are a list.")
        layout = layout_from(told.get("layout"))
        welcome: Welcome = _made(cls, {**told, "layout": layout, "draws": tuple(draws)})
        return welcome

    @classmethod
    def by(cls, settings: Settings, **known: Any) -> Welcome:
        """The greeting of a stream.

        Args:
            settings: of the stream.
            known: what else it tells.
        """
        told = {name: getattr(settings, name) for name in OF_SETTINGS}
        return cls(**told, **known)

    def as_json(self) -> dict[str, object]:
        """The greeting as it travels."""
        return {**asdict(self), "layout": self.layout.as_json()}


def layout_from(told: Any) -> Layout:
    """The layout that travelled, whose sizes can be reckoned with.

    Raises:
        StreamGarbled: it is none.
    """
    try:
        layout = Layout.from_json(told)
        if not all(_is_sound(leaf) for leaf in layout.leaves):
            raise ValueError("a field has no such size")
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise StreamGarbled(f"That is no layout of a sample: {error!r:.80}.") from error
    return layout


def _is_sound(leaf: Leaf) -> bool:
    """Whether a field has whole sizes that a machine can hold, and numbers that are stored."""
    sizes = (leaf.most, *leaf.shape)
    if not all(type(each) is int and 0 <= each <= _LARGEST_FIELD for each in sizes):
        return False
    return leaf.stored.kind in "biufc" and prod(leaf.shape) * leaf.stored.itemsize <= _LARGEST_FIELD


def arena_of(message: Message, welcome: Welcome, *, writable: bool) -> Columns:
    """The arena that came with a greeting.

    Raises:
        StreamGarbled: none came, or it is smaller than the greeting says or could shrink.
    """
    if len(message.descriptors) != 1:
        raise StreamGarbled(f"A welcome brings one arena, got {len(message.descriptors)}.")
    (descriptor,) = message.descriptors
    try:
        return Columns(descriptor, welcome.layout, slots=welcome.slots, writable=writable)
    finally:
        os.close(descriptor)


def whole(name: str, value: object, *, least: int = 0, most: int = LARGEST) -> int:
    """The number, if it is whole and within its bounds.

    Raises:
        StreamGarbled: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise StreamGarbled(
            f"{name} must be a whole number from {least} to {most}, got {str(value)[:40]}."
        )
    return value


def _check_facts(told: object) -> None:
    if not isinstance(told, dict):
        raise StreamGarbled("What a stream or a saved state is about is an object of facts.")


def _made(kind: Any, told: Mapping[str, Any]) -> Any:
    try:
        return kind(**told)
    except TypeError as error:
        raise StreamGarbled(f"A greeting has other fields than this version's: {error}.") from error
