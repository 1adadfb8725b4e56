"""One member: a process that trains a model on what a loader gives it, and tells how it goes."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import Connection
from time import monotonic

from foretrain.errors import ForetrainError
from foretrain.measured.ensemble_study import Recipe
from foretrain.results.ensemble_run import State
from foretrain.run.members.checkpoint import RunFolder
from foretrain.run.members.home import Loaded
from foretrain.run.members.inputs import Loader, opens
from foretrain.run.members.tally import Tally
from foretrain.run.members.trainee import Trainee, size_of, trainee


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a member's process does.

    Attributes:
        recipe: how it trains.
        reads: name of the stream that it reads; nothing where it prepares its samples itself.
        samples: of an epoch; None where only its end tells.
        ends: the epoch before which it ends, in this part of the run.
        threads: of its own for computing.
        folder: where its state is kept.
        every: seconds between two states within an epoch; inf to keep only what the next part of
            the run needs.
    """

    recipe: Recipe
    reads: str | None
    samples: int | None
    ends: int
    threads: int
    folder: RunFolder
    every: float


def live(job: Job, loaded: Loaded, descriptors: Sequence[int]) -> None:
    """The whole life of a member's process; whatever goes wrong ends as a report."""
    stop = _asked_to_stop()
    pipe = Connection(descriptors[0], readable=False)
    tally = Tally(pipe)
    try:
        _train(job, loaded, tally=tally, stop=stop)
    except ForetrainError as error:
        tally.tell(State.FAILED, reason=str(error))
    except Exception as error:
        where = traceback.format_tb(error.__traceback__)[-1].strip()
        tally.tell(State.FAILED, reason=f"{type(error).__name__}: {error}\n{where}")
    finally:
        pipe.close()


def _asked_to_stop() -> Callable[[], bool]:
    """Whether SIGTERM has come, which is sent too when whoever runs the ensemble dies."""
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: asked.append(number))
    return lambda: bool(asked)


def _train(job: Job, loaded: Loaded, *, tally: Tally, stop: Callable[[], bool]) -> None:
    import torch

    torch.set_num_threads(job.threads)
    state = job.folder.load(job.recipe.name)
    place = state["loader"] if state else None
    with opens(loaded, job.recipe, place, reads=job.reads) as loader:
        tally.attach(loader.stats)
        trained = trainee(job.recipe, loaded.study.folder, seed=loaded.study.seed)
        if state is not None:
            trained.load_state_dict(state["trainee"])
            tally.load_state_dict(state["tally"])
        tally.begin()
        while tally.epoch < job.ends and not stop():
            _epoch(job, trained, loader, tally=tally, stop=stop)
        tally.tell(State.DONE if tally.epoch >= job.ends else State.STOPPED)


def _epoch(
    job: Job, trained: Trainee, loader: Loader, *, tally: Tally, stop: Callable[[], bool]
) -> None:
    """Train until the epoch ends, or somebody asks to stop before."""
    kept = monotonic()
    for batch in loader:
        tally.add(trained.step(batch), size_of(batch))
        if loader.position == job.samples:
            continue  # the epoch is over, which the end of the loop will keep
        ends = stop()  # asked once: who is asked to stop meanwhile keeps its state too
        if job.every < inf and (ends or monotonic() - kept > job.every):
            _keep(job, trained, loader, tally=tally)
            kept = monotonic()
        if ends:
            return
    tally.end_epoch()
    if job.every < inf or tally.epoch == job.ends < job.recipe.epochs:
        _keep(job, trained, loader, tally=tally)


def _keep(job: Job, trained: Trainee, loader: Loader, *, tally: Tally) -> None:
    state = {"trainee": trained.state_dict(), "loader": loader.state_dict()}
    job.folder.save(job.recipe.name, {**state, "tally": tally.state_dict()})
