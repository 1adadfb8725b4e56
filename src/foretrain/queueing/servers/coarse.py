"""The coarse model: a step is a sequence of phases, of which none overlaps another.

From a profile of one worker to the training of many: the phases of the coarse model.

The fine model takes the recorded steps as they are.

Training without servers: workers add up gradients in a ring, or average with one another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Protocol

from foretrain.distributions import Samples
from foretrain.measured.scale_study import Profile, RecordedStep, StepResource
from foretrain.plan.servers import SYNCHRONOUS, Servers, Training, Updates, Worker
from foretrain.queueing.servers.sides import ServerSide, joined, links_used, node_mesh
from foretrain.queueing.servers.tally import Context, Tally


def coarse_training(
    profile: Profile,
    servers: Servers,
    *,
    link: float,
    updates: Updates = SYNCHRONOUS,
    overlap: bool,
) -> Training:
    """What do many workers do that each do what a profile shows?

    Args:
        profile: of one worker.
        servers: as they are to be; the work of an update is the profile's.
        link: bytes per second of a worker's connection, as it is to be, in each direction.
        updates: when a worker may go on.
        overlap: whether what overlapped in the profile does so in the steps: a step then computes
            as long as it lasted without its transfers and its update. Otherwise it computes as long
            as its computations took, and then nothing overlaps.

    Source: li2022, abstract: phases that do not overlap, and what mends them.
    """
    steps = profile.steps
    seconds = [
        exposed_compute(step, profile) if overlap else step.taken(StepResource.COMPUTE)
        for step in steps
    ]
    return Training(
        worker=Worker(
            compute=Samples(tuple(seconds)),
            samples=profile.samples,
            pulled=fmean(step.carried(StepResource.DOWNLINK) for step in steps),
            pushed=fmean(step.carried(StepResource.UPLINK) for step in steps),
            link=link,
        ),
        servers=replace(servers, update=fmean(step.taken(StepResource.SERVER) for step in steps)),
        updates=updates,
    )


def exposed_compute(step: RecordedStep, profile: Profile) -> float:
    """Seconds of a recorded step in which nothing but computing can have been under way.

    What the step lasted, less its update and what its bytes take on the link of the profile alone;
    0 where those took all of it, beside one another.
    """
    others = step.taken(StepResource.SERVER)
    if profile.link is not None:
        carried = step.carried(StepResource.DOWNLINK) + step.carried(StepResource.UPLINK)
        others += carried / profile.link + 2.0 * profile.latency
    return max(step.seconds - others, 0.0)


Exchanged = Callable[[float], None]
"""What happens after an exchange; takes the time at which it really began."""


class Peers(Protocol):
    """How workers exchange."""

    def exchange(self, worker: int, done: Exchanged) -> None:
        """A worker has computed, and exchanges with others."""
        ...

    def used(self, seconds: float) -> Mapping[str, float]:
        """Utilisation of links over so many seconds, by kind."""
        ...


class Ring:
    """An all-reduce that begins when the last worker has come.

    Every worker passes 2 (n - 1) parts of 1/n of the gradients on to its neighbour, each a latency
    and the bytes.

    Source: patarasuk2009, equation 4.
    """

    def __init__(self, training: Training, context: Context) -> None:
        """Nobody has come.

        Args:
            training: sizes, links and latency.
            context: of the simulation.
        """
        self._context = context
        self._link = training.worker.link
        count = context.workers
        self._bytes = 2.0 * (count - 1) / count * training.worker.pushed
        self._seconds = 2.0 * (count - 1) * training.latency + self._bytes / self._link
        self._came: list[Exchanged] = []
        self._carried = 0.0

    def exchange(self, worker: int, done: Exchanged) -> None:
        """Wait for the others, and then around the ring."""
        self._came.append(done)
        if len(self._came) == self._context.workers:
            self._context.events.after(self._seconds, partial(self._end, self._context.events.now))

    def used(self, seconds: float) -> Mapping[str, float]:
        """Utilisation of links over so many seconds, by kind."""
        share = self._carried / (self._link * seconds)
        return {"worker egress": share, "worker ingress": share}

    def _end(self, begun: float) -> None:
        self._carried += self._bytes
        came, self._came = self._came, []
        count = self._context.workers
        for worker in range(count if count > 1 else 0):
            self._context.transfer(self._bytes, begun, source=worker, target=(worker + 1) % count)
        for done in came:
            done(begun)


class Pairs:
    """A worker sends to one other, drawn at random, and gets from it; that one is not held up.

    Source: lian2018, algorithm 1.
    """

    def __init__(self, training: Training, context: Context, *, pick: Callable[[int], int]) -> None:
        """Nobody exchanges.

        Args:
            training: sizes, links and latency.
            context: of the simulation.
            pick: a whole number from 0 on, below another, at random.
        """
        self._training = training
        self._context = context
        self._pick = pick
        self._mesh = node_mesh(training.worker, context)

    def exchange(self, worker: int, done: Exchanged) -> None:
        """Send to a partner and get from it, over links that others use too."""
        context, events = self._context, self._context.events
        end = partial(done, events.now)
        if context.workers == 1:
            events.after(0.0, end)
            return
        partner = self._pick(context.workers - 1)
        partner += partner >= worker
        part = joined(2, end)
        sizes = self._training.worker.pushed, self._training.worker.pulled
        for size, (source, target) in zip(
            sizes, ((worker, partner), (partner, worker)), strict=True
        ):
            ended = context.noted(size, part, source=source, target=target)
            send = partial(self._mesh.send, size, (source, context.workers + target), ended)
            events.after(self._training.latency, send)

    def used(self, seconds: float) -> Mapping[str, float]:
        """Utilisation of links over so many seconds, by kind."""
        return links_used(self._mesh, self._training.worker, seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What the steps of all workers share.

    Attributes:
        context: of the simulation.
        tally: counts steps.
        training: what is done in each.
        draw: seconds of the next computation.
        finish: is told which worker has ended a step.
    """

    context: Context
    tally: Tally
    training: Training
    draw: Callable[[], float]
    finish: Callable[[int], None]


class PhasedWorker:
    """A worker that pulls, computes, pushes, and waits until servers have applied its gradients.

    Attributes:
        under_way: whether it is in a step.
        left: whether others have gone on without its step, of which nothing counts any more.
    """

    __slots__ = ("_begun", "_computed_at", "_computing", "_ended", "_events", "_index",
                 "_pulled_at", "_pushed_at", "_servers", "_steps", "_update", "_worker", "left",
                 "under_way")  # fmt: skip

    def __init__(self, index: int, steps: Steps, servers: ServerSide) -> None:
        """It has not begun.

        Args:
            index: which worker it is.
            steps: what all share.
            servers: whom it trains with.
        """
        assert steps.training.servers
        self.under_way = self.left = False
        self._index = index
        self._steps = steps
        self._servers = servers
        self._events = steps.context.events
        self._worker = steps.training.worker
        self._update = steps.training.servers.update
        self._ended = self._events.now
        self._begun = self._pulled_at = self._computed_at = self._pushed_at = 0.0
        self._computing = -1

    def begin(self) -> None:
        """Begin a step."""
        self.under_way = True
        self._begun = self._events.now
        self._servers.pull(self._index, self._worker.pulled, self._pulled)

    def leave(self) -> None:
        """Leave the step for good; what is on its way goes on."""
        self.left = True
        if self._events.cancel(self._computing):
            self._count_computation()

    def _pulled(self) -> None:
        if not self.left:
            self._pulled_at = self._events.now
            self._computing = self._events.after(self._steps.draw(), self._computed)

    def _computed(self) -> None:
        self._computed_at = self._events.now
        self._count_computation()
        self._servers.push(self._index, self._worker.pushed, self._pushed)

    def _count_computation(self) -> None:
        self._steps.tally.computed += self._events.now - self._pulled_at
        self._steps.context.computed(self._index, self._pulled_at)

    def _pushed(self) -> None:
        self._pushed_at = self._events.now
        self._servers.apply(self._update, self._applied, self._stays)

    def _stays(self) -> bool:
        """Whether its gradients are wanted; of a step that was left they are dropped."""
        return not self.left

    def _applied(self) -> None:
        if self.left:
            return
        tally = self._steps.tally
        now = self._events.now
        if tally.warm:
            tally.phased += 1
            phases = tally.phases
            phases["wait"] += self._begun - self._ended
            phases["pull"] += self._pulled_at - self._begun
            phases["compute"] += self._computed_at - self._pulled_at
            phases["push"] += self._pushed_at - self._computed_at
            phases["update"] += now - self._pushed_at
        self._ended = now
        self.under_way = False
        tally.end()
        self._steps.finish(self._index)


class PeerWorker:
    """A worker that computes and exchanges with other workers.

    Attributes:
        under_way: whether it is in a step.
    """

    __slots__ = ("_begun", "_computed_at", "_ended", "_index", "_peers", "_steps", "under_way")

    def __init__(self, index: int, steps: Steps, peers: Peers) -> None:
        """It has not begun.

        Args:
            index: which worker it is.
            steps: what all share.
            peers: how they exchange.
        """
        self.under_way = False
        self._index = index
        self._steps = steps
        self._peers = peers
        self._ended = self._begun = self._computed_at = steps.context.events.now

    def begin(self) -> None:
        """Begin a step."""
        self.under_way = True
        self._begun = self._steps.context.events.now
        self._steps.context.events.after(self._steps.draw(), self._computed)

    def leave(self) -> None:
        """Nobody leaves: an exchange needs all that take part."""
        raise AssertionError("backup workers are for servers")

    def _computed(self) -> None:
        steps = self._steps
        self._computed_at = steps.context.events.now
        steps.tally.computed += self._computed_at - self._begun
        steps.context.computed(self._index, self._begun)
        self._peers.exchange(self._index, self._exchanged)

    def _exchanged(self, exchange_began: float) -> None:
        tally, now = self._steps.tally, self._steps.context.events.now
        if tally.warm:
            tally.phased += 1
            tally.phases["compute"] += self._computed_at - self._begun
            tally.phases["exchange"] += now - exchange_began
            tally.phases["wait"] += exchange_began - self._computed_at + self._begun - self._ended
        self._ended = now
        self.under_way = False
        tally.end()
        self._steps.finish(self._index)
