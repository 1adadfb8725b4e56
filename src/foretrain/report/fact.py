"""Facts and pieces: what a screen shows line by line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A label and what is known under it; `text` first, `more` behind it in a lighter voice."""

    label: str
    text: str
    more: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One piece of a whole: `share` is a fraction of it."""

    name: str
    amount: float
    share: float
