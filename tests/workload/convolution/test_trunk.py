"""Trunks: what an operator keeps, what branches share, what a cut hands on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.small import network

from foretrain.errors import InputError
from foretrain.workload.convolution.operators import Picture, Window, cube, square
from foretrain.workload.convolution.plain import cosmoflow_512
from foretrain.workload.convolution.segmentation import unet
from foretrain.workload.convolution.trunk import Trunk
from foretrain.workload.operator import OperatorKind

THREE = Window(size=3)


def blocks(trunk):
    return trunk.finish("all").sections[0].blocks


def kept(trunk):
    return sum(block.operator.kept.values for block in blocks(trunk))


@given(groups=st.sampled_from([1, 2, 4, 8]))
def test_groups_divide_weights_and_flop(groups):
    trunk = Trunk(square(14, channels=32))
    trunk.convolve("whole", 32, window=THREE)
    trunk.convolve("grouped", 32, window=THREE, groups=groups)
    whole, grouped = (block.operator for block in blocks(trunk))
    assert grouped.weights * groups == whole.weights
    assert grouped.flop * groups == whole.flop


def test_convolution_over_each_channel_alone_is_limited_by_memory():
    trunk = Trunk(square(14, channels=32))
    trunk.convolve("depthwise", 32, window=THREE, groups=32)
    (block,) = blocks(trunk)
    assert block.operator.kind is OperatorKind.MEMORY
    assert block.operator.weights == 32 * 9
    assert block.operator.flop == 2 * 9 * 32 * 14 * 14
    assert block.operator.backward_flop == 2 * block.operator.flop


def test_volume_convolution_by_hand():
    trunk = Trunk(cube(8, channels=4))
    trunk.convolve("first", 16, window=Window(size=3, padding=0))
    (block,) = blocks(trunk)
    assert block.result == cube(6, channels=16)
    assert block.operator.flop == 2 * 6**3 * 16 * 4 * 27


def test_picture_that_two_branches_read_is_kept_once():
    trunk = Trunk(square(8, channels=4))
    other = trunk.fork()
    trunk.convolve("left", 4)
    other.convolve("right", 4)
    assert kept(trunk) == trunk.picture.values


def test_unit_keeps_the_inputs_of_convolution_and_normalisation_and_its_relu_works_in_place():
    trunk = Trunk(square(8, channels=4))
    trunk.unit("any", 6)
    assert kept(trunk) == (4 + 6) * 64


def test_smooth_activation_keeps_its_input_too():
    trunk = Trunk(square(8, channels=4))
    trunk.unit("any", 6, smooth=True)
    assert kept(trunk) == (4 + 6 + 6) * 64


def test_branches_join_by_channels():
    trunk = Trunk(square(8, channels=4))
    second = trunk.fork()
    trunk.convolve("left", 6)
    second.convolve("right", 10)
    trunk.join("join", second)
    assert trunk.picture == square(8, channels=16)


def test_result_of_a_relu_is_kept_where_branches_join():
    trunk = Trunk(square(8, channels=4))
    second = trunk.fork()
    trunk.convolve("left", 6)
    trunk.activate("activation")
    second.convolve("right", 10)
    trunk.join("join", second)
    assert blocks(trunk)[-1].operator.kept.values == 6 * 64


def test_enlarging_takes_back_a_halving():
    trunk = Trunk(square(8, channels=4))
    trunk.convolve("halve", 4, window=Window(size=2, stride=2))
    trunk.enlarge("enlarge", 4, bias=False)
    halve, enlarge = (block.operator for block in blocks(trunk))
    assert trunk.picture == square(8, channels=4)
    assert (enlarge.flop, enlarge.weights) == (halve.flop, halve.weights)


def test_cut_hands_on_the_pictures_that_are_carried_past_it():
    small = unet(picture=cube(16, channels=1), channels=(2, 4, 8), classes=2)
    down, deeper, bottom, up, _, _ = small.sections
    first, second = 2 * 16**3, 4 * 8**3
    assert down.output == first
    assert deeper.output == second + first
    assert bottom.output == 8 * 4**3 + second + first
    assert up.output == 4 * 8**3 + first


@pytest.mark.parametrize("build", [lambda side: network("vgg-11", side), cosmoflow_512])
def test_image_that_windows_use_up_is_refused(build):
    with pytest.raises(InputError, match="Give a larger image"):
        build(16)


def test_twice_the_sides_take_four_times_the_convolutions():
    def flop(image):
        return sum(
            section.repeats * block.operator.flop
            for section in network("mobilenet-v2", image).sections[:-1]
            for block in section.blocks
        )

    assert flop(448) == 4 * flop(224)


def test_halo_and_gathered_values_of_cosmoflow_are_those_of_its_authors():
    first, second = cosmoflow_512(512).sections[:2]
    assert 4 * first.blocks[0].picture.values / 512 == 4_194_304
    assert 4 * second.blocks[0].picture.values / 255 == 4_161_600
    assert 4 * second.blocks[0].result.values == 2_072_867_456


def test_window_and_pictures_of_every_convolution_can_be_read():
    block = network("vgg-16", 224).sections[0].blocks[0]
    assert block.window == THREE
    assert (block.picture, block.result) == (square(224), square(224, channels=64))
    assert Picture(channels=3, sides=(224, 224)) == block.picture


def test_bias_is_added_in_place_and_its_gradient_is_a_sum():
    trunk = Trunk(square(8))
    trunk.convolve("first", 16, window=THREE, bias=True)
    values = 16 * 8 * 8
    convolution, bias = (block.operator for block in trunk.finish("all").sections[0].blocks)
    assert (bias.forward.values, bias.backward.values) == (2 * values, values)
    assert (bias.weights, bias.kept.values) == (0, 0)
    assert convolution.weights == 3 * 16 * 9 + 16


def test_single_pixel_has_no_kernel_for_its_bias():
    trunk = Trunk(square(1, channels=16))
    trunk.convolve("first", 16, bias=True)
    assert len(trunk.finish("all").sections[0].blocks) == 1


def test_scales_of_squeezed_channels_pass_nine_times_over_their_picture_on_the_way_back():
    """Pixels: 2; added to the gradient of their means: 3; of scales: 3 to multiply, 1 to sum."""
    trunk = Trunk(square(8, channels=16))
    trunk.squeeze("squeeze", 4)
    scale = trunk.finish("all").sections[0].blocks[-1].operator
    assert scale.backward.values == 9 * 16 * 8 * 8
