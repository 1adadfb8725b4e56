"""While an answer is on its way: processes, progress, what is kept of runs, and the first Ctrl-C.

While an answer is on its way: processes, progress, and the first Ctrl-C.

Processes: the same function for many items, on several cores.

Engines: where a verb that asks the same of many items does its work.

Progress of a search on a terminal, and the first Ctrl-C, which asks for what was found.

Progress of a verb that goes through rows, on a terminal.

Progress of a verb that asks several kinds of things one after the other, on a terminal.

Kept runs: results in a folder, so that an interrupted simulation goes on where it was.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Final, TypeVar

from foretrain.errors import ForetrainError, InputError
from foretrain.jobs.case import CaseResult
from foretrain.show.words import SPENT, count, percent, written
from foretrain.study.files import exists, read_bytes, write_text

if TYPE_CHECKING:
    from foretrain.search.result import Progress

    Told = Callable[[Progress], None]
    from pydantic import TypeAdapter

Item = TypeVar("Item")
Answer = TypeVar("Answer")

TURNS = 8
"""Pieces of work for each process, so that all end at about the same time."""


@dataclass(frozen=True, slots=True)
class Processes:
    """An engine that spreads items over processes.

    Attributes:
        pool: of the processes.
        workers: how many there are.
    """

    pool: ProcessPoolExecutor
    workers: int

    def __call__(
        self, function: Callable[[Item], Answer], items: Sequence[Item], /
    ) -> Iterator[Answer]:
        """The function of every item, in their order; neighbours stay together.

        Raises:
            ForetrainError: a process was ended from outside.
        """
        together = max(1, len(items) // (self.workers * TURNS))
        try:
            yield from self.pool.map(function, items, chunksize=together)
        except BrokenProcessPool as error:
            raise ForetrainError(
                "a worker process was ended from outside; the machine may have run out of memory."
                " Ask for fewer with --workers."
            ) from error


@contextmanager
def processes(workers: int) -> Iterator[Processes]:
    """Processes that live as long as the context; they are started afresh on every system.

    Args:
        workers: how many, at least 1.
    """
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            yield Processes(pool, workers)
        finally:
            pool.shutdown(cancel_futures=True)


def engine(workers: int) -> AbstractContextManager[Processes | type[map]]:  # type: ignore[type-arg]
    """An engine of some processes; of this one alone where one is enough.

    Raises:
        InputError: fewer than one is asked for.
    """
    if workers < 1:
        raise InputError(f"workers: is {workers}; give 1 or more.")
    return nullcontext(map) if workers == 1 else processes(workers)


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


MOST_BYTES: Final = 256 * 2**20
"""Of one result; those of a million jobs have 100 MB."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder of results, a file each.

    A result counts only if it is what was written and this very code made it: a changed formula
    must not be mixed with results of the one before.

    Attributes:
        folder: where they lie.
        damaged: files that were not what was written; their runs are done again.
    """

    folder: Path
    damaged: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        try:
            self.folder.mkdir(exist_ok=True)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{self.folder} cannot hold results: {reason}.") from error

    def get(self, key: str) -> CaseResult | None:
        """The result of a key; None if this code has kept none, or it was damaged.

        Raises:
            InputError: it is there and cannot be read.
        """
        path = self._path(key)
        if not exists(path):
            return None
        content = read_bytes(path, most=MOST_BYTES)
        try:
            found = json.loads(content)
            told = found["result"]
            is_whole, is_ours = found["sha256"] == _checksum(told), found["code"] == code()
        except (ValueError, TypeError, KeyError, RecursionError):
            is_whole = is_ours = False
        if not is_whole:
            self.damaged.append(path)
        return _adapter().validate_python(told) if is_whole and is_ours else None

    def put(self, key: str, result: CaseResult) -> None:
        """Keep a result; a reader sees all of it or nothing.

        Raises:
            InputError: it cannot be written.
        """
        told = _adapter().dump_python(result, mode="json")
        kept = {"code": code(), "sha256": _checksum(told), "result": told}
        write_text(self._path(key), json.dumps(kept))

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"


@cache
def code() -> str:
    """The sha256 of all that a result depends on beside its question.

    That is every file of this package, and the versions of NumPy and SciPy.
    """
    told = sha256(f"numpy {version('numpy')} scipy {version('scipy')}".encode())
    package = Path(str(files("foretrain")))
    for path in sorted(package.rglob("*")):
        if path.suffix in {".py", ".toml", ".csv"}:
            told.update(str(path.relative_to(package)).encode())
            told.update(path.read_bytes())
    return told.hexdigest()


def _checksum(told: object) -> str:
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


@cache
def _adapter() -> TypeAdapter[CaseResult]:
    from pydantic import TypeAdapter

    return TypeAdapter(CaseResult)
