"""Filter and channel parallelism: what members have and exchange of small networks, by hand."""

import pytest

from foretrain.plan.plan import ChannelSplit, Plan
from foretrain.plan.table import table_of
from foretrain.step.strategies.channels import CHANNELS
from foretrain.step.strategies.strategy import Axis, Pattern, Phase
from foretrain.workload.convolution.operators import Window, square
from foretrain.workload.convolution.trunk import Trunk
from foretrain.workload.graph import operators_of

FILTER, CHANNEL = ChannelSplit
WINDOW = Window(size=3, stride=2)
READ, WRITTEN = 8 * 16 * 16, 12 * 8 * 8
"""Values of the second convolution's input and result."""


def network(*, groups=1, channels=12):
    """A whole convolution, one that is divided, and a connected layer."""
    trunk = Trunk(square(16))
    trunk.convolve("first", 8, window=Window(size=3))
    trunk.activate("activation")
    trunk.section("front")
    trunk.convolve("second", channels, window=WINDOW, groups=groups)
    trunk.section("rest")
    trunk.connect("classes", 10)
    return trunk.finish("head", cuttable=False).model("small")


def asked(model, kind, *, tensor=4, **fields):
    """The share, and the values of each exchange by operator."""
    operators = operators_of(model)
    plans = table_of([Plan(tensor=tensor, convolutions=kind, **fields)])
    names = [operator.name for _, operator in model.operators]
    moved = {}
    for each in CHANNELS.transfers(operators, plans):
        assert each.axis is Axis.TENSOR
        for name, values in zip(names, each.values[:, 0], strict=True):
            if values:
                moved[name, each.phase] = (each.pattern, values)
    return CHANNELS.share(operators, plans), names, moved


def test_filters_gather_results_and_add_up_gradients_of_inputs():
    share, names, moved = asked(network(), FILTER)
    assert moved == {
        ("first", Phase.FORWARD): (Pattern.ALL_GATHER, 8 * 16 * 16),
        ("second", Phase.FORWARD): (Pattern.ALL_GATHER, WRITTEN),
        ("second", Phase.BACKWARD): (Pattern.ALL_REDUCE, READ),
        ("classes", Phase.FORWARD): (Pattern.ALL_GATHER, 10),
        ("classes", Phase.BACKWARD): (Pattern.ALL_REDUCE, WRITTEN),
    }
    second = names.index("second")
    assert share.columns[second] == share.weights[second] == 4
    assert share.columns[names.index("activation")] == 1


def test_channels_add_up_results_and_gather_gradients_of_inputs():
    """Samples have three channels, which nobody divides."""
    share, names, moved = asked(network(), CHANNEL)
    assert moved == {
        ("second", Phase.FORWARD): (Pattern.ALL_REDUCE, WRITTEN),
        ("second", Phase.BACKWARD): (Pattern.ALL_GATHER, READ),
        ("classes", Phase.FORWARD): (Pattern.ALL_REDUCE, 10),
        ("classes", Phase.BACKWARD): (Pattern.ALL_GATHER, WRITTEN),
    }
    second, first = names.index("second"), names.index("first")
    assert share.depth[second] == share.weights[second] == 4
    assert share.depth[first] == share.weights[first] == 1


@pytest.mark.parametrize("kind", ChannelSplit)
@pytest.mark.parametrize(("groups", "channels"), [(4, 12), (8, 8)], ids=["grouped", "depthwise"])
def test_groups_are_divided_as_they_are(kind, groups, channels):
    share, names, moved = asked(network(groups=groups, channels=channels), kind)
    second = names.index("second")
    assert moved["second", Phase.FORWARD] == (Pattern.ALL_GATHER, channels * 8 * 8)
    assert moved["second", Phase.BACKWARD] == (Pattern.ALL_GATHER, READ)
    assert share.weights[second] == share.batch[second] == 4
    assert share.columns[second] == share.depth[second] == 1


def test_member_with_most_filters_sets_the_pace():
    """Eight filters among five members: somebody has two."""
    share, names, _ = asked(network(), FILTER, tensor=5)
    assert share.columns[names.index("first")] == 8 / 2
    assert share.columns[names.index("second")] == 12 / 3


def test_behind_the_front_every_member_has_all():
    share, names, moved = asked(network(), FILTER, split=1)
    assert {name for name, _ in moved} == {"first"}
    assert share.weights[names.index("second")] == 1


def test_members_of_a_grid_exchange_channels_of_their_own_pixels():
    _, _, moved = asked(network(), FILTER, context=4, grid=(2, 2))
    assert moved["second", Phase.FORWARD] == (Pattern.ALL_GATHER, WRITTEN / 4)
    assert moved["second", Phase.BACKWARD] == (Pattern.ALL_REDUCE, READ / 4)
    # The connected layer needs the whole picture, which was gathered for it.
    assert moved["classes", Phase.FORWARD] == (Pattern.ALL_GATHER, 10)
