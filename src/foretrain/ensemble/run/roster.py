"""The roster: processes of members, what they tell, and how each of them ends."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Final

from batchcast.forkserver.client import Process
from foretrain.ensemble.result import MemberState
from foretrain.ensemble.run.home import Home
from foretrain.ensemble.run.looks import Report, received
from foretrain.ensemble.run.member import MemberJob, live

PATIENCE: Final = 5.0
"""Seconds for a process to leave after its last report, before it is killed."""


@dataclass(slots=True)
class _Hand:
    """One member at work."""

    process: Process
    pipe: Connection
    last: Report = field(default_factory=Report)


@dataclass(slots=True)
class Roster:
    """Members at work, each in a process that is forked from the one that has loaded their study.

    It is a context, at whose end no process is left.
    """

    home: Home
    _hands: dict[str, _Hand] = field(default_factory=dict)

    def __enter__(self) -> Roster:
        return self

    def __exit__(self, *_: object) -> None:
        for hand in self._hands.values():
            hand.process.end()  # kills who is still there
            hand.pipe.close()

    @property
    def reports(self) -> dict[str, Report]:
        """The last report of every member."""
        return {name: hand.last for name, hand in self._hands.items()}

    def start(self, jobs: Iterable[MemberJob]) -> None:
        """Start a process for each job."""
        for job in jobs:
            ours, theirs = Pipe(duplex=False)
            with theirs:
                process = self.home.fork(
                    partial(live, job),
                    [theirs.fileno()],
                    dies_with_us=signal.SIGTERM,
                    told=signal.SIGTERM,
                    patience=inf,
                )
            self._hands[job.recipe.name] = _Hand(process, ours)

    def watch(
        self, look: Callable[[], None], *, every: float, stop: Callable[[], bool]
    ) -> dict[str, Report]:
        """Wait until all have ended, and look at them meanwhile.

        Args:
            look: called now and then.
            every: seconds between two looks.
            stop: whether members are to keep their state and end.

        Returns:
            The last report of every member.
        """
        due, asked = monotonic() + every, False
        while at_work := {
            hand.pipe: name for name, hand in self._hands.items() if (not hand.pipe.closed)
        }:
            for pipe in wait(list(at_work), timeout=max(0.0, due - monotonic())):
                assert isinstance(pipe, Connection)
                self._hear(self._hands[at_work[pipe]])
            if monotonic() >= due:
                look()
                due = monotonic() + every
            if stop() and not asked:
                asked = True
                for hand in self._hands.values():
                    hand.process.send_signal(signal.SIGTERM)
        look()
        return self.reports

    def _hear(self, hand: _Hand) -> None:
        """Take what a member told; the end of its pipe is its own."""
        try:
            for report in received(hand.pipe):
                hand.last = report
        except EOFError:
            hand.pipe.close()
            hand.process.wait(PATIENCE)
            if not hand.last.final:
                hand.last = replace(
                    hand.last, state=MemberState.FAILED, reason=_death(hand.process)
                )


def _death(process: Process) -> str:
    """Why a process is gone that said nothing."""
    code = process.status
    if code is None:
        return "it closed its pipe and did not end"
    if code < 0:
        name = signal.Signals(-code).name
        hint = "; the machine may have run out of memory" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with code {code}"
