"""Two convolutions of 12 x 12 pixels, counted by hand under every way to divide pictures.

3 to 4 channels, 4 to 8, windows of 3 x 3, a norm and an activation after each; the second one
strides by two. Behind them a connection to 10 classes. Values have 2 bytes, gradients 4.

kahira2021, table III, for what is exchanged; dryden2019, section 3, for borders; patarasuk2009,
equation 4, for sums; thakur2005, section 4.1, for gathers.
"""

import numpy as np
import pytest
from tests.by_hand.meters import read, with_whole_products
from tests.step.strategies.policies import PICTURED, POLICIES

from foretrain.plan.plan import ChannelSplit, Plan, Sharding
from foretrain.plan.table import table_of
from foretrain.step.strategies import share_of
from foretrain.workload.convolution.operators import Window, square
from foretrain.workload.convolution.trunk import Trunk
from foretrain.workload.graph import operators_of
from foretrain.workload.workload import Workload

ONE, TWO = 9 * 3 * 4, 9 * 4 * 8  # windows
NORMS = 2 * 4 + 2 * 8
CLASSES = (8 * 36 + 1) * 10
SAMPLE, FIRST, SECOND = 3 * 144, 4 * 144, 8 * 36  # values of pictures
FLOP_ONE, FLOP_TWO, FLOP_CLASSES = 2 * 144 * ONE, 2 * 36 * TWO, 2 * 10 * 8 * 36
FILTER, CHANNEL = ChannelSplit


def sums(n):
    return 2 * (n - 1) / n


def gathers(n):
    return (n - 1) / n


def pictures():
    trunk = Trunk(square(12))
    for name, channels, stride in (("one", 4, 1), ("two", 8, 2)):
        trunk.unit(name, channels, window=Window(size=3, stride=stride))
        trunk.section(name)
    trunk.connect("classes", 10)
    return Workload(model=trunk.finish("classifier").model("by hand"), global_batch=16)


# Borders of a half: the first convolution reaches one row of 12 pixels, 3 channels, over the edge;
# the second one row of 4 channels. On the way back the second one's windows need one row of 6
# pixels, 8 channels, of the gradient beside them; the first one's input needs none.
HALVES = 2 * (12 * 3 + 12 * 4 + 6 * 8)

WRITTEN = {
    "spatial": (
        Plan(context=2, grid=(2, 1)),
        {
            "flop forward": (FLOP_ONE + FLOP_TWO) / 2 + FLOP_CLASSES,
            "flop backward": (FLOP_ONE + 2 * FLOP_TWO) / 2 + 2 * FLOP_CLASSES,
            "wire halo": HALVES + gathers(2) * 2 * SECOND,
            "calls halo": 3 + 1,
            "wire tensor": 0,
            "wire gradients": sums(2) * 4 * (ONE + TWO + NORMS + CLASSES),
            "bytes of weights": 2 * (ONE + TWO + NORMS + CLASSES),
            # Input and norm of both convolutions in halves, the connection's input whole.
            "bytes of activations": 2 * ((SAMPLE + FIRST + FIRST + SECOND) / 2 + SECOND),
        },
    ),
    "quarters": (
        Plan(context=4, grid=(2, 2)),
        {
            "flop forward": (FLOP_ONE + FLOP_TWO) / 4 + FLOP_CLASSES,
            # Half a row, then half a column with the corner that the row brought: 6 + 7 pixels of
            # inputs, 3 + 4 of the gradient.
            "wire halo": 2 * (13 * 3 + 13 * 4 + 7 * 8) + gathers(4) * 2 * SECOND,
            "calls halo": 2 * 3 + 1,
            "wire gradients": sums(4) * 4 * (ONE + TWO + NORMS + CLASSES),
        },
    ),
    "strips": (
        Plan(context=3, grid=(3, 1)),
        {
            # The middle one has neighbours on both sides: two rows of inputs before the first
            # convolution; the second one, which strides, reaches over its lower edge, and the
            # gradient of its result over the upper one.
            "wire halo": 2 * (2 * 12 * 3 + 12 * 4 + 6 * 8) + gathers(3) * 2 * SECOND,
            "calls halo": 2 + 1 + 1 + 1,
        },
    ),
    "spatial front": (
        Plan(context=2, grid=(2, 1), split=1),
        {
            "flop forward": FLOP_ONE / 2 + FLOP_TWO + FLOP_CLASSES,
            "wire halo": 2 * 12 * 3 + gathers(2) * 2 * FIRST,
            "calls halo": 1 + 1,
        },
    ),
    "filter": (
        Plan(tensor=2),
        {
            "flop forward": (FLOP_ONE + FLOP_TWO + FLOP_CLASSES) / 2,
            "flop backward": (FLOP_ONE + 2 * FLOP_TWO + 2 * FLOP_CLASSES) / 2,
            # Results are gathered; gradients of the inputs of all but the first are added up.
            "wire tensor": 2 * gathers(2) * (FIRST + SECOND + 10) + 2 * sums(2) * (FIRST + SECOND),
            "calls tensor": 3 + 2,
            "wire halo": 0,
            "wire gradients": 0,
            "bytes of weights": 2 * ((ONE + TWO + CLASSES) / 2 + NORMS),
            "bytes of optimizer": 12 * ((ONE + TWO + CLASSES) / 2 + NORMS),
            "bytes of activations": 2 * (SAMPLE + FIRST + FIRST + SECOND + SECOND),
        },
    ),
    "channel": (
        Plan(tensor=2, convolutions=CHANNEL),
        {
            # Samples have three channels, which stay together.
            "flop forward": FLOP_ONE + (FLOP_TWO + FLOP_CLASSES) / 2,
            "wire tensor": 2 * sums(2) * (SECOND + 10) + 2 * gathers(2) * (FIRST + SECOND),
            "calls tensor": 2 + 2,
            # Every member adds all biases of the classes to the sum.
            "bytes of weights": 2 * (ONE + (TWO + CLASSES - 10) / 2 + 10 + NORMS),
        },
    ),
    "data and filter": (
        Plan(data=2, tensor=2),
        {
            "wire tensor": 2 * gathers(2) * (FIRST + SECOND + 10) + 2 * sums(2) * (FIRST + SECOND),
            # Replicas have the same half of the weights.
            "wire gradients": sums(2) * 4 * ((ONE + TWO + CLASSES) / 2 + NORMS),
        },
    ),
    "data and spatial": (
        Plan(data=2, context=2, grid=(2, 1)),
        {
            "wire halo": HALVES + gathers(2) * 2 * SECOND,
            "wire gradients": sums(4) * 4 * (ONE + TWO + NORMS + CLASSES),
        },
    ),
    "sharded parameters and spatial": (
        Plan(context=2, grid=(2, 1), sharding=Sharding.PARAMETERS),
        {
            "wire halo": HALVES + gathers(2) * 2 * SECOND,
            "wire gathered": 2 * gathers(2) * 2 * (ONE + TWO + NORMS + CLASSES),
            "wire reduced": gathers(2) * 4 * (ONE + TWO + NORMS + CLASSES),
        },
    ),
    "spatial and filter": (
        Plan(context=2, grid=(2, 1), tensor=2),
        {
            "flop forward": (FLOP_ONE + FLOP_TWO) / 4 + FLOP_CLASSES / 2,
            # Gradients of its own half of the filters, borders of all channels that they read.
            "wire halo": HALVES - 2 * 6 * 4 + gathers(2) * 2 * SECOND,
            # Of its own half of the pixels; the connection reads all of them.
            "wire tensor": 2 * gathers(2) * ((FIRST + SECOND) / 2 + 10)
            + 2 * sums(2) * (FIRST / 2 + SECOND),
            "wire gradients": sums(2) * 4 * ((ONE + TWO + CLASSES) / 2 + NORMS),
        },
    ),
}


def products(plan):
    """FLOP of a device's part of each product, in both passes; samples have no gradient."""
    operators = operators_of(pictures().model)
    share = share_of(operators, table_of([plan]))
    divided = share.rows * share.columns * share.depth * share.batch
    back = np.where(operators.first, 1.0, 2.0)
    forward = operators.matmul * operators.flop / divided
    return forward.sum(), (back * forward).sum()


@pytest.mark.parametrize("name", WRITTEN)
def test_pictures_that_are_divided_take_what_is_written(name, monkeypatch):
    with_whole_products(monkeypatch)
    plan, written = WRITTEN[name]
    [[found]] = read(pictures(), [plan])
    found["flop forward"], found["flop backward"] = products(plan)
    wrong = {
        each: (found[each], amount)
        for each, amount in written.items()
        if found[each] != pytest.approx(amount, rel=1e-12, abs=1e-9)
    }
    assert not wrong


def test_stages_of_divided_pictures_send_their_own_part(monkeypatch):
    with_whole_products(monkeypatch)
    first, last = read(pictures(), [Plan(pipeline=2, context=2, grid=(2, 1))])[0]
    assert first["wire send"] == last["wire send"] == 2 * FIRST / 2
    assert first["wire halo"] == 2 * 12 * 3
    assert last["wire halo"] == 2 * (12 * 4 + 6 * 8) + gathers(2) * 2 * SECOND


def test_every_way_to_divide_pictures_is_written_out():
    assert set(PICTURED) <= set(WRITTEN)
    assert set(PICTURED) <= set(POLICIES)
