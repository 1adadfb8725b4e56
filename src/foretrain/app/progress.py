"""Progress of a search on a terminal, and the first Ctrl-C, which asks for what was found.

Progress of a verb that goes through rows, on a terminal.

Progress of a verb that asks several kinds of things one after the other, on a terminal.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

from foretrain.show.words import SPENT, count, percent, written

if TYPE_CHECKING:
    from foretrain.search.result import Progress

    Told = Callable[[Progress], None]


TOGETHER = 0.5
"""Seconds within which interrupts are one: who starts a program may pass on what it has had."""


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed; a second time ends the program as usual."""
    pressed: list[float] = []

    def note(_number: int, _frame: FrameType | None) -> None:
        pressed.append(monotonic())
        if pressed[-1] - pressed[0] > TOGETHER:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def progress(stop: Callable[[], bool]) -> Iterator[Told | None]:
    """A bar on stderr if that is a terminal; nothing elsewhere.

    Args:
        stop: whether the answer is wanted at once, which the bar then says.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as bars
    from rich.console import Console, Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    from foretrain.app.output import Legible

    share = bars.TaskProgressColumn("{task.percentage:.0f} %", "")
    bar = bars.Progress(bars.BarColumn(20), share, bars.TimeElapsedColumn())
    task = bar.add_task("plans", total=None)
    best = Text(no_wrap=True, overflow="ellipsis")

    def tell(now: Progress) -> None:
        bar.update(task, completed=now.settled, total=now.space)
        best.plain = progress_text(now)

    def drawn() -> Legible:
        hint = "stopping; again to end without an answer" if stop() else "for the best so far"
        line = Table.grid(padding=(0, 1))
        line.add_row(bar, Text(f"Ctrl-C: {hint}", style="dim"))
        return Legible(Group(line, best))

    with Live(get_renderable=drawn, console=Console(stderr=True), transient=True):
        yield tell


def progress_text(now: Progress) -> str:
    """The best so far, how much better another plan may be, and the plan, most telling first."""
    if now.best is None or now.plan is None:
        return f"{count(now.settled, 'plan')}, none that fits yet"
    better = ""
    if now.gap is not None:
        better = f", at most {percent(now.gap)} better exists"
        better = better if now.gap else ", nothing better exists"
    return f"best so far {written(SPENT[now.objective], now.best)}{better}: {now.plan}"


@contextmanager
def rows_done(total: int) -> Iterator[Callable[[int], None] | None]:
    """A bar on stderr that is told how many rows are done; nothing where it is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as bars
    from rich.console import Console

    share = bars.TaskProgressColumn("{task.completed:,.0f} of {task.total:,.0f} rows", "")
    columns = (bars.BarColumn(20), share, bars.TimeElapsedColumn())
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=total)
        yield lambda done: bar.update(task, completed=done)


Counted = Callable[[str, int, int], None]
"""What is done, how much of it, of how much."""


@contextmanager
def runs_done() -> Iterator[Counted | None]:
    """A bar on stderr for each kind of thing; nothing where it is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
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
