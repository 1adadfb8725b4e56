"""Reports: what a member tells the process that started it, as lines of JSON through a pipe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection

from foretrain.results.ensemble_run import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Where a member is; counts are since its process began.

    Attributes:
        state: what it does.
        epoch: which it is in; after its last, how many it has done.
        samples: that it trained on.
        seconds: since its first batch was asked for.
        waited: seconds of these without a batch.
        lag: samples that it is behind the one that is furthest.
        loss: mean since the last report; None without a step since.
        epoch_loss: mean over the epoch that it is in or has just ended; None without a step.
        cpu: seconds of processor time.
        dropped: samples that it did not get because it was too slow.
        skipped: samples that could not be read.
        reason: why it failed.
    """

    state: State = State.WAITING
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
