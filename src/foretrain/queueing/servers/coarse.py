"""The coarse model: a step is a sequence of phases, of which none overlaps another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from foretrain.plan.servers import Training
from foretrain.queueing.servers.peers import Peers
from foretrain.queueing.servers.sides import ServerSide
from foretrain.queueing.servers.spans import Context
from foretrain.queueing.servers.tally import Tally


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
