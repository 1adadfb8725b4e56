"""Prices: they age, and an old one misleads."""

from __future__ import annotations

from datetime import date
from typing import Final

MOST_DAYS: Final = 180
"""Days after which a price should be looked up again: providers change theirs now and then."""


def days_old(since: date, today: date) -> int | None:
    """Age of a price in days where it is more than MOST_DAYS; None for a younger one."""
    age = (today - since).days
    return age if age > MOST_DAYS else None
