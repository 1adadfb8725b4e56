"""Policies of links: which of several transfers gets how much of a link."""

from __future__ import annotations

from enum import StrEnum


class LinkPolicy(StrEnum):
    """Who gets a link on which several transfers are under way."""

    FAIR = "fair"
    """All share it equally, those of a connection too. Source: kleinrock1976, section 4.4."""
    FIFO = "fifo"
    """The one that was asked for first has all of it."""
