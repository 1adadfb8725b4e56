"""Eligibility: a job that waits for other jobs is not yet in the queue.

Dependencies are kept before any policy sees a job. One that can never be fulfilled, as when the
other job failed and success was asked, cancels the job, and so do those that wait for it.
"""

from __future__ import annotations

from collections import defaultdict
from graphlib import CycleError, TopologicalSorter

from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.simulation import Dispatcher, Simulation
from foretrain.measured.job import Dependency, DependsOn, End, Trace


class Eligibility:
    """The stage before a dispatcher: jobs come to it once what they wait for has happened.

    It is told of starts and ends as an observer, and so sees them under any policy.
    """

    def __init__(self, dispatcher: Dispatcher, trace: Trace) -> None:
        """Nothing has happened.

        Raises:
            InputError: a job waits for one that is not there, or jobs wait for each other.
        """
        self._dispatcher = dispatcher
        self._happened: dict[Dependency, bool] = {}
        self._open: defaultdict[Dependency, int] = defaultdict(int)
        self._held: dict[int, Active] = {}
        self._changed = False
        _refuse(trace)
        for job in trace.jobs:
            if job.array:
                for what in DependsOn:
                    self._open[Dependency(job.array, what)] += 1

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come; it may have to wait for others."""
        if active.job.after and active.begun is None:
            self._held[active.rank] = active
            self._changed = True
        else:
            self._dispatcher.arrive(active, simulation)

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended, or lost its node."""
        self._dispatcher.leave(active, simulation)

    def decide(self, simulation: Simulation) -> None:
        """Let in whoever may start now, let the dispatcher decide, and look again."""
        self._let_in(simulation)
        self._dispatcher.decide(simulation)
        while self._changed:
            self._let_in(simulation)
            self._dispatcher.decide(simulation)

    def come(self, now: float, active: Active) -> None:
        """Nothing waits for that."""

    def give(self, now: float, active: Active) -> None:
        """Nothing waits for that."""

    def hold(self, now: float, active: Active) -> None:
        """A job has started."""
        if active.begun == now and not active.stops:
            self._note(active, DependsOn.START, True)

    def end(self, now: float, active: Active) -> None:
        """A job has ended."""
        ran = active.begun is not None
        good = ran and active.job.end is End.FINISHED and active.done >= active.job.ends_after
        self._note(active, DependsOn.START, ran)
        self._note(active, DependsOn.END, True)
        self._note(active, DependsOn.SUCCESS, good)
        self._note(active, DependsOn.FAILURE, not good)

    def _note(self, active: Active, what: DependsOn, good: bool) -> None:
        """Something has happened to a job, or never will."""
        one, whole = Dependency(active.job.name, what), Dependency(active.job.array, what)
        if one in self._happened:
            return
        self._changed = self._changed or bool(self._held)
        self._happened[one] = good
        if active.job.array:
            self._open[whole] -= 1
            # An array has started, ended or succeeded when all of its tasks have.
            if not good or self._open[whole] <= 0:
                self._happened.setdefault(whole, good)

    def _let_in(self, simulation: Simulation) -> None:
        while self._changed:
            self._changed = False
            for rank, active in tuple(self._held.items()):
                states = [self._happened.get(each) for each in active.job.after]
                if False in states:
                    del self._held[rank]
                    simulation.cancel_job(active)
                elif all(states):
                    del self._held[rank]
                    self._dispatcher.arrive(active, simulation)


def _refuse(trace: Trace) -> None:
    """Refuse jobs that would wait for ever."""
    waits = {job.name: job.after for job in trace.jobs if job.after}
    members: defaultdict[str, list[str]] = defaultdict(list)
    for job in trace.jobs if waits else ():
        members[job.name].append(job.name)
        if job.array and job.array != job.name:
            members[job.array].append(job.name)
    for name, after in waits.items():
        for each in after:
            if each.job not in members:
                raise InputError(
                    f"{trace.name}: job {name} waits for {each.job}, which is no job and no array"
                    " of the trace. Add it, or leave the dependency out."
                )
    before = {
        name: [other for each in after for other in members[each.job]]
        for name, after in waits.items()
    }
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        around = " < ".join(reversed(error.args[1]))
        raise InputError(
            f"{trace.name}: jobs wait for each other: {around}. Leave out one of what they wait"
            " for."
        ) from None
