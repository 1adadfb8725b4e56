"""The event kernel beside a bare heap and SimPy: one closed network on each, in turns.

    python benchmarks/events.py

Thirty-two customers think, wait for one server, first come first served, and think again; both
times are exponential. Customers are alike, so those at the server are but counted where an engine
allows it. An event is an end of thinking or of service. The engines take turns, so that
whatever else the machine does falls on all of them; the medians of the ratios of processor time
count. The exit status is 1 if one is below its limit. SimPy comes with the extra `test`; without
it, its turns are left out, which is said.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from importlib.util import find_spec
from random import Random
from statistics import median
from time import process_time

from foretrain.events import Events

CUSTOMERS, THINK, SERVICE = 32, 1.0, 0.1
UNTIL = 10_000.0
TURNS = 9
SEED = 21
QUICKER_THAN_SIMPY = 4.0
SHARE_OF_BARE = 0.45

Engine = Callable[[float], int]
"""Plays the network for some seconds of its own time; returns the events."""


def bare(until: float) -> int:
    """A loop over a heap, written for this network and no other."""
    draw, heap, there, happened = Random(SEED).expovariate, list[tuple[float, bool]](), 0, 0
    for _ in range(CUSTOMERS):
        heappush(heap, (draw(1.0 / THINK), True))
    while heap[0][0] <= until:
        now, arrives = heappop(heap)
        happened += 1
        if arrives:
            there += 1
            if there == 1:
                heappush(heap, (now + draw(1.0 / SERVICE), False))
        else:
            there -= 1
            heappush(heap, (now + draw(1.0 / THINK), True))
            if there:
                heappush(heap, (now + draw(1.0 / SERVICE), False))
    return happened


def kernel(until: float) -> int:
    """The network on the kernel: what happens at the end of thinking and of service."""
    events, draw, there, happened = Events(), Random(SEED).expovariate, 0, 0
    after = events.after

    def arrive() -> None:
        nonlocal there, happened
        happened += 1
        there += 1
        if there == 1:
            after(draw(1.0 / SERVICE), leave)

    def leave() -> None:
        nonlocal there, happened
        happened += 1
        there -= 1
        after(draw(1.0 / THINK), arrive)
        if there:
            after(draw(1.0 / SERVICE), leave)

    for _ in range(CUSTOMERS):
        after(draw(1.0 / THINK), arrive)
    events.run(until=until)
    return happened


def simpy_processes(until: float) -> int:
    """The network as SimPy's documentation writes one: a process for each customer."""
    import simpy

    environment, draw, happened = simpy.Environment(), Random(SEED).expovariate, 0
    server = simpy.Resource(environment, capacity=1)

    def customer():  # noqa: ANN202 - SimPy types its generators by itself
        nonlocal happened
        while True:
            yield environment.timeout(draw(1.0 / THINK))
            happened += 1
            with server.request() as turn:
                yield turn
                yield environment.timeout(draw(1.0 / SERVICE))
            happened += 1

    for _ in range(CUSTOMERS):
        environment.process(customer())
    environment.run(until=until)
    return happened


def rates(engines: Mapping[str, Engine], *, turns: int, until: float) -> dict[str, list[float]]:
    """Events per processor second of every engine, turn by turn."""
    found: dict[str, list[float]] = {name: [] for name in engines}
    for _ in range(turns):
        for name, engine in engines.items():
            began = process_time()
            happened = engine(until)
            found[name].append(happened / (process_time() - began))
    return found


def ratio(found: Mapping[str, list[float]], other: str) -> float:
    """How many times as quick as another engine the kernel is: the median of the turns."""
    pairs = zip(found["kernel"], found[other], strict=True)
    return median(mine / theirs for mine, theirs in pairs)


def main() -> bool:
    """Print rates and ratios; whether both limits are kept."""
    engines: dict[str, Engine] = {"kernel": kernel, "bare heap": bare}
    if find_spec("simpy"):
        engines["SimPy"] = simpy_processes
    else:
        print('SimPy is not installed: pip install "foretrain[test]". Its turns are left out.')
    found = rates(engines, turns=TURNS, until=UNTIL)
    for name, each in found.items():
        print(f"{name:10} {median(each) / 1e6:5.2f} M events per processor second")
    share = ratio(found, "bare heap")
    print(f"kernel over the bare heap: {share:.2f} (limit {SHARE_OF_BARE})")
    good = share >= SHARE_OF_BARE
    if "SimPy" in found:
        times = ratio(found, "SimPy")
        print(f"kernel over SimPy: {times:.2f} (limit {QUICKER_THAN_SIMPY:g})")
        good = good and times >= QUICKER_THAN_SIMPY
    return good


if __name__ == "__main__":
    sys.exit(not main())
