"""The tables of published measurements: those of one kind from both folders, read together."""

from __future__ import annotations

from pathlib import Path

from foretrain.measured.run import MeasuredRun
from foretrain.study.measurements import read_runs

TABLES = Path(__file__).parents[1] / "tables"
FOLDERS = (TABLES, TABLES / "more")


def runs_of(kind: str) -> tuple[MeasuredRun, ...]:
    """Every run of a kind of table, in the order of the folders.

    Args:
        kind: name of the tables' files, without the ending.
    """
    paths = (folder / f"{kind}.csv" for folder in FOLDERS)
    return tuple(run for path in paths if path.is_file() for run in read_runs(path))
