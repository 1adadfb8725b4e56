"""Every collective by every algorithm, in seconds of latency and seconds per byte, written out.

Eight devices on one switch, a second away at a byte a second; and two nodes of four: a second and
4 bytes/s inside, 10 seconds and a byte a second for each device outside. Switches add up.
"""

import pytest
from tests.collective_groups import inside, wire

from foretrain.step.collectives import ALGORITHMS
from foretrain.step.collectives.group import group
from foretrain.step.collectives.network import Network
from foretrain.step.strategies.strategy import Pattern

ONE = Network(wires=(wire(1.0, 1.0, adding=1.0),), start=0.0)
TWO = Network(wires=(wire(1.0, 4.0, adding=4.0), wire(10.0, 1.0, adding=1.0)), start=0.0)

# Two experts of eight devices: 8 (1 - (7/8)^2) = 15/8 devices get a token, of two copies.
DISTINCT = 15 / 16
# Of two nodes: 2 (1 - (1/2)^2) = 3/2.
DISTINCT_NODES = 3 / 4

WRITTEN = {
    Pattern.ALL_REDUCE: {
        # patarasuk2009, equation 4. Around 8 devices in two nodes: of 8 hops two lead outside, and
        # the slowest 7 hold both; four rings leave a node, one for each device, at a byte a second.
        "ring": ((2 * 7, 2 * 7 / 8), (2 * (5 * 1 + 2 * 10), 2 * 7 / 8 / 4)),
        # kahira2021: of seven steps each waits for a hop outside, by one member's port.
        "single-ring": ((2 * 7, 2 * 7 / 8), (2 * 7 * 10, 2 * 7 / 8)),
        # sanders2009: up and down three levels, all bytes over the busiest link each way; of two
        # nodes each is the root for half. Whole messages wait for each hop.
        "tree": ((2 * 3, 2), (2 * (2 * 1 + 10), 2 / 4)),
        "tree-whole": ((2 * 3, 2 * 3), (2 * (2 * 1 + 10), 2 * (2 / 4 + 1 / 2 / 4))),
        # jia2018: three quarters inside, half of the quarter that is left outside, both twice.
        "hierarchical": ((2 * 7, 2 * 7 / 8), (2 * (3 * 1 + 10), 2 * (3 / 4 / 4 + 1 / 2 / 4))),
        # graham2016: every byte once into a switch.
        "in-network": ((2, 1), (2 * (1 + 10), 1 / 4)),
        "in-network-whole": ((2, 2), (2 * (1 + 10), 2 * (1 / 4 + 1 / 4))),
        "in-network-tree": ((2, 1), (2 * (1 + 10), 1 / 4)),
        "in-network-tree-whole": ((2, 2), (2 * (1 + 10), 2 * (1 / 4 + 1 / 4))),
        # thakur2005, section 4.5: everything in each of three rounds, or halves of halves.
        "doubling": ((3, 3), (2 * 1 + 10, 2 / 4 + 1)),
        "halving-doubling": ((2 * 3, 2 * 7 / 8), (2 * (2 + 10), 2 * (3 / 4 / 4 + 1 / 2 / 4))),
        # nvidia-nccl, symmetric memory: half of a device's parts leave its node.
        "direct": ((2, 2 * 7 / 8), (2 * 10, 2 * 4 / 8)),
        "direct-at-once": ((1, 7), (10, 4)),
    },
    Pattern.ALL_GATHER: {
        "ring": ((7, 7 / 8), (5 * 1 + 2 * 10, 7 / 8 / 4)),
        "single-ring": ((7, 7 / 8), (7 * 10, 7 / 8)),
        "hierarchical": ((7, 7 / 8), (3 * 1 + 10, 3 / 4 / 4 + 1 / 2 / 4)),
        "in-network": ((1, 7 / 8), (1 + 10, 3 / 4 / 4)),
        "in-network-whole": ((1, 7 / 8), (1 + 10, 3 / 4 / 4 + 1 / 2 / 4)),
        "doubling": ((3, 7 / 8), (2 * 1 + 10, 3 / 4 / 4 + 1 / 2 / 4)),
        "direct": ((1, 7 / 8), (10, 4 / 8)),
    },
    Pattern.ALL_TO_ALL: {
        # thakur2005, section 4.3: a step for each partner, three inside and four outside.
        "pairwise": ((7, 7 / 8), (3 * 1 + 4 * 10, 3 / 8 / 4 + 4 / 8)),
        # hwang2023: inside first, then one message to the other node.
        "hierarchical": ((7, 7 / 8), (3 * 1 + 10, 3 / 4 / 4 + 1 / 2)),
        "doubling": ((3, 3 / 2), (2 * 1 + 10, 2 / 2 / 4 + 1 / 2)),
        "direct": ((1, 7 / 8), (10, 4 / 8)),
    },
    Pattern.DISPATCH: {
        # deepseek2024v3, section 3.2.2: once to each device, or once to each node.
        "direct-dispatch": ((1, DISTINCT * 7 / 8), (10, DISTINCT * (3 / 8 / 4 + 4 / 8))),
        "forwarded": (
            (1, DISTINCT * 7 / 8),
            (1 + 10, DISTINCT * 3 / 4 / 4 + DISTINCT_NODES * 1 / 2),
        ),
    },
    # One message over the slowest hop; the last of a node has it as far as its own port goes.
    Pattern.SEND: {"neighbour": ((1, 1), (10, 1))},
    Pattern.BROADCAST: {
        "ring": ((7, 1), (6 * 1 + 10, 1 / 4)),
        "ring-whole": ((7, 7), (6 * 1 + 10, 6 / 4 + 1 / 4)),
        "tree": ((3, 1), (2 * 1 + 10, 1 / 4)),
        "tree-whole": ((3, 3), (2 * 1 + 10, 2 / 4 + 1 / 4)),
        "in-network": ((1, 1), (1 + 10, 1 / 4)),
        "in-network-whole": ((1, 1), (1 + 10, 1 / 4 + 1 / 4)),
        # thakur2005, section 4.2: a scatter and an all-gather.
        "halving-doubling": ((2 * 3, 2 * 7 / 8), (2 * (2 + 10), 2 * (3 / 4 / 4 + 1 / 2 / 4))),
    },
}


def test_every_algorithm_is_written_out():
    assert {pattern: set(several) for pattern, several in ALGORITHMS.items()} == {
        pattern: set(several) for pattern, several in WRITTEN.items()
    }


@pytest.mark.parametrize(
    ("pattern", "name"), [(pattern, name) for pattern in WRITTEN for name in WRITTEN[pattern]]
)
def test_algorithm_takes_what_is_written(pattern, name):
    copies = 2 if pattern is Pattern.DISPATCH else 1
    found = []
    for members, net in (((8,), ONE), ((4, 8), TWO)):
        line = ALGORITHMS[pattern][name](group(inside(*members), net, copies=copies))
        found.append((float(line.fixed[0]), float(line.per_byte[0])))
    assert found == [pytest.approx(line, rel=1e-12) for line in WRITTEN[pattern][name]]
