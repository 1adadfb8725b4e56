"""Progress of a search on a terminal, and the first Ctrl-C, which asks for what was found."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from foretrain.results.search import Progress

    Told = Callable[[Progress], None]

TOGETHER = 0.5
"""Seconds within which interrupts are one: who starts a program may pass on what it has had."""


def progress(stop: Callable[[], bool]) -> AbstractContextManager[Told | None]:
    """A bar on stderr if that is a terminal; nothing elsewhere.

    Args:
        stop: whether the answer is wanted at once, which the bar then says.
    """
    return _bar(stop) if sys.stderr.isatty() else nullcontext()


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
def _bar(stop: Callable[[], bool]) -> Iterator[Told]:
    from rich import progress as bars
    from rich.console import Console, Group
    from rich.live import Live
    from rich.table import Table
    from rich.text import Text

    from foretrain.cli.legible import Legible
    from foretrain.report.progress import progress_text

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
