"""Convolutions and what stands between them: laws, and numbers worked by hand."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.step.picture_kernels import (
    CONVOLUTIONS,
    convolution_times,
    kept_share,
    kernels_of_pictures,
    moving_times,
    of_family,
)
from foretrain.step.picture_rates import PictureRates
from foretrain.step.work import Tile, Tiling
from foretrain.workload.convolution.operators import Window, square
from foretrain.workload.convolution.trunk import Trunk
from foretrain.workload.graph import Model, operators_of
from foretrain.workload.library.entries import build

THREE = Window(size=3)
BYTES = 2.0
RATE = PictureRates(
    tiling=Tiling(tiles=(Tile(rows=128, columns=64),), fill=0.5, units=10.0, rate=1e12),
    squares=2.0,
    grouped=1.0,
    relaid=0.0,
    depthwise=1e10,
    depthwise_backward=5e9,
    memory=1e11,
    fused=0.0,
    fused_norms=0.0,
    norm_forward=1.0,
    norm_backward=1.0,
    drain=0.0,
    unshrunk=0.0,
)
batches = st.integers(1, 512).map(float)


def operators(build, *, side=16, channels=64):
    """The operators of a network whose first convolution is not what is looked at."""
    trunk = Trunk(square(side, channels=channels))
    trunk.convolve("stem", channels)
    build(trunk)
    layers = tuple(section.layer for section in trunk.finish("all").sections)
    return operators_of(Model(name="network", layers=layers)).take(np.array([1]))


def times(build, *, rate=RATE, micro_batch=8.0, **picture):
    found = convolution_times(
        operators(build, **picture), np.array([micro_batch]), value_bytes=BYTES, rate=rate
    )
    return [float(each[0, 0]) for each in found]


def square_window(trunk):
    trunk.convolve("square", 64, window=THREE)


def strided_window(trunk):
    trunk.convolve("strided", 64, window=Window(size=3, stride=2))


@few(20)
@given(micro_batch=batches)
def test_convolution_takes_at_least_its_flop_and_its_traffic(micro_batch):
    mine = operators(strided_window)
    flop = mine.flop[0, 0] * micro_batch / RATE.tiling.rate
    read = 64 * 16 * 16 * micro_batch * BYTES / RATE.memory
    for seconds in times(strided_window, micro_batch=micro_batch):
        assert seconds >= flop
        assert seconds >= read


def wide_window(trunk):
    trunk.convolve("wide", 64, window=Window(size=5))


def test_first_kernels_of_winograd_make_all_but_gradients_of_weights_quicker_by_its_factor():
    slow = replace(RATE, memory=1e30, squares=1.0)
    before = times(square_window, rate=slow)
    after = times(square_window, rate=replace(slow, squares=2.0, chosen=False))
    assert after == pytest.approx([before[0] / 2, before[1] / 2, before[2]])


def test_small_tiles_reach_past_the_edge_of_a_small_picture():
    slow = replace(RATE, memory=1e30, squares=1.0)
    before = times(square_window, rate=slow, side=7)[0]
    after = times(square_window, rate=replace(slow, squares=2.0, chosen=False), side=7)[0]
    assert after == pytest.approx(before / 2 * (8 / 7) ** 2)


@pytest.mark.parametrize("window", [square_window, wide_window])
def test_library_that_chooses_is_never_slower_for_having_more_to_choose_from(window):
    none, first, all_of_them = (
        times(window, rate=each)
        for each in (
            replace(RATE, squares=1.0),
            replace(RATE, squares=2.0, chosen=False),
            replace(RATE, squares=2.0),
        )
    )
    assert all(most <= some <= no for no, some, most in zip(none, first, all_of_them, strict=True))


def test_large_tiles_of_windows_of_five_need_a_sixth_of_the_products():
    free = replace(
        RATE, memory=1e30, tiling=replace(RATE.tiling, tiles=(Tile(rows=1, columns=1),), fill=1e-9)
    )
    before = times(wide_window, rate=replace(free, squares=1.0))[0]
    after = times(wide_window, rate=free)[0]
    assert before / after == pytest.approx(25 * 16 / 64, rel=0.02)


def test_large_tiles_are_not_chosen_where_what_they_transform_takes_longer():
    slow = replace(RATE, memory=1e9)
    first, chosen = (
        times(square_window, rate=replace(slow, chosen=each)) for each in (False, True)
    )
    assert first[:2] == chosen[:2]


def test_windows_unfolded_in_memory_are_written_and_read_sample_by_sample():
    free = replace(RATE, squares=1.0, memory=1e11)
    direct, lowered = (
        times(square_window, rate=replace(free, lowered=each), micro_batch=1.0)[0]
        for each in (False, True)
    )
    assert lowered - direct == pytest.approx(2.0 * 9 * 64 * 16 * 16 * BYTES / RATE.memory)
    many = times(square_window, rate=replace(free, lowered=True), micro_batch=8.0)[0]
    assert many == pytest.approx(8 * lowered)


def test_samples_start_no_quicker_than_the_host_starts_their_kernels():
    slow = replace(RATE, lowered=True, start=1.0)
    assert times(square_window, rate=slow, micro_batch=8.0) == [16.0] * 3


def test_winograd_leaves_strided_windows_alone():
    assert times(strided_window, rate=replace(RATE, squares=1.0)) == times(strided_window)


def test_laying_pictures_out_anew_moves_both_of_them_once_more():
    result, _, _ = times(square_window)
    relaid, _, _ = times(square_window, rate=replace(RATE, relaid=1.0))
    moved = 8.0 * 2 * 64 * 16 * 16 * BYTES / RATE.memory
    assert relaid - result == pytest.approx(moved + 2 * RATE.drain)


def test_copies_are_kernels_that_a_host_starts():
    network = operators_of(build("resnet-18", image=64))
    alone = kernels_of_pictures(network, RATE)
    copied = kernels_of_pictures(network, replace(RATE, relaid=1.0))
    assert np.array_equal(copied - alone, 2.0 * of_family(network, *CONVOLUTIONS))


def test_first_convolution_has_no_gradient_of_its_input():
    trunk = Trunk(square(16))
    trunk.convolve("stem", 64, window=THREE)
    trunk.convolve("second", 64, window=THREE)
    layers = tuple(section.layer for section in trunk.finish("all").sections)
    found = operators_of(Model(name="network", layers=layers))
    _, input_gradient, weight_gradient = convolution_times(
        found, np.array([8.0]), value_bytes=BYTES, rate=RATE
    )
    assert (input_gradient.ravel() > 0).tolist() == [False, True]
    assert (weight_gradient > 0).all()


@few(20)
@given(micro_batches=st.lists(batches, min_size=2, max_size=5))
def test_row_of_a_table_equals_the_plan_priced_alone(micro_batches):
    mine = operators(square_window)
    together = convolution_times(mine, np.array(micro_batches), value_bytes=BYTES, rate=RATE)
    for column, micro_batch in enumerate(micro_batches):
        alone = convolution_times(mine, np.array([micro_batch]), value_bytes=BYTES, rate=RATE)
        for many, one in zip(together, alone, strict=True):
            np.testing.assert_array_equal(many[:, column], one[:, 0])


def moved(build, *, rate=RATE, **picture):
    found = moving_times(operators(build, **picture), np.array([8.0]), value_bytes=BYTES, rate=rate)
    return [float(each[0, 0]) for each in found]


def test_norm_passes_over_its_picture_three_times_and_five_times_back():
    picture = 8.0 * 64 * 16 * 16 * BYTES / RATE.memory
    assert moved(lambda trunk: trunk.normalise("norm")) == pytest.approx([3 * picture, 5 * picture])


def test_statistics_that_others_take_save_a_norm_its_passes():
    saved = replace(RATE, norm_forward=2 / 3, norm_backward=3 / 5)
    picture = 8.0 * 64 * 16 * 16 * BYTES / RATE.memory
    assert moved(lambda trunk: trunk.normalise("norm"), rate=saved) == pytest.approx(
        [2 * picture, 3 * picture]
    )


def test_fused_activation_costs_nothing_and_starts_no_kernel():
    fused = replace(RATE, fused=1.0)
    mine = operators(lambda trunk: trunk.activate("activation"))
    assert moved(lambda trunk: trunk.activate("activation"), rate=fused) == [0.0, 0.0]
    assert kept_share(mine, fused) == 0.0
    assert kept_share(operators(lambda trunk: trunk.normalise("norm")), fused) == 1.0


def test_kernel_takes_a_while_however_little_it_does():
    slow = replace(RATE, drain=1.0)
    assert moved(lambda trunk: trunk.normalise("norm"), rate=slow) == pytest.approx(
        [1.0, 1.0], rel=0.01
    )
    assert times(square_window, rate=slow) == pytest.approx([1.0, 1.0, 1.0], rel=0.01)


def depthwise(trunk):
    trunk.convolve("depthwise", 64, window=THREE, groups=64)


def test_window_of_one_channel_takes_what_ordinary_cores_take():
    flop = 2.0 * 9 * 64 * 16 * 16 * 8.0
    assert moved(depthwise) == pytest.approx([flop / 1e10, 2 * flop / 5e9])


def test_window_of_one_channel_is_no_quicker_than_memory():
    quick = replace(RATE, depthwise=1e30, depthwise_backward=1e30)
    picture = 8.0 * 64 * 16 * 16 * BYTES / RATE.memory
    assert moved(depthwise, rate=quick) == pytest.approx([2 * picture, 4 * picture])
