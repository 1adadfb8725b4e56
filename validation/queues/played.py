"""Queues played on the event kernel, customer by customer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import Protocol

from foretrain.events import Action, Events

Draw = Callable[[Random], float]
"""A service time in seconds."""


class Place(Protocol):
    """Where a customer spends time."""

    def arrive(self, done: Action) -> None:
        """Take a customer in; `done` happens when it leaves."""
        ...


class Away:
    """A delay: everybody is served at once."""

    def __init__(self, events: Events, draw: Draw, random: Random) -> None:
        self._events, self._draw, self._random = events, draw, random

    def arrive(self, done: Action) -> None:
        """Let it go after a time of its own."""
        self._events.after(self._draw(self._random), done)


class InTurn:
    """Servers that take customers first come first served, each one at a time."""

    def __init__(self, events: Events, draw: Draw, random: Random, *, servers: int = 1) -> None:
        self._events, self._draw, self._random = events, draw, random
        self._free, self._queue = servers, deque[Action]()

    def arrive(self, done: Action) -> None:
        """Serve it if a server is free, else queue it."""
        if self._free:
            self._free -= 1
            self._serve(done)
        else:
            self._queue.append(done)

    def _serve(self, done: Action) -> None:
        self._events.after(self._draw(self._random), partial(self._end, done))

    def _end(self, done: Action) -> None:
        if self._queue:
            self._serve(self._queue.popleft())
        else:
            self._free += 1
        done()


class Shared:
    """One server that all who are there share equally.

    Its own clock runs the slower the more there are, so that each leaves a fixed time of it after
    it came: the order of leaving never changes.
    """

    def __init__(self, events: Events, draw: Draw, random: Random) -> None:
        self._events, self._draw, self._random = events, draw, random
        self._leaving: list[tuple[float, int, Action]] = []
        self._own = self._since = 0.0
        self._came, self._next = 0, -1

    def arrive(self, done: Action) -> None:
        """Let it share from now on."""
        self._advance()
        self._came += 1
        ends = self._own + self._draw(self._random)
        heappush(self._leaving, (ends, self._came, done))
        self._await_next()

    def _advance(self) -> None:
        now = self._events.now
        if self._leaving:
            self._own += (now - self._since) / len(self._leaving)
        self._since = now

    def _await_next(self) -> None:
        self._events.cancel(self._next)
        if self._leaving:
            left = max(0.0, self._leaving[0][0] - self._own)
            self._next = self._events.after(left * len(self._leaving), self._end)

    def _end(self) -> None:
        self._advance()
        self._own, _, done = heappop(self._leaving)
        self._await_next()
        done()


class Forked:
    """Places that all serve a part of the same customer; the last of them counts."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places

    def arrive(self, done: Action) -> None:
        """Send a part to each."""
        missing = len(self._places)

        def part() -> None:
            nonlocal missing
            missing -= 1
            if not missing:
                done()

        for place in self._places:
            place.arrive(part)


def responses(
    events: Events, place: Place, *, arrivals: float, jobs: int, random: Random
) -> list[float]:
    """Seconds that each of some jobs spends at a place, in the order of their Poisson arrivals."""
    spent = [0.0] * jobs

    def come(job: int) -> None:
        came = events.now

        def leave() -> None:
            spent[job] = events.now - came

        place.arrive(leave)
        if job + 1 < jobs:
            events.after(random.expovariate(arrivals), partial(come, job + 1))

    events.after(random.expovariate(arrivals), partial(come, 0))
    events.run()
    return spent


def cycles(events: Events, places: Sequence[Place], *, customers: int, until: float) -> list[float]:
    """When customers who go round the places end a cycle, in seconds; all begin at the first."""
    ends: list[float] = []

    def go(place: int) -> None:
        places[place].arrive(onward[place])

    def end() -> None:
        ends.append(events.now)
        go(0)

    onward: list[Action] = [partial(go, place + 1) for place in range(len(places) - 1)]
    onward.append(end)
    for _ in range(customers):
        go(0)
    events.run(until=until)
    return ends
