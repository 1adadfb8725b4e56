"""The optimizer: it finds what trying every plan finds, and prices few of them."""

import re
from dataclasses import replace
from itertools import product
from random import Random

import pytest

from foretrain.errors import InputError, NoPlanFits
from foretrain.queueing.provision import (
    MachinePrices,
    Provision,
    cheapest,
    cost_of,
    plan_space,
    provision,
)
from foretrain.queueing.replicas import Pace, ReplicatedTraining, epoch_time
from foretrain.queueing.segments import (
    DivisibleLayer,
    Machine,
    divisible_layers,
    memory_slowdown,
    replica_cost,
)
from foretrain.workload.library.entries import build

CASES = 200


def case(seed: int) -> tuple[list[DivisibleLayer], Machine, ReplicatedTraining, int]:
    """A network of two or three layers, machines and a training, of which any part may limit."""
    random = Random(seed)
    layers = [drawn_layer(random, place) for place in range(random.choice([2, 2, 3]))]
    weights = sum(layer.weights for layer in layers)
    machine = Machine(
        slowdown=memory_slowdown(random.random(), cores=random.randint(1, 3)),
        multiply_add=1e-9,
        activation=random.choice([0.0, 1e-8]),
        error=random.choice([0.0, 1e-8]),
        memory=random.choice([0.5, 1.0, 2.0, 20.0]) * 8.0 * weights + random.choice([0, 1e5]),
        link=10 ** random.uniform(5, 10),
        latency=random.choice([0.0, 10 ** random.uniform(-7, -3)]),
    )
    training = ReplicatedTraining(
        samples=10_000,
        chunk=random.choice([1, 30, 1000]),
        weights=weights,
        overlapped=random.random() < 0.5,
        waste=random.choice([0.0, 0.0, 0.1, 0.5]),
        epochs=random.choice([1, 3]),
    )
    return layers, machine, training, random.randint(2, 6)


def drawn_layer(random: Random, place: int) -> DivisibleLayer:
    neurons, inputs = random.choice([1, random.randint(2, 300)]), random.randint(1, 300)
    connections = neurons * inputs * random.choice([1, 10])
    return DivisibleLayer(
        name=f"layer {place}",
        connections=connections,
        neurons=neurons,
        weights=random.choice([1.0, 0.01]) * connections,
        inputs=inputs,
        kept=random.choice([0, 1, 10]) * inputs,
        reach=random.choice([1.0, 1.0, 0.0, 0.1]),
    )


def every_plan(layers, machine, training, machines):
    """The quickest plan of each (machines of a replica, threads, replicas, servers), all tried."""
    best = {}
    cuts = product(*(range(1, min(machines - 1, int(layer.neurons)) + 1) for layer in layers))
    for segments, threads in product(cuts, range(1, machine.cores + 1)):
        replica = replica_cost(layers, machine, segments=segments, threads=threads)
        if replica.memory > machine.memory:
            continue
        size = replica.machines
        pace = Pace(sample=replica.sample, threads=threads, traffic=replica.traffic, machines=size)
        for replicas in range(1, (machines - 1) // size + 1):
            for servers in range(1, machines - size * replicas + 1):
                time = epoch_time(pace, machine, training, replicas=replicas, servers=servers)
                plan = Provision(
                    replica=replica,
                    replicas=replicas,
                    servers=servers,
                    time=time.times(training.epochs),
                )
                key = (size, threads, replicas, servers)
                if key not in best or plan.time.total < best[key].time.total:
                    best[key] = plan
    # A server more that makes nothing quicker is not another plan.
    return [
        plan
        for (size, threads, replicas, servers), plan in best.items()
        if servers == 1
        or plan.time.total < best[size, threads, replicas, servers - 1].time.total * (1 - 1e-9)
    ]


def test_the_optimizer_finds_what_trying_every_plan_finds():
    fitting = 0
    for seed in range(CASES):
        layers, machine, training, machines = case(seed)
        plans = every_plan(layers, machine, training, machines)
        if not plans:
            with pytest.raises(NoPlanFits):
                provision(layers, machine, training, machines=machines)
            continue
        fitting += 1
        most = (1, 4, 1000)[seed % 3]
        found = provision(layers, machine, training, machines=machines, most=most)
        tried = sorted(float(plan.time.total) for plan in plans)[:most]
        told = [float(plan.time.total) for plan in found.plans]
        assert told == pytest.approx(tried, rel=1e-9), seed
        assert all(plan.machines <= machines for plan in found.plans)
        assert all(plan.replica.memory <= machine.memory for plan in found.plans)
    assert fitting > 0.7 * CASES


def test_the_cheapest_plan_in_time_is_that_of_all_plans():
    random = Random(7)
    for seed in range(0, CASES, 4):
        layers, machine, training, machines = case(seed)
        plans = every_plan(layers, machine, training, machines)
        if not plans:
            continue
        prices = MachinePrices(worker=random.random(), server=random.random())
        seconds = sorted(float(plan.time.total) for plan in plans)
        deadline = random.choice(seconds) * 1.000001
        timely = [plan for plan in plans if float(plan.time.total) <= deadline]
        found = cheapest(
            layers, machine, training, machines=machines, deadline=deadline, prices=prices
        )
        assert float(found.time.total) <= deadline
        least = min(cost_of(plan, prices) for plan in timely)
        assert cost_of(found, prices) == pytest.approx(least, rel=1e-9), seed


def test_the_space_counts_every_plan():
    layers, machine, _, _ = case(3)
    machines = 5
    counted = sum(
        machines - max(segments) * replicas
        for segments in product(
            *(range(1, min(machines - 1, int(layer.neurons)) + 1) for layer in layers)
        )
        for replicas in range(1, (machines - 1) // max(segments) + 1)
    )
    space = plan_space(layers, machines=machines, cores=machine.cores)
    assert space == counted * machine.cores


MACHINE = Machine(
    slowdown=memory_slowdown(0.15, cores=16),
    multiply_add=2.5e-10,
    memory=0.2e9,
    link=0.125e9,
    latency=5e-5,
)
TRAINING = ReplicatedTraining(samples=1_281_167, chunk=4096, weights=61.1e6, waste=0.05)


def test_eight_layers_on_twenty_machines_of_sixteen_cores_are_searched_by_few_prices():
    layers = divisible_layers(build("alexnet", image=224))
    found = provision(layers, MACHINE, TRAINING, machines=20)
    assert len(layers) == 8
    assert found.space > 1e11
    assert found.priced < 0.01 * found.space


def test_what_staleness_wastes_takes_replicas_away():
    layers = divisible_layers(build("alexnet", image=224))
    ample = replace(MACHINE, memory=64e9)
    free, dear = (
        provision(layers, ample, replace(TRAINING, waste=waste), machines=20).best
        for waste in (0.0, 0.5)
    )
    assert dear.replicas < free.replicas
    assert dear.replica.machines > free.replica.machines
    assert dear.time.total > free.time.total


def test_plans_come_by_time_and_each_number_of_machines_once():
    layers = divisible_layers(build("alexnet", image=224))
    plans = provision(layers, MACHINE, TRAINING, machines=20, most=8).plans
    seconds = [float(plan.time.total) for plan in plans]
    kinds = {(p.replica.machines, p.replica.threads, p.replicas, p.servers) for p in plans}
    assert len(plans) == len(kinds) == 8
    assert seconds == sorted(seconds)


def test_what_cannot_be_in_time_is_refused_with_the_earliest_end():
    layers = divisible_layers(build("alexnet", image=224))
    best = provision(layers, MACHINE, TRAINING, machines=20).best
    told = f"the quickest plan takes {float(best.time.total):g} s"
    with pytest.raises(NoPlanFits, match=re.escape(told)):
        cheapest(
            layers,
            MACHINE,
            TRAINING,
            machines=20,
            deadline=0.5 * float(best.time.total),
            prices=MachinePrices(worker=1.0, server=1.0),
        )


def test_what_is_wrong_with_a_question_is_named():
    layers, machine, training, _ = case(0)
    for machines in (1, 130):
        told = f"machines must number from 2, a replica and a server, to 129, got {machines}"
        with pytest.raises(InputError, match=told):
            provision(layers, machine, training, machines=machines)
    with pytest.raises(InputError, match="most must be at least 1 plan, got 0"):
        provision(layers, machine, training, machines=3, most=0)
    with pytest.raises(InputError, match=r"MachinePrices\.server must be at least 0"):
        MachinePrices(worker=1.0, server=-1.0)
