"""Tables of published runs, each of which a process reads once for all of its tests."""

from functools import cache
from pathlib import Path

from foretrain.study.measurements import read_runs

TABLES = Path(__file__).parents[1] / "validation" / "tables"


@cache
def published(name):
    """The runs of a table, in its order."""
    return tuple(read_runs(TABLES / f"{name}.csv"))


def by_id(name):
    """The same by what the table calls them."""
    return {run.id: run for run in published(name)}
