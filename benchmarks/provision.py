"""The optimizer of segments, threads, replicas and servers: how much of all plans it prices.

    python benchmarks/provision.py

20 machines of 16 cores for the eight layers of AlexNet, with as much memory as they need, with so
little that a replica needs several machines, and with links that limit; and random networks of
eight layers, memory and links. The exit status is 1 if a search prices 1 % of the plans or takes
5 s.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from time import process_time

from foretrain.queueing.provision import provision
from foretrain.queueing.replicas import ReplicatedTraining
from foretrain.queueing.segments import DivisibleLayer, Machine, divisible_layers, memory_slowdown
from foretrain.workload.library.entries import build

MACHINES, CORES, LAYERS = 20, 16, 8
SEED, RANDOM = 20261124, 12
LIMIT, SHARE = 5.0, 0.01

MACHINE = Machine(
    slowdown=memory_slowdown(0.15, cores=CORES),
    multiply_add=2.5e-10,
    activation=1e-9,
    error=1e-9,
    memory=64e9,
    link=1.25e9,
    latency=5e-5,
)
TRAINING = ReplicatedTraining(samples=1_281_167, chunk=4096, weights=61.1e6, overlapped=True)

STALE = replace(TRAINING, waste=0.05)

Case = tuple[str, tuple[DivisibleLayer, ...], Machine, ReplicatedTraining]


def cases() -> Iterator[Case]:
    """Networks and machines, by name."""
    alexnet = divisible_layers(build("alexnet", image=224))
    yield "AlexNet", alexnet, MACHINE, TRAINING
    yield "AlexNet, 0.2 GB a machine", alexnet, replace(MACHINE, memory=0.2e9), TRAINING
    yield "AlexNet, 1 Gb/s links, stale", alexnet, replace(MACHINE, link=0.125e9), STALE
    random = Random(SEED)
    for number in range(RANDOM):
        layers = tuple(layer(random, place) for place in range(LAYERS))
        memory = random.uniform(0.2, 1.0) * 8.0 * sum(each.weights for each in layers)
        machine = replace(MACHINE, memory=memory, link=10 ** random.uniform(6, 9))
        yield f"random network {number + 1}", layers, machine, random.choice([TRAINING, STALE])


def layer(random: Random, place: int) -> DivisibleLayer:
    """One of any size, a convolution half of the time."""
    convolution, neurons = random.random() < 0.5, float(random.randint(100, 100_000))
    inputs = float(random.randint(1_000, 100_000))
    connections = neurons * (random.randint(25, 3000) if convolution else inputs)
    return DivisibleLayer(
        name=f"layer {place + 1}",
        connections=connections,
        neurons=neurons,
        weights=connections / random.randint(100, 3000) if convolution else connections,
        inputs=inputs,
        kept=inputs + neurons,
        reach=random.uniform(0.0, 0.2) if convolution else 1.0,
    )


def kept(case: Case) -> bool:
    """Print what a search finds and what it took; whether it keeps the limits."""
    name, layers, machine, training = case
    start = process_time()
    found = provision(layers, machine, training, machines=MACHINES)
    seconds = process_time() - start
    best = found.best
    print(
        f"{name}: {seconds:.2f} s (limit {LIMIT:g} s), {found.priced:,} of {found.space:.2g} plans"
        f" priced, {found.priced / found.space:.1e} (limit {SHARE:.0%})\n"
        f"    best: segments {best.replica.segments}, {best.replica.threads} threads,"
        f" {best.replicas} replicas, {best.servers} servers, {float(best.time.total):.4g} s"
    )
    return seconds < LIMIT and found.priced < SHARE * found.space


def main() -> bool:
    """Search every case; whether all keep the limits."""
    verdicts = [kept(case) for case in cases()]
    return all(verdicts)


if __name__ == "__main__":
    sys.exit(not main())
