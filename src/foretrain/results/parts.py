"""Parts: seconds that add up to a whole."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def added_up(parts: DataclassInstance) -> float:
    """All fields in their order, so that the sum has the same bits wherever it is made."""
    seconds = 0.0
    for field in fields(parts):
        seconds += getattr(parts, field.name)
    return seconds
