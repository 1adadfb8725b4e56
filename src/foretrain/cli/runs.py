"""Progress of a verb that asks several kinds of things one after the other, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

Told = Callable[[str, int, int], None]
"""What is done, how much of it, of how much."""


def runs_done() -> AbstractContextManager[Told | None]:
    """A bar on stderr for each kind of thing; nothing where it is no terminal."""
    return _bars() if sys.stderr.isatty() else nullcontext()


@contextmanager
def _bars() -> Iterator[Told]:
    from rich import progress as bars
    from rich.console import Console

    told = bars.TaskProgressColumn("{task.completed:,.0f} of {task.total:,.0f}", "")
    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(20),
        told,
        bars.TimeElapsedColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        tasks: dict[str, bars.TaskID] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = shown.add_task(what, total=total)
            shown.update(tasks[what], completed=done)

        yield tell
