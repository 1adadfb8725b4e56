"""Entries of the library: a name, where the structure is written, and how to build it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from foretrain.workload.graph import Model


class SampleKind(StrEnum):
    """What one sample of a model is, and so which size a study must give."""

    TOKENS = "tokens"
    """Text: `sequence` tokens."""
    IMAGE = "image"
    """A square picture of `image` pixels per side."""
    NOTHING = "nothing"
    """Samples of one size, which the entry states."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A model of the library.

    Attributes:
        name: catalogue name.
        summary: one line for people.
        source: key in references.bib, with the table.
        reads: what a sample is.
        build: the model for samples of so many tokens or pixels (1 where it reads neither); name
            and source of the result are replaced by the entry's.
        shape: the dataclass of sizes that it is built from, which the catalogue shows.
        aliases: other spellings, in lower case with hyphens.
    """

    name: str
    summary: str
    source: str
    reads: SampleKind = SampleKind.TOKENS
    build: Callable[[int], Model]
    shape: object | None = None
    aliases: tuple[str, ...] = ()
