"""What `catalogue` answers: what foretrain knows by name, and from whom it knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number of an entry.

    Attributes:
        key: where it stands in the description.
        value: as written, with its unit.
        source: who says so.
        confidence: high, medium or low.
        date: when it was so, for what changes (prices); None for what does not.
    """

    key: str
    value: str | int | float | bool
    source: str
    confidence: str
    date: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueEntry:
    """One thing that studies may name.

    Attributes:
        name: catalogue name.
        kind: device, cluster, trainer or model.
        family: what it stands among, such as "NVIDIA Hopper".
        summary: one line for people.
        words: what is said of it in words, such as its device and the names of its levels, by key.
        figures: every number with its source.
    """

    name: str
    kind: str
    family: str
    summary: str
    words: Mapping[str, str]
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueResult:
    """Everything, all of one kind, or the one entry that was asked for."""

    entries: tuple[CatalogueEntry, ...]
