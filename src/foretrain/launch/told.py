"""What is told of options: those that were understood, were not, or change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Why(StrEnum):
    """Why an option is not understood, or not taken as it is written."""

    VARIABLE = "variable"
    UNKNOWN = "unknown"
    VALUE = "value"
    UNPRICED = "unpriced"
    OTHER_RELEASE = "other-release"
    CONFLICT = "conflict"
    FOLLOWS = "follows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """An option that was understood.

    Attributes:
        place: where it stands; empty where nobody writes it and the trainer's own value holds.
        option: its name.
        value: what is written.
        key: what of a study it says.
        taken: for what it was taken.
    """

    place: str
    option: str
    value: str
    key: str
    taken: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotUnderstood:
    """An option that may change time or memory, and was not taken as it is written.

    Attributes:
        place: where it stands.
        option: its name.
        value: what is written.
        kind: why.
        subject: what it is about: a variable, values that are known, another option, a release.
        taken: for what it was taken; empty where it was left out.
    """

    place: str
    option: str
    value: str
    kind: Why
    subject: str
    taken: str = ""

    def __str__(self) -> str:
        """The sentence."""
        sentence = SENTENCES[self.kind].format(subject=self.subject, value=self.value)
        taken = f" It is taken for {self.taken}." if self.taken else " It is left out."
        return f"{sentence}{taken}"


SENTENCES: Final[Mapping[Why, str]] = {
    Why.VARIABLE: "Nobody sets {subject}.",
    Why.UNKNOWN: "No option of this trainer that is known here.{subject}",
    Why.VALUE: "{value} is no value that is known here; known: {subject}.",
    Why.UNPRICED: "It sets {subject}, which may matter and is not priced.",
    Why.OTHER_RELEASE: "It is an option of {subject}.",
    Why.CONFLICT: "It contradicts {subject}.",
    Why.FOLLOWS: "Nothing follows from it without {subject}.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    """Options that change neither time nor memory.

    Attributes:
        about: what they are about.
        options: their names.
    """

    about: str
    options: tuple[str, ...]
