"""What a stream counts of its arena."""

from __future__ import annotations

from batchcast.arena import Columns, arena_bytes
from batchcast.service import Service


def counts(service: Service | None, columns: Columns | None) -> dict[str, object]:
    """Slots, bytes and samples; zeros for a stream that has not begun."""
    slots = columns.slots if columns else 0
    return {
        "slots": slots,
        "arena_bytes": arena_bytes(columns.layout, slots) if columns else 0,
        "fill": 1 - service.slots.free / slots if service else 0.0,
        "published": service.window.published if service else 0,
        "head": service.window.head if service else 0,
        "failed": len(service.failed) if service else 0,
    }
