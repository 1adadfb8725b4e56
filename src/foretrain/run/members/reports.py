"""Reports: what a member tells the process that started it, as lines of JSON through a pipe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection

from foretrain.results.ensemble_run import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Where a member is; counts are since its process began.

    Attributes:
        state: what it does.
        attached: whether it has a loader.
        epoch: which it is in; after its last, how many it has done.
        samples: that it trained on.
        seconds: since its first batch was asked for.
        waited: seconds of these without a batch.
        lag: samples that it is behind the one that is furthest.
        loss: mean since the last report; None without a step since.
        epoch_loss: mean over the epoch that it is in or has just ended; None without a step.
        cpu: seconds of processor time since then.
        dropped: samples that it did not get because it was too slow.
        skipped: samples that could not be read.
        reason: why it failed.
    """

    state: State = State.WAITING
    attached: bool = False
    epoch: int = 0
    samples: int = 0
    seconds: float = 0.0
    waited: float = 0.0
    lag: int = 0
    loss: float | None = None
    epoch_loss: float | None = None
    cpu: float = 0.0
    dropped: int = 0
    skipped: int = 0
    reason: str = ""

    @property
    def final(self) -> bool:
        """Whether nothing follows it."""
        return self.state in {State.DONE, State.STOPPED, State.FAILED}


def send(pipe: Connection, report: Report) -> None:
    """Send one report."""
    pipe.send_bytes(json.dumps(asdict(report)).encode())


def received(pipe: Connection) -> Iterator[Report]:
    """The reports that have arrived; the end of the pipe raises EOFError."""
    while pipe.poll():
        told = json.loads(pipe.recv_bytes())
        yield Report(**{**told, "state": State(told["state"])})


def added(before: Report | None, now: Report) -> Report:
    """What a member did in an earlier part of the run and in this one."""
    if before is None:
        return now
    return replace(
        now,
        samples=before.samples + now.samples,
        seconds=before.seconds + now.seconds,
        waited=before.waited + now.waited,
        cpu=before.cpu + now.cpu,
        dropped=before.dropped + now.dropped,
        skipped=before.skipped + now.skipped,
    )
