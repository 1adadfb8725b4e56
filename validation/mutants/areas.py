"""Where mistakes are made: areas of the source, named so that they survive a move.

An area is the name of a folder, or a few names, wherever in the tree they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).parents[2] / "src"

AREAS: Final[Mapping[str, frozenset[str]]] = {
    "step": frozenset({"step"}),
    "strategies": frozenset({"strategies"}),
    "collectives": frozenset({"collectives"}),
    "simulation": frozenset({"simulation", "schedules"}),
    "jobs": frozenset({"jobs"}),
    "plan": frozenset({"plan"}),
    "search": frozenset({"search"}),
    "evidence": frozenset({"evidence"}),
    "trace readers": frozenset({"traces"}),
    "run": frozenset({"batchcast", "run", "nodes"}),
}


def files_of(area: str) -> list[Path]:
    """Files of an area; those in a folder of another area within it are the other's.

    Raises:
        LookupError: nothing of that name is left; the area has another one now.
    """
    found = [
        file for file in sorted(SOURCE.rglob("*.py")) if _area(file.relative_to(SOURCE)) == area
    ]
    if not found:
        raise LookupError(f"no folder of the area {area} is left: mend AREAS")
    return found


def _area(file: Path) -> str | None:
    """The area of the innermost folder that has one."""
    named = [
        area for folder in reversed(file.parts[:-1]) for area in AREAS if folder in AREAS[area]
    ]
    return named[0] if named else None
