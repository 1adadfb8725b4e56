"""Reads validation/published.toml: what papers have published, and what checks it."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = ROOT / "validation" / "published.toml"


@dataclass(frozen=True, kw_only=True)
class Published:
    """One number, or a table of numbers, of one paper."""

    id: str
    paper: str
    tag: str
    what: str
    where: str
    unit: str = ""
    value: float | None = None
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[float | str, ...], ...] = ()
    checked_by: tuple[str, ...] = ()
    not_checked: str = ""

    def __getitem__(self, column):
        """The values of a column; its only value where there is one row."""
        values = [row[self.columns.index(column)] for row in self.rows]
        return values[0] if len(values) == 1 else values


@cache
def document():
    """The whole file."""
    return tomllib.loads(FILE.read_text("utf-8"))


def _frozen(value):
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


@cache
def numbers():
    """Every number, by id."""
    entries = [
        Published(**{key: _frozen(value) for key, value in entry.items()})
        for entry in document()["number"]
    ]
    assert len({entry.id for entry in entries}) == len(entries)
    return {entry.id: entry for entry in entries}
