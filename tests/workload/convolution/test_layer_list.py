"""Layer lists: sizes become the library's operators; one time is spread by what rows compute."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.workload.convolution.layer_list import (
    LayerKind,
    ListedLayer,
    model_of_layers,
    spread,
)
from foretrain.workload.convolution.operators import Picture, Window, square
from foretrain.workload.library.entries import build

POINT = (1, 1)


def row(name, kind, picture, result, **fields):
    return ListedLayer(name=name, kind=LayerKind(kind), picture=picture, result=result, **fields)


def features(channels):
    return Picture(channels=channels, sides=POINT)


STEM = row(
    "stem", "convolution", square(8), square(4, channels=16), window=Window(size=3, stride=2)
)
NORM = row("norm", "norm", square(4, channels=16), square(4, channels=16))
RELU = row("activation", "activation", square(4, channels=16), square(4, channels=16))
POOL = row("pooling", "pooling", square(4, channels=16), features(16), window=Window(size=4))
HEAD = row("classes", "connected", features(16), features(10))
ROWS = (STEM, NORM, RELU, POOL, HEAD)


def passes(rows):
    operators = [each.operator for each in rows]
    return [each.seconds + each.backward_seconds for each in operators]


def test_rows_become_the_operators_that_the_library_has():
    listed = [each for _, each in model_of_layers("listed", ROWS).operators]
    lenet = {each.name: each for _, each in build("resnet-50", image=224).operators}
    assert [each.matrices is not None for each in listed] == [True, False, False, False, True]
    assert [each.weights for each in listed] == [3 * 16 * 9, 2 * 16, 0, 0, 160]
    assert listed[0].first
    assert not any(each.first for each in listed[1:])
    assert listed[0].flop == 2 * 3 * 16 * 9 * 16
    assert {type(each) for each in listed} == {type(each) for each in lenet.values()}


def test_row_that_states_a_count_has_it():
    stated = replace(STEM, weights=7.0, kept=11.0).operator
    assert (stated.weights, stated.kept.values) == (7.0, 11.0)
    other = row("table", "other", features(4), features(4), weights=100.0, flop=12.0).operator
    assert (other.weights, other.flop, other.backward_flop) == (100.0, 12.0, 12.0)


def test_rows_compute_what_the_oracle_counts():
    counted = [each.computes for each in ROWS]
    assert counted == [2 * 3 * 16 * 9 * 16, 4 * 256, 256, 16 * 16 * 1, 160]
    assert replace(POOL, flop=5.0).computes == 5.0
    assert row("dropout", "dropout", features(4), features(4)).computes == 0.0


@given(seconds=st.floats(1e-6, 10.0))
def test_seconds_of_the_network_are_spread_over_all_rows(seconds):
    found = passes(spread(ROWS, seconds))
    assert sum(found) == pytest.approx(seconds, rel=1e-12)
    costs = [2 * each.computes + each.operator.weights for each in ROWS]
    for mine, cost in zip(found, costs, strict=True):
        assert mine == pytest.approx(seconds * cost / sum(costs), rel=1e-12)


def test_convolution_takes_twice_as_long_back_and_each_pass_may_be_stated():
    (both,) = (replace(STEM, both=3.0).operator,)
    assert (both.seconds, both.backward_seconds) == (1.0, 2.0)
    each = replace(STEM, forward=1.0, backward=5.0).operator
    assert (each.seconds, each.backward_seconds) == (1.0, 5.0)
    assert STEM.operator.seconds is None
    free = replace(STEM, forward=0.0, backward=0.0).operator
    assert (free.seconds, free.backward_seconds) == (0.0, 0.0)
    (norm,) = (replace(NORM, both=8.0).operator,)
    assert (norm.seconds, norm.backward_seconds) == (3.0, 5.0)


def test_what_only_moves_values_reads_one_input_and_a_sum_two():
    added = replace(RELU, kind=LayerKind.ADDITION).operator
    assert (RELU.operator.forward.values, added.forward.values) == (2 * 256, 3 * 256)
    assert (POOL.operator.kept.values, RELU.operator.kept.values) == (256, 0)


def test_devices_share_channels_and_pixels_of_listed_layers_as_of_the_librarys():
    stem, norm, _, pool, head = (each for _, each in model_of_layers("listed", ROWS).operators)
    assert (stem.filters, stem.channels, head.filters, head.channels) == (16, 0, 10, 16)
    window = Window(size=3, stride=2)
    assert (stem.pixels.read, stem.pixels.written) == ((8, 8), (4, 4))
    assert stem.pixels.borders == window.borders(2)
    assert stem.pixels.gradients == window.gradient_borders(2)
    assert norm.pixels.borders == ((0, 0), (0, 0))
    assert (norm.pixels.averaged, pool.pixels.averaged, head.pixels) == (False, True, None)
    assert row("other", "other", square(4), square(4)).operator.pixels is None


def test_rows_of_one_layer_stay_together():
    together = [replace(each, layer="front") for each in ROWS[:3]]
    model = model_of_layers("listed", [*together, *ROWS[3:]])
    assert [each.name for each in model.layers] == ["front", "pooling", "classes"]
    assert [len(each.operators) for each in model.layers] == [3, 1, 1]
    assert (model.layers[0].input, model.layers[0].output) == (192.0, 256.0)
    stated = model_of_layers("listed", [replace(HEAD, inputs=99.0, outputs=7.0)]).layers[0]
    assert (stated.input, stated.output) == (99.0, 7.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"forward": 1.0}, "backward: is missing"),
        ({"backward": 1.0}, "forward: is missing"),
        ({"forward": 1.0, "backward": 1.0, "both": 2.0}, "state one or the other"),
        ({"groups": 2}, "groups: 2 do not divide the 3 channels"),
        ({"groups": 3}, "groups: 3 do not divide the 16 filters"),
    ],
)
def test_row_that_contradicts_itself_is_refused(fields, message):
    with pytest.raises(InputError, match=message):
        replace(STEM, **fields)


def test_time_of_the_network_beside_times_of_rows_is_refused():
    with pytest.raises(InputError, match="layer 'norm' has seconds of its own"):
        spread((STEM, replace(NORM, both=1.0)), 1.0)
    with pytest.raises(InputError, match="no layer computes anything"):
        spread((row("dropout", "dropout", features(4), features(4)),), 1.0)
