"""Adds to our copies of the tables what only their words tell.

    python -m validation.columns

Every column follows by a rule of `column_rules.py` from what the source says, so that the script
may run again at any time; a test sees that the files agree with it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from validation.parts.column_rules import COLUMNS, SAME, Row, repeats

TABLES = Path(__file__).parent / "tables"


def main() -> None:
    """Rewrites every table that has such columns."""
    for table in COLUMNS:
        path = TABLES / f"{table}.csv"
        path.write_text(with_columns(table, path.read_text()))
        print(path.name)


def with_columns(table: str, text: str) -> str:
    """A table's text with its columns behind those of the source."""
    rows = list(csv.DictReader(io.StringIO(text)))
    ours = added(table, rows)
    file = io.StringIO()
    names = [name for name in rows[0] if name not in ours[0]]
    writer = csv.DictWriter(file, [*names, *ours[0]], lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, **cells} for row, cells in zip(rows, ours, strict=True))
    return file.getvalue()


def added(table: str, rows: Sequence[Row]) -> list[dict[str, str]]:
    """The cells that are added to each row."""
    cells = [{name: rule(row) for name, rule in COLUMNS[table].items()} for row in rows]
    if table not in SAME:
        return cells
    groups = repeats(table, rows, cells)
    return [{**its, "repeat": group} for its, group in zip(cells, groups, strict=True)]


if __name__ == "__main__":
    main()
