"""ResNet-50: parameters exactly, FLOP and activations as others count them."""

import pytest

from foretrain.errors import InputError
from foretrain.workload.convolution.operators import Picture, Window
from foretrain.workload.convolution.residual import ResNet, resnet
from foretrain.workload.convolution.trunk import Trunk
from foretrain.workload.library.entries import build
from foretrain.workload.operator import OperatorKind

RESNET = build("resnet-50", image=224)


def products():
    return [
        (layer.repeats, operator)
        for layer, operator in RESNET.operators
        if operator.kind is OperatorKind.MATMUL
    ]


def test_resnet_50_has_25_557_032_parameters():
    assert RESNET.parameters == 25_557_032


def test_resnet_50_has_53_convolutions_and_a_classifier():
    assert sum(repeats for repeats, _ in products()) == 54


def test_resnet_50_takes_4_089_184_256_multiply_adds():
    assert sum(repeats * operator.flop / 2 for repeats, operator in products()) == 4_089_184_256


def test_convolutions_of_resnet_50_write_11_1_million_values():
    sizes = [
        (repeats, operator.matrices.rows * operator.matrices.columns)
        for repeats, operator in products()
    ]
    assert sum(repeats * values for repeats, values in sizes) == pytest.approx(11.1e6, rel=2e-3)


def test_resnet_50_is_cut_between_its_16_bottlenecks():
    assert RESNET.cuttable_layers == 16


def test_pictures_fit_from_layer_to_layer():
    for before, after in zip(RESNET.layers, RESNET.layers[1:], strict=False):
        assert before.output == after.input


def convolved(picture, channels, window):
    trunk = Trunk(picture)
    trunk.convolve("any", channels, window=window)
    (block,) = trunk.finish("all").sections[0].blocks
    return block


def test_stem_by_hand():
    block = convolved(Picture(channels=3, sides=(224, 224)), 64, Window(size=7, stride=2))
    product = block.operator
    assert block.result == Picture(channels=64, sides=(112, 112))
    assert product.weights == 64 * 3 * 7 * 7 == 9408
    assert product.flop == 2 * 112 * 112 * 9408 == 236_027_904
    assert product.kept.values == 3 * 224 * 224
    # Of the 7 x 7 values under the kernel, three quarters of the overlap is read again.
    read = product.matrices.rows * product.matrices.depth / product.matrices.reuse
    assert read == pytest.approx(3 * 224 * 224)


def test_odd_pictures_round_up():
    block = convolved(Picture(channels=1, sides=(7, 7)), 1, Window(size=3, stride=2))
    assert block.result.sides == (4, 4)


@pytest.mark.parametrize("image", [31, 0, -224])
def test_picture_too_small_for_five_halvings_is_refused(image):
    with pytest.raises(InputError, match="image must be at least 32 pixels"):
        build("resnet-50", image=image)


def test_convolutions_of_the_original_write_what_the_oracle_of_kahira2021_sums():
    """Its pooling has no padding: of 226 pixels 56 are left, as of 224 here."""
    network = resnet(ResNet(blocks=(3, 4, 6, 3), early=True), 224)
    values = sum(
        part.repeats * block.result.values
        for part in network.sections[1:-1]
        for block in part.blocks
        if block.window and block.operator.name != "project"
    )
    assert values + 64 * 113 * 113 == 9_096_256
