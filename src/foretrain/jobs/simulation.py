"""The simulation of a cluster: jobs come, hold devices, work, and end.

It keeps time and books and knows no policy. A dispatcher is told who came and who left, and once
everything of an instant has happened it decides who starts and who is interrupted; so the order in
which a trace lists equal times does not matter.

What no policy may do is refused here, once for all of them: `start` asks the limits and the pool,
`stop` whether a job may be interrupted, and a time limit ends a job whoever started it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf, isnan
from operator import is_not
from typing import Protocol

from foretrain.errors import InputError
from foretrain.events import Events
from foretrain.jobs.active import (
    Active,
    HeldDevices,
    Homes,
    Left,
    Pool,
    Progress,
    believed,
)
from foretrain.jobs.limits import Limits
from foretrain.jobs.outcomes import Observer, Outcomes
from foretrain.measured.job import Job, Trace

MOST_DECISIONS = 200_000
"""Of a simulation, and `MOST_PER_JOB` more for each job: above it, rounds or failures are so much
shorter than jobs that hardly anything else happens."""

MOST_PER_JOB = 1_000

PATIENCE = 1_000
"""Decisions in a row after which nobody runs, though all jobs have come, until we give up.

Where nodes are down, those that follow a failure or a repair count.
"""

LISTED = 10
"""Jobs that an error names."""


UNFIT = (
    "Look for jobs that no node, quota or kind of the fleet can hold, or that ask for a number of"
    " devices that the policy does not give."
)
DOWN = (
    "Nodes fail so often, or are repaired so slowly, that as many as these jobs need are hardly"
    " ever there at once. Take more nodes, a shorter simulation.failures.repair, or leave the jobs"
    " out."
)


class Dispatcher(Protocol):
    """Who decides: told of jobs, asked once an instant is over."""

    def arrive(self, active: Active, simulation: Simulation) -> None:
        """A job has come."""
        ...

    def leave(self, active: Active, simulation: Simulation) -> None:
        """A job has ended and given its devices back."""
        ...

    def decide(self, simulation: Simulation) -> None:
        """Start and stop jobs through `simulation`."""
        ...


class Simulation:
    """Jobs of a trace on a pool of devices, under a dispatcher.

    Attributes:
        pool: free devices; where jobs have partitions, of the one that is being dealt with.
        outcomes: what became of the jobs so far.
        limits: what parties may hold at once.
    """

    def __init__(
        self,
        trace: Trace,
        pool: Pool,
        dispatcher: Dispatcher,
        *,
        observers: Sequence[Observer] = (),
        progress: Progress = believed,
        limits: Limits | None = None,
        grace: float = inf,
        homes: Homes | None = None,
    ) -> None:
        """A simulation at its beginning.

        Args:
            trace: the jobs.
            pool: the devices.
            dispatcher: who decides.
            observers: told of every change.
            progress: how quickly jobs go.
            limits: of parties; None where devices alone bound them.
            grace: seconds beyond its estimate after which a job is ended; infinite for never.
            homes: the partitions of jobs; None where all share all devices.
        """
        self.pool = pool
        self._homes = homes
        self.limits = limits or Limits(())
        self._grace = grace
        self._progress = progress
        self._observers = tuple(observers)
        self.outcomes = Outcomes(trace)
        self._dispatcher = dispatcher
        self._events = Events()
        self._jobs = enumerate(trace.jobs)
        self._deciding = False
        self._all_came = False
        self._idle = 0
        self._decisions = MOST_DECISIONS + MOST_PER_JOB * len(trace.jobs)
        self._down: Sequence[Mapping[str, int]] = ()

    @property
    def now(self) -> float:
        """Seconds since the trace began."""
        return self._events.now

    def run(self) -> Outcomes:
        """Let every job end.

        Raises:
            InputError: where jobs wait that the policy never starts.
        """
        self._expect()
        self._events.run()
        if self.outcomes.waiting:
            raise self._endless()
        self.outcomes.check()
        return self.outcomes

    def _endless(self) -> InputError:
        """Jobs wait, and nothing that is still to happen would start them."""
        ended = zip(self.outcomes.trace.jobs, self.outcomes.ended, strict=True)
        left = [job for job, when in ended if isnan(when)]
        names = ", ".join(f"{job.name} ({job.devices} devices)" for job in left[:LISTED])
        more = f" and {len(left) - LISTED} more" if len(left) > LISTED else ""
        return InputError(
            f"the simulation would never end: at {self.now:.0f} s nobody holds a device, and"
            f" {self.outcomes.waiting} jobs wait that the policy does not start: {names}{more}."
            f" {DOWN if any(self._down) else UNFIT}"
        )

    def start(self, active: Active, devices: float, kinds: tuple[str, ...]) -> bool:
        """Give a waiting job devices.

        Args:
            active: the job.
            devices: how many; one of its curve's counts.
            kinds: those allowed; empty for all.

        Returns:
            Whether they could be had: limits allow it, and there are so many where they may lie.
        """
        if self.limits.bind and not self.limits.allow(active, devices):
            return False
        held = self._again(active, devices, kinds) if active.left else None
        if held is None:
            held = self.pool.take(devices, kinds)
        if held is not None:
            self.hold(active, held)
        return held is not None

    def hold(self, active: Active, held: HeldDevices) -> None:
        """Start a waiting job on devices that were taken for it; no limit may keep it from that.

        Args:
            active: the job.
            held: the devices.
        """
        now, left = self._events.now, active.left
        if active.begun is None:
            active.since = now + active.job.start
        elif left == (now, held):
            # With the same devices it was not interrupted.
            active.stops -= 1
            active.since = max(now, active.since)
        else:
            active.since = now + active.job.restart
        active.charged = now
        active.held = held
        if active.begun is None:
            active.begun = now
        if self.limits.bind and not active.suspended:
            self.limits.hold(active, held.devices)
        self._proceed(active, held)
        self.outcomes.hold(now, held.devices)
        for observer in self._observers:
            observer.hold(now, active)

    def _again(self, active: Active, devices: float, kinds: tuple[str, ...]) -> HeldDevices | None:
        """Of a job that gave devices back in this very instant: the same ones, if they will do."""
        left = active.left
        if left is None or left.when != self._events.now or left.held.devices != devices:
            return None
        alike = not kinds or left.held.kind in kinds
        return left.held if alike and self.pool.again(left.held) else None

    def waive(self, active: Active) -> None:
        """Charge nothing for the start that a job has just made.

        Args:
            active: the job, which holds devices.
        """
        assert active.held is not None, f"{active.job.name} has not started"
        self._events.cancel(active.ending)
        active.since = self._events.now
        self._proceed(active, active.held)

    def resume(self, active: Active, held: HeldDevices) -> None:
        """Let a suspended job go on at once, on devices that were taken for it.

        Args:
            active: the job.
            held: the devices.
        """
        self.hold(active, held)
        active.suspended = False
        self.waive(active)

    def stop(
        self,
        active: Active,
        *,
        done: float | None = None,
        forced: bool = False,
        suspended: bool = False,
    ) -> None:
        """Interrupt a running job; it keeps its work and waits.

        Args:
            active: the job.
            done: units of work that it keeps, at most what it did; None for all of that.
            forced: whether its node is gone; no policy may stop a job that must not be.
            suspended: whether limits count it all the while, until it is let go on.
        """
        assert forced or active.job.preemptible, f"{active.job.name} must not be interrupted"
        self._events.cancel(active.ending)
        active.ending = -1
        active.done = active.done_at(self._events.now) if done is None else done
        active.stops += 1
        active.suspended = suspended
        active.left = Left(self._events.now, self._release(active))
        if forced or not active.done:
            active.anew = active.running

    def cancel_job(self, active: Active) -> None:
        """A job that never ran will not: it is gone."""
        self.outcomes.cancel(self._events.now, active)
        for observer in self._observers:
            observer.end(self._events.now, active)

    def at(self, time: float, action: Callable[[], None]) -> int:
        """Ask for an action, after which the dispatcher decides; the event's id.

        It happens in the partition that is being dealt with as it is asked for.
        """
        return self._events.at(time, partial(self._happen, self.pool, action))

    def is_home(self, job: Job) -> bool:
        """Whether a job runs in the partition that is being dealt with."""
        return self._homes is None or self._homes.home(job) is self.pool

    def wake(self, time: float) -> None:
        """Ask the dispatcher to decide at a time, whatever happens until then."""
        self._events.at(time, partial(self._happen, self.pool, None))

    def cancel(self, event: int) -> None:
        """Keep an action from happening."""
        self._events.cancel(event)

    def _expect(self) -> None:
        """Let the next job come."""
        rank, job = next(self._jobs, (-1, None))
        self._all_came = job is None
        if job is not None:
            self._events.at(job.arrival, partial(self._arrive, job, rank))

    def _arrive(self, job: Job, rank: int) -> None:
        active = Active(job, rank)
        self.outcomes.come(self._events.now)
        for observer in self._observers:
            observer.come(self._events.now, active)
        self._dispatcher.arrive(active, self)
        self._expect()
        self._ask()

    def _proceed(self, active: Active, held: HeldDevices) -> None:
        """Let a job work until it ends or goes at another rate."""
        active.rate, until = self._progress(active, held)
        goal, action = active.job.ends_after, partial(self._end, active)
        if until < goal:
            goal, action = until, partial(self._turn, active, held, until)
        ends = active.since + (goal - active.done) / active.rate
        active.until = inf if until < active.job.ends_after else ends
        said = active.job.estimate
        if said is not None and self._grace < inf:
            limit = active.charged + said + self._grace - (active.running - active.anew)
            if limit < ends:
                ends, action = max(limit, self._events.now), partial(self.kill, active)
        active.ending = self._events.at(ends, action)

    def _turn(self, active: Active, held: HeldDevices, done: float) -> None:
        """A job goes on at another rate."""
        active.done, active.since = done, self._events.now
        self._proceed(active, held)

    def kill(self, active: Active) -> None:
        """End a running job before its time, as at its limit; the dispatcher is told that it left.

        Args:
            active: the job.
        """
        self._events.cancel(active.ending)
        self.outcomes.killed.add(active.rank)
        self._close(active, done=active.done_at(self._events.now))

    def _end(self, active: Active) -> None:
        self._close(active, done=active.job.ends_after)

    def _close(self, active: Active, *, done: float) -> None:
        self._release(active)
        active.done = done
        self.outcomes.end(self._events.now, active)
        for observer in self._observers:
            observer.end(self._events.now, active)
        self._dispatcher.leave(active, self)
        self._ask()

    def _release(self, active: Active) -> HeldDevices:
        """Give a job's devices back."""
        held = active.held
        assert held is not None, f"{active.job.name} holds nothing"
        for observer in self._observers:
            observer.give(self._events.now, active)
        if self.limits.bind and not active.suspended:
            self.limits.release(active, held.devices)
        active.running += self._events.now - active.charged
        active.attained = active.attained_at(self._events.now)
        active.held = None
        home = self._homes.home(active.job) if self._homes else self.pool
        home.give(held)
        self.outcomes.hold(self._events.now, -held.devices)
        return held

    def _happen(self, pool: Pool, action: Callable[[], None] | None) -> None:
        """What was asked for, in the partition in which it was, and then a decision."""
        self.pool = pool
        if self._homes:
            self._homes.wake(pool)
        if action:
            action()
        self._ask()

    def _ask(self) -> None:
        """Let the dispatcher decide once this instant is over."""
        if not self._deciding:
            self._deciding = True
            self._events.once_over(self._decide)

    def _decide(self) -> None:
        self._deciding = False
        self._dispatcher.decide(self)
        # Give up where nobody runs, decision after decision, and nothing will change that.
        if not (self._all_came and self.outcomes.waiting) or self.outcomes.holding:
            self._idle = 0
        else:
            pools = self._homes.pools if self._homes else (self.pool,)
            before, self._down = self._down, [pool.down for pool in pools]
            # Else a repair is still to come.
            self._idle += not any(self._down) or any(map(is_not, self._down, before))
        if self._idle > PATIENCE:
            raise self._endless()
        self._decisions -= 1
        if not self._decisions:
            raise InputError(
                f"the simulation is at {self.now:.3g} s after more decisions than are simulated"
                f" ({MOST_DECISIONS:,}, and {MOST_PER_JOB:,} for each job). Make rounds longer, or"
                " failures rarer, beside the time that jobs take."
            )
