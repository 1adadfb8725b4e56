"""Sizes as people write them."""

from __future__ import annotations

import re

from batchcast.errors import ArgumentError

UNITS = {
    unit + "B": 1024**power if unit.endswith("i") else 1000**power
    for power, units in enumerate((("",), ("k", "Ki"), ("M", "Mi"), ("G", "Gi"), ("T", "Ti")))
    for unit in units
}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def byte_count(size: str | int) -> int:
    """Bytes of a size such as "128 MiB"; a number is bytes.

    Raises:
        ArgumentError: it is no size.
    """
    if isinstance(size, int):
        return size
    found = SIZE.fullmatch(size)
    if found is None or found[2] not in UNITS:
        raise ArgumentError(
            f'{size!r:.60} is not a size. Write it with a unit, such as "80 GB" or "80 GiB".'
            f" Known: {', '.join(UNITS)}."
        )
    return int(float(found[1]) * UNITS[found[2]])
