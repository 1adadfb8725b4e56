"""Progress of a search on a terminal, and the first Ctrl-C, which asks for what was found."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

Told = Callable[[int], None]


def progress() -> AbstractContextManager[Told | None]:
    """A bar on stderr if that is a terminal; nothing elsewhere."""
    return _bar() if sys.stderr.isatty() else nullcontext()


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C was pressed; a second time ends the program as usual."""
    pressed: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        pressed.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _bar() -> Iterator[Told]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    count = TextColumn("{task.completed:,.0f} plans, Ctrl-C for the best so far")
    columns = (BarColumn(), TimeElapsedColumn(), count)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("plans", total=None)
        yield lambda done: bar.update(task, completed=done)
