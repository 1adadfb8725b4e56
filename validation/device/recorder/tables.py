"""CSV files that grow row by row, so that nothing is lost when a recording ends early."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path


class TableFile:
    """One table of a recording.

    Attributes:
        path: of the CSV file.
        columns: in their order.
    """

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, tuple(columns)

    def ids(self) -> set[str]:
        """The rows that an earlier recording wrote.

        Raises:
            SystemExit: if its columns are others, so that new rows would not fit.
        """
        if not self.path.exists():
            return set()
        with self.path.open(newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            if tuple(reader.fieldnames or ()) != self.columns:
                raise SystemExit(f"{self.path}: has other columns. Give another folder with --out.")
            return {row["id"] for row in reader}

    def append(self, row: Mapping[str, object]) -> None:
        """Writes one row at once; blanks are what is not known."""
        new = not self.path.exists()
        with self.path.open("a", newline="", encoding="utf-8") as lines:
            writer = csv.DictWriter(lines, self.columns, lineterminator="\n")
            if new:
                writer.writeheader()
            cells = {name: row.get(name, "") for name in self.columns}
            writer.writerow({name: "" if cell is None else cell for name, cell in cells.items()})
