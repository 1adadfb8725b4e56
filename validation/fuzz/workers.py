"""Processes that try mutants, and may die of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

from validation.fuzz.doors import Door, doors
from validation.fuzz.trial import Outcome, limit_memory, tried

WALL: Final = 180.0
"""Seconds without a word after which a process is taken for stuck, on however busy a machine."""

Asked = tuple[str, int]


@dataclass(slots=True)
class _Worker:
    """A process, and what it was asked last."""

    process: BaseProcess
    pipe: Connection
    asked: Asked


def outcomes(asked: Sequence[Asked], *, seed: int, workers: int) -> Iterator[Outcome]:
    """What comes of every mutant, in processes that may die of it."""
    left = list(reversed(asked))
    at_work = [_started(left.pop(), seed) for _ in range(min(workers, len(left)))]
    while at_work:
        ready = wait([each.pipe for each in at_work], WALL)
        for worker in [each for each in at_work if each.pipe in ready or not ready]:
            found = _heard(worker, stuck=not ready)
            yield found
            ended = found.kind == "failed"
            if ended or not left:
                _end(worker)
                at_work.remove(worker)
                at_work += [_started(left.pop(), seed)] if left else []
            else:
                worker.asked = left.pop()
                worker.pipe.send(worker.asked)


def _heard(worker: _Worker, *, stuck: bool) -> Outcome:
    """What a process says of its mutant; a failure where it has died or says nothing."""
    told = f"said nothing for {WALL:.0f} s" if stuck else "the process died"
    with suppress(EOFError, OSError):
        if not stuck:
            found = worker.pipe.recv()
            assert isinstance(found, Outcome)
            return found
    door, number = worker.asked
    return Outcome(door=door, number=number, kind="failed", told=told, seconds=0.0, peak=0)


def _started(asked: Asked, seed: int) -> _Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, seed), daemon=True)
    process.start()
    theirs.close()
    ours.send(asked)
    return _Worker(process=process, pipe=ours, asked=asked)


def _end(worker: _Worker) -> None:
    worker.pipe.close()
    worker.process.join(1.0)
    worker.process.kill()
    worker.process.join()


def _work(pipe: Connection, seed: int) -> None:
    """Try mutants for as long as there is one."""
    from foretrain.study import files

    files.PATIENCE = 0.1
    by_name = {door.name: door for door in doors()}
    with tempfile.TemporaryDirectory() as folder:
        _warm(by_name, Path(folder))
        limit_memory()
        with suppress(EOFError):
            while True:
                name, number = pipe.recv()
                pipe.send(tried(by_name[name], number, seed=seed, folder=Path(folder) / "there"))


def _warm(by_name: dict[str, Door], folder: Path) -> None:
    """Load what most mutants need, which is no matter of theirs."""
    door = by_name["study"]
    path = folder / "sound.toml"
    path.write_text(door.seeds[0].text, "utf-8")
    door.use(path)
