"""Networks and groups of members on them, for the tests of collectives."""

import numpy as np
from hypothesis import strategies as st

from foretrain.cluster.device import Topology
from foretrain.step.collectives import EVERY
from foretrain.step.collectives.network import Network, Protocol, Wire

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
def wires(draw, kinds):
    """A level of any shape, with or without a shared way out and switches that add up."""
    alone = draw(st.floats(1e9, 1e12))
    share = alone / draw(st.sampled_from([1.0, 1.0, 2.0, 8.0]))
    return Wire(
        latency=draw(st.sampled_from([0.0, 1e-7, 3.4e-6, 1e-4])),
        alone=alone,
        share=share,
        adding=draw(st.sampled_from([0.0, 0.75])) * share,
        kind=draw(st.sampled_from(kinds)),
        members=8,
        into_switch=draw(st.sampled_from([0.0, 1.25e-5])),
        chained=draw(st.booleans()),
        carries=frozenset(draw(st.sets(st.sampled_from(["LL", "LL128"])))),
    )


PROTOCOLS = (
    Protocol(name="LL", start=6.6e-6, hop=0.2, share=0.35),
    Protocol(name="LL128", start=1.4e-5, hop=0.45, share=0.85),
)


@st.composite
def groups(draw, *, kinds=tuple(Topology)):
    """A group of members, and the network that it is on."""
    levels = draw(st.lists(wires(kinds), min_size=1, max_size=3))
    start = draw(st.sampled_from([0.0, 8.4e-6]))
    net = Network(
        wires=tuple(levels),
        start=start,
        known=EVERY,
        piece=draw(st.sampled_from([0.0, 2.0**23])),
        protocols=draw(st.sampled_from([(), PROTOCOLS[:1], PROTOCOLS])),
    )
    members, below = [], 1
    for _ in net.wires:
        below *= draw(st.sampled_from([1, 1, 2, 3, 4, 6, 8]))
        members.append(below)
    return inside(*members), net
