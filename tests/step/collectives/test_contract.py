"""Laws that every collective in the table keeps."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.collective_groups import ONE, groups, inside, sizes
from tests.examples import few

from foretrain.cluster.device import Topology
from foretrain.step.collectives import ALGORITHMS, EVERY
from foretrain.step.collectives.group import group
from foretrain.step.collectives.network import NCCL
from foretrain.step.strategies.strategy import Pattern

TABLE = {
    f"{pattern} {name}": (pattern, algorithm)
    for pattern, algorithms in ALGORITHMS.items()
    for name, algorithm in algorithms.items()
}
factors = st.floats(1.0, 100.0)


def seconds(name, members, net, *, size):
    line = TABLE[name][1](group(members, net))
    return float(line.fixed[0] + line.per_byte[0] * size)


def with_wires(net, change):
    """The network with one wire after the other changed."""
    for place, wire in enumerate(net.wires):
        yield replace(net, wires=(*net.wires[:place], change(wire), *net.wires[place + 1 :]))


@few(60)
@given(of=groups(), size=sizes)
def test_more_bytes_never_take_less_time(of, size):
    for name in TABLE:
        once, twice = (seconds(name, *of, size=bytes_) for bytes_ in (size, 2 * size))
        assert 0 <= once <= twice, name


@few(60)
@given(of=groups(), size=sizes, factor=factors)
def test_more_bandwidth_never_takes_more_time(of, size, factor):
    def wider(wire):
        return replace(
            wire,
            alone=wire.alone * factor,
            share=wire.share * factor,
            adding=wire.adding * factor,
        )

    nets = [*with_wires(of[1], wider)]
    for name in TABLE:
        before = seconds(name, *of, size=size)
        for net in nets:
            assert seconds(name, of[0], net, size=size) <= before * (1 + 1e-12), name


@few(60)
@given(of=groups(), size=sizes, factor=factors)
def test_longer_latency_never_takes_less_time(of, size, factor):
    nets = [*with_wires(of[1], lambda wire: replace(wire, latency=wire.latency * factor))]
    for name in TABLE:
        before = seconds(name, *of, size=size)
        for net in nets:
            assert seconds(name, of[0], net, size=size) >= before * (1 - 1e-12), name


@few(60)
@given(of=groups(), size=sizes, factor=factors)
def test_time_scales_with_all_rates_and_latencies(of, size, factor):
    members, net = of
    quicker = replace(
        net,
        wires=tuple(
            replace(
                wire,
                latency=wire.latency / factor,
                into_switch=wire.into_switch / factor,
                alone=wire.alone * factor,
                share=wire.share * factor,
                adding=wire.adding * factor,
            )
            for wire in net.wires
        ),
    )
    for name in TABLE:
        slow, quick = seconds(name, *of, size=size), seconds(name, members, quicker, size=size)
        assert quick == pytest.approx(slow / factor, rel=1e-9), name


@few(60)
@given(of=groups(), others=st.lists(st.integers(2, 5), min_size=1, max_size=4))
def test_row_of_a_table_equals_the_group_alone(of, others):
    members, net = of
    table = [np.concatenate([[level[0] * times for times in others], level]) for level in members]
    for name, (_, algorithm) in TABLE.items():
        together = algorithm(group(table, net))
        alone = algorithm(group(members, net))
        assert together.fixed[-1] == alone.fixed[0], name
        assert together.per_byte[-1] == alone.per_byte[0], name


@few(60)
@given(of=groups(kinds=(Topology.SWITCH,)), size=sizes)
def test_no_algorithm_without_switches_that_add_beats_the_bytes_that_must_arrive(of, size):
    members, net = of
    count = members[-1][0]
    levels = zip([np.ones(1), *members[:-1]], members, net.wires, strict=True)
    crossed = [(below[0], wire) for below, here, wire in levels if here > below]
    for name, (pattern, _) in TABLE.items():
        if count == 1 or "in-network" in name:
            continue
        # All members send at once, save that of neighbours in a line only the last leaves a unit:
        # it has the shares of those below, as far as its own port goes.
        alone = pattern is Pattern.SEND
        widest = sum(min(w.alone, below * w.share) if alone else w.share for below, w in crossed)
        passes = 2 if pattern is Pattern.ALL_REDUCE else 1
        least = passes * (count - 1) / count * size / widest
        assert seconds(name, *of, size=size) >= least * (1 - 1e-12), name


@few(60)
@given(of=groups(), size=sizes)
def test_no_shape_is_quicker_than_a_switch(of, size):
    members, net = of
    switches = replace(net, wires=tuple(replace(wire, kind=Topology.SWITCH) for wire in net.wires))
    for name in TABLE:
        least = seconds(name, members, switches, size=size)
        assert seconds(name, *of, size=size) >= least * (1 - 1e-12), name


@pytest.mark.parametrize("name", TABLE)
def test_two_members_exchange_at_least_one_message(name):
    line = TABLE[name][1](group(inside(2), ONE))
    assert line.fixed[0] >= 0.25


def test_names_of_the_default_are_names_of_the_table():
    assert NCCL < EVERY
