"""Progress of a verb that goes through rows, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def rows_done(total: int) -> AbstractContextManager[Callable[[int], None] | None]:
    """A bar on stderr that is told how many rows are done; nothing where it is no terminal."""
    return _bar(total) if sys.stderr.isatty() else nullcontext()


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    from rich import progress as bars
    from rich.console import Console

    share = bars.TaskProgressColumn("{task.completed:,.0f} of {task.total:,.0f} rows", "")
    columns = (bars.BarColumn(20), share, bars.TimeElapsedColumn())
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=total)
        yield lambda done: bar.update(task, completed=done)
