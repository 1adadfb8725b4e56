"""The roster: processes of members, what they tell, and how each of them ends."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import monotonic
from typing import Final

from foretrain.results.ensemble_run import State
from foretrain.run.members.member import Job, live
from foretrain.run.members.reports import Report, received

PATIENCE: Final = 5.0
"""Seconds for a process to leave after its last report, before it is killed."""


@dataclass(slots=True)
class _Hand:
    """One member at work."""

    process: BaseProcess
    pipe: Connection
    last: Report = field(default_factory=Report)


@dataclass(slots=True)
class Roster:
    """Members at work, each in a process that is forked from this one.

    It is a context, at whose end no process is left.
    """

    _hands: dict[str, _Hand] = field(default_factory=dict)

    def __enter__(self) -> Roster:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def reports(self) -> dict[str, Report]:
        """The last report of every member."""
        return {name: hand.last for name, hand in self._hands.items()}

    def start(self, jobs: Iterable[Job]) -> None:
        """Fork a process for each job."""
        context = get_context("fork")
        for job in jobs:
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=live, args=(job, theirs), name=job.recipe.name)
            with warnings.catch_warnings():
                # NumPy has threads of its own; none of their locks is taken while we fork.
                warnings.simplefilter("ignore", DeprecationWarning)
                process.start()
            theirs.close()
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
        while at_work := {hand.pipe: name for name, hand in self._hands.items() if _open(hand)}:
            for pipe in wait(list(at_work), timeout=max(0.0, due - monotonic())):
                assert isinstance(pipe, Connection)
                self._hear(self._hands[at_work[pipe]])
            if monotonic() >= due:
                look()
                due = monotonic() + every
            if stop() and not asked:
                asked = True
                self._ask_to_stop()
        look()
        return self.reports

    def _end(self) -> None:
        """Kill whoever is still there."""
        for hand in self._hands.values():
            if hand.process.is_alive():
                hand.process.kill()
            hand.process.join()
            hand.pipe.close()

    def _hear(self, hand: _Hand) -> None:
        """Take what a member told; the end of its pipe is its own."""
        try:
            for report in received(hand.pipe):
                hand.last = report
        except EOFError:
            hand.pipe.close()
            hand.process.join(PATIENCE)
            if not hand.last.final:
                hand.last = replace(hand.last, state=State.FAILED, reason=_death(hand.process))

    def _ask_to_stop(self) -> None:
        for hand in self._hands.values():
            if hand.process.is_alive():
                hand.process.terminate()


def _open(hand: _Hand) -> bool:
    return not hand.pipe.closed


def _death(process: BaseProcess) -> str:
    """Why a process is gone that said nothing."""
    code = process.exitcode
    if code is None:
        return "it closed its pipe and did not end"
    if code < 0:
        name = signal.Signals(-code).name
        hint = "; the machine may have run out of memory" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    return f"its process ended with code {code}"
