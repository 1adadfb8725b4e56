"""Spatial parallelism: parts and borders of small pictures, counted pixel by pixel."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.step.strategies.spatial import SPATIAL
from foretrain.step.strategies.strategy import Axis, Pattern, Phase
from foretrain.workload.convolution.operators import Picture, Window, cube, square
from foretrain.workload.convolution.trunk import Trunk
from foretrain.workload.graph import operators_of
from foretrain.workload.library.entries import build


def network(picture, *windows, channels=8, classes=10):
    """Convolutions one after the other, and a connected layer over what is left."""
    trunk = Trunk(picture)
    for index, window in enumerate(windows, start=1):
        trunk.convolve(f"convolve {index}", channels, window=window)
        trunk.section(f"layer {index}")
    trunk.connect("classes", classes)
    return trunk.finish("head", cuttable=False).model("small")


def asked(model, grid, **fields):
    """The share and the transfers of one plan."""
    plans = table_of([Plan(context=prod(grid), grid=grid, **fields)])
    operators = operators_of(model)
    return SPATIAL.share(operators, plans), SPATIAL.transfers(operators, plans)


def sent(transfers, phase, *, pattern=Pattern.SEND):
    """Values of each message of each operator, by whom. [operator]"""
    found = [each for each in transfers if each.phase is phase and each.pattern is pattern]
    return {
        axis: [each.values[:, 0].tolist() for each in found if each.axis is axis]
        for axis in dict.fromkeys(each.axis for each in found)
    }


def summed(transfers, phase):
    """Values that all members add up, of each operator."""
    [values] = sent(transfers, phase, pattern=Pattern.ALL_REDUCE)[Axis.GRID]
    return values


def touched(sides, window, grid, place):
    """Pixels of the input that the windows of one part of the result read, one by one."""
    ranges = []
    for side, size, stride, many, at in zip(sides, *window, grid, place, strict=True):
        written = -(-side // stride)
        part = range(at * written // many, (at + 1) * written // many)
        before = (size - 1) // 2
        ranges.append({stride * one - before + tap for one in part for tap in range(size)})
    inside = [
        {pixel for pixel in each if 0 <= pixel < side}
        for each, side in zip(ranges, sides, strict=True)
    ]
    return set(product(*inside))


def own(sides, grid, place):
    """Pixels of the input that a part has."""
    ranges = [
        range(at * side // many, (at + 1) * side // many)
        for side, many, at in zip(sides, grid, place, strict=True)
    ]
    return set(product(*ranges))


@pytest.mark.parametrize("grid", [(2, 1), (2, 2), (4, 1), (4, 2), (4, 4)], ids=str)
@pytest.mark.parametrize(
    ("size", "stride"), [(3, 1), (5, 1), (3, 2), (7, 2), (1, 1), (1, 2), (2, 2)]
)
def test_borders_are_the_pixels_that_windows_read_of_other_parts(grid, size, stride):
    side, channels = 32, 3
    model = network(square(side, channels=channels), Window(size=size, stride=stride))
    _, transfers = asked(model, grid)
    ours = sum(values[0] for axis in sent(transfers, Phase.FORWARD).values() for values in axis)
    window = ((size, size), (stride, stride))
    theirs = max(
        len(touched((side, side), window, grid, place) - own((side, side), grid, place))
        for place in product(*map(range, grid))
    )
    assert ours == theirs * channels


def test_borders_of_gradients_reach_as_far_as_a_result_touches_the_input():
    """3 x 3 with stride 2: an input pixel at the lower edge belongs to one window of its own part,
    one at the upper edge also to the first window of the next part."""
    model = network(square(16), Window(size=1), Window(size=3, stride=2), channels=8)
    _, transfers = asked(model, (4, 1))
    forward, backward = (sent(transfers, phase)[Axis.GRID_1] for phase in Phase)
    assert forward == [[0.0, 1 * 16 * 8, 0.0]]
    assert backward == [[0.0, 1 * 8 * 8, 0.0]]


def test_samples_need_no_gradient():
    model = network(square(16), Window(size=3), Window(size=3))
    _, transfers = asked(model, (2, 1))
    [first] = sent(transfers, Phase.BACKWARD)[Axis.GRID_1]
    assert first == [0.0, 16 * 8, 0.0]


def test_windows_with_holes_reach_further():
    model = network(square(32), Window(size=3, dilation=4, padding=4))
    _, transfers = asked(model, (2, 1))
    assert sent(transfers, Phase.FORWARD)[Axis.GRID_1] == [[4 * 32 * 3, 0.0]]


def test_borders_of_a_volume_are_those_that_the_paper_prints():
    """4,194,304 bytes before the first convolution of CosmoFlow, one plane (kahira2021)."""
    model = network(cube(512, channels=4), Window(size=3, padding=0), channels=16)
    _, transfers = asked(model, (4, 1, 1))
    assert sent(transfers, Phase.FORWARD)[Axis.GRID_1] == [
        [4_194_304 / 4, 0.0],
        [4_194_304 / 4, 0.0],
    ]


@pytest.mark.parametrize(
    ("grid", "divisor"), [((2, 1), 2.0), ((2, 2), 4.0), ((3, 1), 16 / 6), ((5, 3), 256 / 24)]
)
def test_busiest_member_has_the_largest_part(grid, divisor):
    model = network(square(16), Window(size=3))
    share, _ = asked(model, grid)
    for part in (share.rows, share.moved, share.kept):
        assert part[0, 0] == pytest.approx(divisor)
        assert part[1, 0] == 1.0


def test_picture_is_gathered_where_an_operator_needs_all_of_it():
    model = network(square(16), Window(size=3), Window(size=3, stride=2))
    _, transfers = asked(model, (2, 2))
    assert sent(transfers, Phase.FORWARD, pattern=Pattern.ALL_GATHER) == {
        Axis.GRID: [[0.0, 8 * 8 * 8, 0.0]]
    }
    assert not any(map(sum, sent(transfers, Phase.BACKWARD, pattern=Pattern.ALL_GATHER).values()))


def test_picture_is_gathered_where_the_front_ends():
    model = network(square(16), Window(size=3), Window(size=3, stride=2))
    share, transfers = asked(model, (2, 2), split=1)
    [gathered] = sent(transfers, Phase.FORWARD, pattern=Pattern.ALL_GATHER)[Axis.GRID]
    assert gathered == [16 * 16 * 8, 0.0, 0.0]
    assert share.rows[:, 0].tolist() == [4.0, 1.0, 1.0]


def test_means_are_added_up_and_nothing_is_gathered_behind_them():
    trunk = Trunk(square(16))
    trunk.convolve("convolve", 8, window=Window(size=3))
    trunk.squeeze("squeeze", 2)
    trunk.section("layer")
    model = trunk.classify(10).model("small")
    _, transfers = asked(model, (2, 2))
    names = [operator.name for _, operator in model.operators]
    sums = {phase: dict(zip(names, summed(transfers, phase), strict=True)) for phase in Phase}
    assert {name for name, values in sums[Phase.FORWARD].items() if values} == {
        "squeeze means",
        "average pooling",
    }
    # What a gate scales comes back from every member's pixels; behind the last mean all are alike.
    assert {name for name, values in sums[Phase.BACKWARD].items() if values} == {"squeeze means"}
    assert sums[Phase.FORWARD]["squeeze means"] == 8
    assert not any(sent(transfers, Phase.FORWARD, pattern=Pattern.ALL_GATHER)[Axis.GRID][0])


@few(60)
@given(
    sides=st.lists(st.integers(4, 40), min_size=1, max_size=3),
    size=st.sampled_from([1, 3, 5]),
    data=st.data(),
)
def test_more_devices_have_less_to_compute_and_never_less_to_exchange_in_all(sides, size, data):
    model = network(Picture(channels=3, sides=tuple(sides)), Window(size=size))
    grid = tuple(data.draw(st.integers(1, side)) for side in sides)
    if prod(grid) == 1:
        return
    share, transfers = asked(model, grid)
    rows = np.broadcast_to(share.rows, (2, 1))
    assert 1.0 <= rows[0, 0] <= prod(grid)
    borders = sum(each.values.sum() for each in transfers if each.pattern is Pattern.SEND)
    assert (borders > 0) == (size > 1)


@pytest.mark.parametrize(
    ("model", "grid"), [(build("unet-2d"), (2, 2)), (build("v-net", image=64), (2, 2, 2))]
)
def test_networks_that_label_every_pixel_gather_no_picture(model, grid):
    _, transfers = asked(model, grid)
    assert not any(each.values.any() for each in transfers if each.pattern is Pattern.ALL_GATHER)
    assert any(each.values.any() for each in transfers if each.pattern is Pattern.SEND)
