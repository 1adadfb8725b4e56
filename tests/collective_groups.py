"""Networks and groups of members on them, for the tests of collectives."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from tests.random_nouns import clusters

from foretrain.cluster.link import Topology
from foretrain.cost.coefficients import DEFAULT
from foretrain.cost.collectives import EVERY
from foretrain.cost.collectives.network import Network, Wire, network

sizes = st.sampled_from([0.0, 1.0]) | st.floats(1.0, 1e12)


def wire(latency, bandwidth, *, adding=0.0):
    return Wire(latency=latency, alone=bandwidth, share=bandwidth, adding=adding)


def inside(*members):
    return [np.array([float(count)]) for count in members]


ONE = Network(wires=(wire(0.25, 2.0),), start=0.5, known=EVERY)
"""Eight devices, 1/4 s a hop, 2 bytes/s; half a second until the first message."""

TWO = Network(wires=(wire(0.25, 8.0), wire(0.5, 1.0)), start=0.0, known=EVERY)
"""Nodes of four: 1/4 s and 8 bytes/s inside; 1/2 s and 1 byte/s for each device outside."""


@st.composite
def networks(draw, *, kinds=tuple(Topology)):
    """A cluster's levels, of any shape, with or without switches that add up."""
    net = network(draw(clusters()), DEFAULT)
    wires = tuple(
        replace(
            wire,
            kind=draw(st.sampled_from(kinds)),
            adding=draw(st.sampled_from([0.0, 0.75])) * wire.share,
            members=8,
        )
        for wire in net.wires
    )
    return replace(net, wires=wires, known=EVERY)


@st.composite
def groups(draw, *, kinds=tuple(Topology)):
    """A group of members, and the network that it is on."""
    net = draw(networks(kinds=kinds))
    members, below = [], 1
    for _ in net.wires:
        below *= draw(st.sampled_from([1, 1, 2, 3, 4, 6, 8]))
        members.append(below)
    return inside(*members), net
