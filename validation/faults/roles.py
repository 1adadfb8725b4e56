"""The processes of a run: who shares the stream, and who reads it."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections import deque
from pathlib import Path
from random import Random
from typing import Any

from validation.faults.plan import Part, Plan

from batchcast.attachment import attach
from batchcast.errors import (
    OtherOrder,
    ProducerLost,
    StreamError,
    StreamNotFound,
    StreamOver,
    StreamTaken,
)
from batchcast.reader import Reader
from batchcast.stream import Stream, share

WIDTH = 16
"""Numbers of a sample, all of which are its id."""

LOOKED_AT = 20
"""Batches that a reader keeps and looks at again with every new one; with the last, at all."""

PATIENCE = 30.0
"""Seconds for which a stream that died is waited for."""


class Numbers:
    """A data set whose samples tell which they are."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> tuple[Any, int]:
        import torch

        return torch.full((WIDTH,), float(index)), index


def log(path: Path, **facts: object) -> None:
    """Append one line, in one write, so that a process that dies wrote all of it or nothing."""
    line = json.dumps({"at": time.monotonic(), **facts}) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def read(path: Path) -> list[dict[str, Any]]:
    """What was logged."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def events_of(path: Path) -> Path:
    """Where a process logs what happened to it; its samples are beside."""
    return path.with_suffix(".events")


def own(plan: Plan, folder: Path, *, readers: int) -> None:
    """Share the stream, and again whenever its conductor died, until told to stop."""
    told = folder / "owner"
    while not (folder / "stop").exists():
        with _shared(plan, readers) as stream:
            log(events_of(told), event="shares", conductor=stream.pid)
            try:
                while not (folder / "stop").exists():
                    stream.stats()
                    time.sleep(0.02)
            except ProducerLost:
                log(events_of(told), event="lost")
                return  # the run starts another owner, which knows how many readers are left


def _shared(plan: Plan, readers: int) -> Stream:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return share(
                _source(plan),
                name=plan.name,
                workers=max(1, plan.workers),
                seed=None if plan.drawn else plan.seed,
                epochs=plan.epochs,
                readers=readers,
                memory=40_960 + plan.slots * (WIDTH * 4 + 24),
            )
        except StreamTaken:  # the one before it is paused, or dying
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


def _source(plan: Plan) -> object:
    from torch.utils.data import DataLoader

    data: Any = Numbers(plan.samples)
    if not plan.fed:
        return data
    return DataLoader(data, batch_size=plan.loader_batch, shuffle=True, num_workers=plan.workers)


def take_part(plan: Plan, part: Part, path: Path) -> None:
    """Read every epoch from where the log ends; each batch is logged with the place after it."""
    random = Random(plan.seed ^ os.getpid())
    if plan.drawn:
        _seed(plan.seed)
    while True:
        try:
            with _attached(plan, part, path) as loader:
                _train(loader, plan, part, path=path, random=random)
                dropped = loader.stats()["dropped"]
            log(events_of(path), event="done", dropped=dropped)
            return
        except StreamOver:
            log(events_of(path), event="done")
            return
        except (ProducerLost, StreamNotFound):
            log(events_of(path), event="lost")
        except StreamError as error:
            log(events_of(path), event="refused", error=f"{type(error).__name__}: {error}")
            return


def _seed(seed: int) -> None:
    """As a script does at its beginning; one that was killed and comes again draws otherwise."""
    import torch

    torch.manual_seed(seed)
    warnings.simplefilter("ignore", OtherOrder)


def _attached(plan: Plan, part: Part, path: Path) -> Reader:
    lines = read(path)
    return attach(
        plan.name,
        batch_size=part.batch,
        model=path.name,
        policy=part.policy,
        start=part.start,
        lend=part.keeps > 0,
        state=lines[-1]["state"] if lines else None,
        patience=PATIENCE,
        reconnect=PATIENCE if part.reconnects else 0.0,
    )


def _train(loader: Reader, plan: Plan, part: Part, *, path: Path, random: Random) -> None:
    """Every epoch that is left; samples that change while they are kept are an error."""
    kept: deque[tuple[Any, list[int]]] = deque()
    while loader.epoch < plan.epochs:
        for numbers, labels in loader:
            ids = labels.tolist()
            log(path, ids=ids, epoch=loader.epoch, state=loader.state_dict())
            kept.append((numbers, ids))
            time.sleep(random.uniform(0, 2 * part.pause))
            _check(random.sample(list(kept), min(len(kept), LOOKED_AT)))
            while len(kept) > part.keeps:
                kept.popleft()
        _check(list(kept))


def _check(kept: list[tuple[Any, list[int]]]) -> None:
    assert all((x[:, 0].int().tolist() == y) and (x == x[:, :1]).all() for x, y in kept)
