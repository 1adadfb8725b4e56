"""A cluster may name algorithms of the table; they stand in the place of the library's choice."""

from dataclasses import replace

import numpy as np
import pytest
from tests.collective_groups import inside
from tests.small import cluster

from foretrain.cluster.device import Link, Technology
from foretrain.errors import InputError
from foretrain.step.collective import algorithms, exchange, transfer
from foretrain.step.collectives import ALGORITHMS
from foretrain.step.collectives.network import network
from foretrain.step.strategies.strategy import Pattern
from foretrain.study.coefficients import DEFAULT

SIZES = [1e3, 1e6, 1e9]
MACHINE = cluster(nodes=2, node_devices=8)
PATTERNS = {"all-reduce": Pattern.ALL_REDUCE, "all-gather": Pattern.ALL_GATHER}


@pytest.mark.parametrize("kind", PATTERNS)
@pytest.mark.parametrize("name", ["hierarchical", "doubling"])
def test_algorithm_that_is_asked_for_is_the_only_one(kind, name):
    machine = replace(MACHINE, collectives=((kind, name),))
    found = algorithms(machine, DEFAULT, PATTERNS[kind], sizes=SIZES)
    assert set(found) == {name}


@pytest.mark.parametrize("name", ["ring", "single-ring"])
def test_ring_that_is_asked_for_keeps_its_protocols(name):
    machine = replace(MACHINE, collectives=(("all-reduce", name),))
    found = algorithms(machine, DEFAULT, Pattern.ALL_REDUCE, sizes=SIZES)
    assert {name.split()[0] for name in found} == {name}
    assert len(set(found)) > 1


def test_other_patterns_keep_their_choice():
    machine = replace(MACHINE, collectives=(("all-reduce", "single-ring"),))
    gathers = (transfer(it, DEFAULT, Pattern.ALL_GATHER, sizes=SIZES) for it in (machine, MACHINE))
    np.testing.assert_array_equal(*gathers)


def test_algorithm_of_another_pattern_is_unknown():
    assert "tree" not in ALGORITHMS[Pattern.ALL_GATHER]
    machine = replace(MACHINE, collectives=(("all-gather", "tree"),))
    with pytest.raises(InputError, match="unknown collective 'tree'"):
        transfer(machine, DEFAULT, Pattern.ALL_GATHER, sizes=SIZES)


def contended(factor, members):
    """Seconds of an all-reduce of a gigabyte, where links between nodes are contended."""
    node, fabric = MACHINE.levels
    link = replace(fabric.link, contention=factor)
    machine = replace(
        MACHINE,
        levels=(node, replace(fabric, link=link)),
        collectives=(("all-reduce", "single-ring"),),
    )
    still = DEFAULT.changed({"links.start": 0.0})
    groups = exchange(inside(*members), network(machine, still))
    return float(groups.seconds(np.array([1e15]), Pattern.ALL_REDUCE)[0])


@pytest.mark.parametrize("members", [(1, 2), (2, 4), (4, 8)])
def test_contention_divides_the_bandwidth_of_groups_that_leave_a_node_together(members):
    assert contended(8.0, members) == pytest.approx(8 * contended(None, members), rel=1e-6)
    assert contended(1.0, members) == contended(None, members)


@pytest.mark.parametrize("members", [(8, 16), (8, 8), (2, 2)])
def test_group_that_fills_its_nodes_or_stays_inside_one_is_not_contended(members):
    assert contended(8.0, members) == contended(None, members)


@pytest.mark.parametrize("factor", [0.0, 0.5, -1.0, float("nan"), float("inf")])
def test_contention_never_helps(factor):
    with pytest.raises(InputError, match="contention must be at least 1"):
        Link(latency=0, bandwidth=1, technology=Technology.NVLINK, contention=factor)
