"""What a simulation records, and what comes of it.

What a simulation stands on, and the record of what each resource did, and when.

What a simulation of training gave: throughput with its interval, phases, utilisation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from statistics import fmean, variance
from typing import NamedTuple

from foretrain.events import Action, Events
from foretrain.plan.servers import LinkPolicy
from foretrain.statistics import batch_means, student_interval

EVERY = -1
"""Stands for each of the servers, where all do the same at the same moments."""


class WorkSpan(NamedTuple):
    """A worker or a server computed.

    Attributes:
        server: whether it was a server.
        node: which worker or server; `EVERY` for each server.
        core: of the server, which.
        start: seconds since the simulation began.
        end: likewise.
        name: of what was done.
    """

    server: bool
    node: int
    core: int
    start: float
    end: float
    name: str


class TransferSpan(NamedTuple):
    """Bytes went from one node to another.

    Attributes:
        source: which sent them.
        target: which got them; at most one of the two is `EVERY`, the servers.
        start: seconds since the simulation began.
        end: likewise.
        size: bytes.
    """

    source: int
    target: int
    start: float
    end: float
    size: float


@dataclass(slots=True)
class Recording:
    """Spans in the order in which they ended.

    Attributes:
        work: of workers and servers.
        transfers: over links.
    """

    work: list[WorkSpan] = field(default_factory=list)
    transfers: list[TransferSpan] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What all parts of a simulation share.

    Attributes:
        events: the clock.
        workers: how many.
        policy: of the links.
        window: bytes of the first window of a message, where the policy has windows.
        recording: takes what is done, if it is wanted.
    """

    events: Events
    workers: int
    policy: LinkPolicy
    window: float
    recording: Recording | None

    def noted(self, size: float, done: Action, *, source: int, target: int) -> Action:
        """What happens at the end of a transfer that begins now: it is recorded, too."""
        if self.recording is None:
            return done
        start = self.events.now

        def end() -> None:
            self.transfer(size, start, source=source, target=target)
            done()

        return end

    def transfer(self, size: float, start: float, *, source: int, target: int) -> None:
        """Record a transfer that ends now."""
        if self.recording is not None:
            span = TransferSpan(source, target, start, self.events.now, size)
            self.recording.transfers.append(span)

    def computed(self, worker: int, start: float, name: str = "compute") -> None:
        """Record a worker's computation that ends now."""
        if self.recording is not None:
            self.recording.work.append(WorkSpan(False, worker, 0, start, self.events.now, name))

    def applied(self, server: int, core: int, start: float) -> None:
        """Record the work of a server's core that ends now."""
        if self.recording is not None:
            self.recording.work.append(
                WorkSpan(True, server, core, start, self.events.now, "update")
            )


WARM_UP = 0.1
"""Share of the steps, from the first on, that is not counted."""

BETWEEN = 10_000
"""Steps of all workers after which somebody is told: a fraction of a second."""

BATCHES = 20
"""Batches whose means give the interval. Source: law2015, section 9.5.3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPhases:
    """Seconds of a worker's step on average, by what the worker does.

    Attributes:
        pull: from asking for parameters until it has them.
        compute: the forward and backward pass.
        push: from the end of the pass until servers have the gradients.
        update: from then until they are applied, the queue for a core included.
        exchange: with other workers, where there are no servers.
        wait: for other workers.
    """

    pull: float = 0.0
    compute: float = 0.0
    push: float = 0.0
    update: float = 0.0
    exchange: float = 0.0
    wait: float = 0.0

    @property
    def total(self) -> float:
        """Seconds from one step to the next."""
        return self.pull + self.compute + self.push + self.update + self.exchange + self.wait


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedTraining:
    """What a number of workers did.

    Attributes:
        workers: how many.
        throughput: samples per second after the warm-up.
        low: what it exceeds with 97.5 % probability.
        high: what it stays below with 97.5 %.
        variance: of the samples per second, from one round of as many steps as there are workers
            to the next.
        step: seconds from a worker's step to its next, on average.
        step_variance: of the seconds that a round takes.
        phases: of a step; with operations that overlap there are none.
        utilisation: of each kind of resource, over all of the simulation: of a worker's compute the
            share of time, of links and cores what they did over what they could have done.
        seconds: that were simulated.
    """

    workers: int
    throughput: float
    low: float
    high: float
    variance: float
    step: float
    step_variance: float
    phases: StepPhases
    utilisation: Mapping[str, float]
    seconds: float


class Tally:
    """Counts what workers have done.

    Attributes:
        over: whether as many steps have ended as were asked for.
        warm: whether steps count.
        computed: seconds of all computations.
        phases: seconds of each, summed over the steps that count.
        phased: how many steps that is.
    """

    __slots__ = (
        "_ended",
        "_events",
        "_steps",
        "_told",
        "_warm",
        "computed",
        "over",
        "phased",
        "phases",
        "warm",
    )

    def __init__(
        self, events: Events, *, steps: int, told: Callable[[int], None] | None = None
    ) -> None:
        """Nothing has ended.

        Args:
            events: the clock.
            steps: of all workers together.
            told: now and then how many have ended.
        """
        self._told = told
        self.over = False
        self.warm = False
        self.computed = 0.0
        self.phased = 0
        self.phases = dict.fromkeys((each.name for each in fields(StepPhases)), 0.0)
        self._events = events
        self._steps = steps
        self._warm = int(WARM_UP * steps)
        self._ended: list[float] = []

    def end(self) -> None:
        """A step has ended, and its samples count."""
        self._ended.append(self._events.now)
        ended = len(self._ended)
        self.warm = ended >= self._warm
        self.over = ended >= self._steps
        if self._told is not None and ended % BETWEEN == 0:
            self._told(ended)

    def result(
        self, *, workers: int, together: int, samples: float, utilisation: Mapping[str, float]
    ) -> SimulatedTraining:
        """What it comes to.

        Args:
            workers: how many.
            together: steps of a round.
            samples: of a step.
            utilisation: by kind of resource.
        """
        rounds = self._rounds(together)
        gaps = batch_means(rounds, batches=BATCHES)
        mean, amount = fmean(rounds), together * samples
        short, long = student_interval(gaps)
        return SimulatedTraining(
            workers=workers,
            throughput=amount / mean,
            low=amount / long,
            high=amount / short if short > 0 else float("inf"),
            variance=variance(amount / each for each in rounds if each > 0),
            step=mean * workers / together,
            step_variance=variance(rounds),
            phases=StepPhases(
                **{name: total / max(self.phased, 1) for name, total in self.phases.items()}
            ),
            utilisation=utilisation,
            seconds=self._events.now,
        )

    def _rounds(self, together: int) -> Sequence[float]:
        """Seconds of each round after the warm-up."""
        first = self._warm // together * together
        ends = [self._ended[at] for at in range(first + together - 1, len(self._ended), together)]
        return [after - before for before, after in pairwise(ends)]
