"""Segments and replicas: a case worked by hand, the shapes that a cost model of cuts must have."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.queueing.replicas import (
    Pace,
    ReplicatedTraining,
    epoch_time,
    servers_needed,
)
from foretrain.queueing.segments import (
    DivisibleLayer,
    Machine,
    divisible_layers,
    memory_slowdown,
    remote_inputs,
    replica_cost,
)
from foretrain.workload.library.entries import build

MACHINE = Machine(
    slowdown=(1.0, 1.25, 1.75),
    multiply_add=1e-9,
    activation=2e-9,
    error=3e-9,
    memory=1e9,
    link=1e9,
    latency=1e-6,
    value=4.0,
)
FIRST = DivisibleLayer(
    name="first", connections=3e6, neurons=6e3, weights=3e6, inputs=500, kept=6500
)
SECOND = DivisibleLayer(
    name="second", connections=6e4, neurons=10, weights=6e4, inputs=6e3, kept=6010
)
TRAINING = ReplicatedTraining(samples=60_000, chunk=100, weights=3.06e6)


def test_two_layers_on_three_machines_as_worked_by_hand():
    found = replica_cost([FIRST, SECOND], MACHINE, segments=(3, 2), threads=2)
    # One third of the first layer: forward, and its weights' gradients; nobody wants its errors.
    first = (1e6 * 1e-9 + 2e3 * 2e-9) + 1e6 * 1e-9
    # One half of the second: forward, errors, gradients.
    second = (3e4 * 1e-9 + 5 * 2e-9) + (3e4 * 1e-9 + 5 * 3e-9) + 3e4 * 1e-9
    assert found.compute == pytest.approx(1.25 * (first + second), rel=1e-12)
    # A segment of the second layer holds a third of its 6,000 inputs and fetches two thirds.
    fetched = 4000 * 4.0
    # They come from the two other machines, one message each, and their errors go back.
    assert found.messages == pytest.approx(2 * (2 * 1e-6 + fetched / 1e9), rel=1e-12)
    assert found.traffic == pytest.approx(2 * fetched, rel=1e-12)
    weights = 2 * 4.0 * (1e6 + 3e4)
    context = 4.0 * (6500 / 3 + 6010 / 2 + 4000)
    assert found.memory == pytest.approx(weights + 2 * context, rel=1e-12)


def test_an_epoch_of_two_replicas_and_one_server_as_worked_by_hand():
    pace = Pace(sample=2e-3, threads=2.0, traffic=3e4, machines=3.0)
    found = epoch_time(pace, MACHINE, TRAINING, replicas=2.0, servers=1.0)
    moved = 2 * 3.06e6 * 4.0
    assert found.compute == pytest.approx(30_000 * 2e-3 / 2, rel=1e-12)
    assert found.links == pytest.approx(30_000 * 3e4 / 1e9 + 300 * moved / 3 / 1e9, rel=1e-12)
    assert found.servers == pytest.approx(600 * moved / 1e9, rel=1e-12)
    assert found.exposed == 0
    assert found.total == pytest.approx(30.0, rel=1e-12)
    waits = ReplicatedTraining(samples=60_000, chunk=100, weights=3.06e6, overlapped=False)
    apart = epoch_time(pace, MACHINE, waits, replicas=2.0, servers=1.0)
    assert apart.total == pytest.approx(30.0 + 300 * moved / 3 / 1e9, rel=1e-12)


def counted(inputs: int, reach: int, *, before: int, after: int) -> tuple[int, int]:
    """Values that segments lack and machines that have them, counted; all cuts come out even."""
    values, machines = 0, 0
    for place in range(after):
        needs = {
            value
            for value in range(inputs)
            if place * inputs // after - reach <= value < (place + 1) * inputs // after + reach
        }
        holds = (
            {*range(place * inputs // before, (place + 1) * inputs // before)}
            if place < before
            else set()
        )
        values = max(values, len(needs - holds))
        owners = {value * before // inputs for value in needs - holds}
        machines = max(machines, len(owners))
    return values, machines


@given(before=st.integers(1, 4), after=st.integers(1, 4), reach=st.integers(0, 24))
def test_values_fetched_are_those_counted_one_by_one(before, after, reach):
    layer = DivisibleLayer(
        name="any", connections=1, neurons=4, weights=1, inputs=24, kept=0, reach=reach / 24
    )
    found, place = remote_inputs(layer, most=4), (before - 1, after - 1)
    values, machines = counted(24, reach, before=before, after=after)
    assert found.values[place] == pytest.approx(values, abs=1e-9)
    assert found.messages[place] == machines


@given(reach=st.floats(0, 1), most=st.integers(1, 9))
def test_one_machine_fetches_nothing(reach, most):
    layer = DivisibleLayer(
        name="any", connections=1, neurons=9, weights=1, inputs=7, kept=0, reach=reach
    )
    found = remote_inputs(layer, most=most)
    assert found.values[0, 0] == found.messages[0, 0] == 0


def test_windows_of_one_pixel_fetch_nothing_where_cuts_are_equal():
    layer = DivisibleLayer(
        name="any", connections=1, neurons=9, weights=1, inputs=7, kept=0, reach=0.0
    )
    found = remote_inputs(layer, most=30)
    assert not np.diag(found.values).any()
    assert not np.diag(found.messages).any()


@given(scale=st.floats(0.1, 10), segments=st.tuples(st.integers(1, 6), st.integers(1, 6)))
def test_a_machine_that_is_so_many_times_quicker_in_all_takes_so_much_less_time(scale, segments):
    quick = Machine(
        slowdown=MACHINE.slowdown,
        multiply_add=MACHINE.multiply_add / scale,
        activation=MACHINE.activation / scale,
        error=MACHINE.error / scale,
        memory=MACHINE.memory,
        link=MACHINE.link * scale,
        latency=MACHINE.latency / scale,
    )
    slow = replica_cost([FIRST, SECOND], MACHINE, segments=segments, threads=3)
    found = replica_cost([FIRST, SECOND], quick, segments=segments, threads=3)
    assert found.sample == pytest.approx(slow.sample / scale, rel=1e-9)
    assert found.memory == slow.memory


def test_more_segments_help_first_and_hurt_in_the_end():
    layers = [
        DivisibleLayer(name=name, connections=1e6, neurons=1e3, weights=1e6, inputs=1e3, kept=2e3)
        for name in ("a", "b", "c")
    ]
    # Where a message takes long against a layer, as between machines far apart.
    far = Machine(slowdown=(1.0,), multiply_add=1e-9, memory=1e9, link=1e7, latency=1e-5)
    seconds = [
        replica_cost(layers, far, segments=(n, n, n), threads=1).sample for n in range(1, 41)
    ]
    best = seconds.index(min(seconds))
    assert 0 < best < 39
    assert seconds[:best] == sorted(seconds[:best], reverse=True)
    assert seconds[best:] == sorted(seconds[best:])


def test_throughput_grows_in_line_with_replicas_until_servers_are_full_and_then_stays():
    pace = Pace(sample=2e-3, threads=2.0, traffic=3e4, machines=3.0)
    replicas = np.arange(1.0, 21.0)
    found = epoch_time(pace, MACHINE, TRAINING, replicas=replicas, servers=1.0)
    rate = TRAINING.samples / found.total
    enough = 1.0 / servers_needed(pace, MACHINE, TRAINING, replicas=1.0)
    assert 2 < enough < 10
    np.testing.assert_allclose(rate[replicas <= enough], replicas[replicas <= enough] * rate[0])
    np.testing.assert_allclose(rate[replicas >= enough], enough * rate[0])


def test_a_row_of_replicas_equals_the_plan_priced_alone():
    pace = Pace(sample=2e-3, threads=2.0, traffic=3e4, machines=3.0)
    replicas, servers = np.array([1.0, 4.0, 9.0]), np.array([1.0, 3.0, 2.0])
    table = epoch_time(pace, MACHINE, TRAINING, replicas=replicas, servers=servers).total
    alone = [
        epoch_time(pace, MACHINE, TRAINING, replicas=r, servers=s).total
        for r, s in zip(replicas, servers, strict=True)
    ]
    np.testing.assert_array_equal(table, alone)


def test_staleness_that_wastes_samples_makes_more_replicas_worth_less():
    pace = Pace(sample=2e-3, threads=2.0, traffic=3e4, machines=3.0)
    stale = ReplicatedTraining(samples=60_000, chunk=100, weights=3.06e6, waste=0.1)
    many = epoch_time(pace, MACHINE, stale, replicas=3.0, servers=9.0)
    assert many.compute == pytest.approx(60_000 * 1.2 / 3 * 1e-3)


@given(share=st.floats(0, 1), cores=st.integers(1, 40))
def test_threads_speed_up_less_than_their_number_and_never_slow_a_machine_down(share, cores):
    slowdown = memory_slowdown(share, cores=cores)
    threads = np.arange(1, cores + 1)
    speedup = threads / np.array(slowdown)
    assert slowdown[0] == 1
    assert (speedup <= threads * (1 + 1e-12)).all()
    assert (np.diff(speedup) >= -1e-9).all()
    assert (np.array(slowdown) >= share * threads * (1 - 1e-9)).all()


def test_threads_that_never_need_memory_do_not_slow_one_another_down():
    assert memory_slowdown(0.0, cores=16) == (1.0,) * 16


def test_threads_that_need_nothing_but_memory_share_it():
    np.testing.assert_allclose(memory_slowdown(1.0, cores=16), np.arange(1, 17))


def test_thread_speed_up_of_a_replica_is_sublinear_by_the_slowdown():
    one, three = (
        replica_cost([FIRST, SECOND], MACHINE, segments=(1, 1), threads=threads)
        for threads in (1, 3)
    )
    assert (3 / three.sample) / (1 / one.sample) == pytest.approx(3 / 1.75)


def test_layers_of_alexnet_are_its_products_with_weights():
    model = build("alexnet", image=224)
    layers = divisible_layers(model)
    assert len(layers) == 8
    assert sum(layer.weights for layer in layers) == model.parameters
    flop = sum(operator.flop for _, operator in model.operators if operator.weights)
    assert 2 * sum(layer.connections for layer in layers) == flop
    assert [layer.reach == 1 for layer in layers] == 5 * [False] + 3 * [True]
    kept = sum(operator.kept.values for _, operator in model.operators)
    assert sum(layer.kept for layer in layers) == kept


def test_layers_that_repeat_stand_there_as_often():
    layers = divisible_layers(build("bert-base", sequence=512))
    assert len({layer.name for layer in layers}) < len(layers)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"neurons": 0}, "neurons must be at least 1, got 0"),
        ({"connections": -1}, "connections must be at least 0, got -1"),
        ({"reach": 1.5}, "reach must lie from 0 to 1, got 1.5"),
        ({"weights": float("nan")}, "weights must be at least 0, got nan"),
    ],
)
def test_a_layer_that_cannot_be_is_refused(change, told):
    whole = {"name": "x", "connections": 1, "neurons": 1, "weights": 1, "inputs": 1, "kept": 1}
    with pytest.raises(InputError, match=re.escape(told)):
        DivisibleLayer(**{**whole, **change})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"slowdown": ()}, "must begin with 1"),
        ({"slowdown": (1.0, 0.9)}, "must not fall"),
        ({"link": 0.0}, "link must be above 0, got 0.0"),
        ({"latency": -1.0}, "latency must be at least 0 s, got -1.0"),
    ],
)
def test_a_machine_that_cannot_be_is_refused(change, told):
    whole = {"slowdown": (1.0,), "multiply_add": 1e-9, "memory": 1e9, "link": 1e9}
    with pytest.raises(InputError, match=re.escape(told)):
        Machine(**{**whole, **change})


@pytest.mark.parametrize(
    ("segments", "threads", "told"),
    [
        ((1,), 1, "segments must be 2 numbers, got 1"),
        ((1, 11), 1, "segments of 'second' must number from 1 to 10, got 11"),
        ((1, 1), 4, "threads must number from 1 to 3, got 4"),
    ],
)
def test_a_cut_that_cannot_be_is_refused(segments, threads, told):
    with pytest.raises(InputError, match=re.escape(told)):
        replica_cost([FIRST, SECOND], MACHINE, segments=segments, threads=threads)


@pytest.mark.parametrize("change", [{"samples": 0}, {"chunk": -1}, {"waste": 1.0}, {"epochs": 0}])
def test_a_training_that_cannot_be_is_refused(change):
    with pytest.raises(InputError, match=f"ReplicatedTraining.{next(iter(change))} must be"):
        ReplicatedTraining(**{"samples": 1, "chunk": 1, "weights": 1, **change})
