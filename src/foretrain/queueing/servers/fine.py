"""The fine model: a step is a graph of operations, and what can overlap does.

Each simulated step replays one recorded step, drawn at random: its dependencies, its seconds of
computation, its bytes; how long bytes take follows from the links.

Source: li2020icpe, abstract: throughput of many workers from traces of one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush

from foretrain.measured.scale_study import LINKS, RecordedStep, StepResource
from foretrain.queueing.servers.coarse import Steps
from foretrain.queueing.servers.sides import ServerSide


@dataclass(frozen=True, slots=True)
class StepGraph:
    """The operations of a step, each by its place in it.

    Attributes:
        names: of the operations.
        resources: that each takes.
        amounts: bytes on a link, seconds elsewhere.
        ranks: of two messages the lower is needed first.
        waits: how many others each waits for.
        then: places of those that wait for it.
    """

    names: tuple[str, ...]
    resources: tuple[StepResource, ...]
    amounts: tuple[float, ...]
    ranks: tuple[int, ...]
    waits: tuple[int, ...]
    then: tuple[tuple[int, ...], ...]


def step_graph(step: RecordedStep) -> StepGraph:
    """The graph of a recorded step."""
    its = step.operations
    places = {each.name: place for place, each in enumerate(its)}
    then: list[list[int]] = [[] for _ in its]
    for place, each in enumerate(its):
        for name in dict.fromkeys(each.after):
            then[places[name]].append(place)
    return StepGraph(
        names=tuple(places),
        resources=tuple(each.resource for each in its),
        amounts=tuple(each.size if each.resource in LINKS else each.seconds for each in its),
        ranks=tuple(each.layer for each in its),
        waits=tuple(len(set(each.after)) for each in its),
        then=tuple(map(tuple, then)),
    )


class GraphWorker:
    """A worker that replays graphs.

    Of several computations that could begin, the one that stands first in the graph does; servers
    and links have rules of their own.

    Attributes:
        under_way: whether it is in a step.
        left: whether others have gone on without its step, of which nothing counts any more.
    """

    __slots__ = ("_begun", "_computing", "_draw_graph", "_graph", "_index", "_open", "_ready",
                 "_servers", "_steps", "_waits", "left", "under_way")  # fmt: skip

    def __init__(
        self,
        index: int,
        steps: Steps,
        servers: ServerSide,
        *,
        draw_graph: Callable[[], StepGraph],
    ) -> None:
        """It has not begun.

        Args:
            index: which worker it is.
            steps: what all share.
            servers: whom it trains with.
            draw_graph: one of the recorded steps.
        """
        self.under_way = self.left = False
        self._index = index
        self._steps = steps
        self._servers = servers
        self._draw_graph = draw_graph

    def begin(self) -> None:
        """Begin a step."""
        self.under_way = True
        self._graph = self._draw_graph()
        self._waits = list(self._graph.waits)
        self._open = len(self._waits)
        self._ready: list[int] = []
        self._computing = -1
        self._begin_all([place for place, waits in enumerate(self._waits) if not waits])

    def leave(self) -> None:
        """Leave the step for good; what is on its way goes on."""
        self.left = True
        if self._steps.context.events.cancel(self._computing):
            self._count_computation("left")

    def _begin_all(self, places: list[int]) -> None:
        """Begin operations that wait for nothing any more."""
        graph = self._graph
        for place in places:
            amount, done = graph.amounts[place], partial(self._done, place)
            match graph.resources[place]:
                case StepResource.COMPUTE:
                    heappush(self._ready, place)
                case StepResource.SERVER:
                    self._servers.apply(amount, done, self._stays)
                case StepResource.DOWNLINK:
                    self._servers.pull(self._index, amount, done, rank=graph.ranks[place])
                case StepResource.UPLINK:
                    self._servers.push(self._index, amount, done, rank=graph.ranks[place])
        if self._ready and self._computing < 0:
            place = heappop(self._ready)
            events = self._steps.context.events
            self._begun = events.now
            self._computing = events.after(graph.amounts[place], partial(self._computed, place))

    def _stays(self) -> bool:
        """Whether its gradients are wanted; of a step that was left they are dropped."""
        return not self.left

    def _computed(self, place: int) -> None:
        self._computing = -1
        self._count_computation(self._graph.names[place])
        self._done(place)

    def _count_computation(self, name: str) -> None:
        self._steps.tally.computed += self._steps.context.events.now - self._begun
        self._steps.context.computed(self._index, self._begun, name)

    def _done(self, place: int) -> None:
        if self.left:
            return
        freed = []
        for each in self._graph.then[place]:
            self._waits[each] -= 1
            if not self._waits[each]:
                freed.append(each)
        self._begin_all(freed)
        self._open -= 1
        if not self._open:
            self.under_way = False
            self._steps.tally.end()
            self._steps.finish(self._index)
