"""Networks of pictures, speech and ratings: parameters and multiply-adds as others count them."""

import pytest
from tests.small import network

from foretrain.workload.convolution.residual import DenseNet, ResNet, densenet, resnet
from foretrain.workload.library.entries import build

BATCH_NORM_OF_RESNET_50 = 53_120
"""Scales and shifts, which torchvision's detectors keep fixed and do not count as parameters."""

# Printed by torchvision's model pages, unless said otherwise; recalled from memory.
EXACT = {
    ("alexnet", 224): 61_100_840,
    ("alexnet-two-towers", 224): 60_965_224,  # Caffe's reference network
    ("vgg-11", 224): 132_863_336,
    ("vgg-13", 224): 133_047_848,
    ("vgg-16", 224): 138_357_544,
    ("vgg-19", 224): 143_667_240,
    ("googlenet", 224): 6_624_904,
    ("inception-v3-auxiliary", None): 27_161_264,
    ("inception-v3", 299): 23_834_568,  # timm
    ("resnet-18", 224): 11_689_512,
    ("resnet-34", 224): 21_797_672,
    ("resnet-50", 224): 25_557_032,
    ("resnet-101", 224): 44_549_160,
    ("resnet-152", 224): 60_192_808,
    ("resnet-200", 224): 64_673_832,  # timm
    ("wide-resnet-50-2", 224): 68_883_240,
    ("resnext-50-32x4d", 224): 25_028_904,
    ("resnext-101-32x4d", 224): 44_177_704,  # timm
    ("resnext-101-32x8d", 224): 88_791_336,
    ("resnext-101-64x4d", 224): 83_455_272,
    ("se-resnext-101-32x4d", 224): 48_955_416,  # timm
    ("mobilenet-v2", 224): 3_504_872,
    ("efficientnet-b0", 224): 5_288_548,
    ("efficientnet-b1", 240): 7_794_184,
    ("efficientnet-b2", 288): 9_109_994,
    ("efficientnet-b3", 300): 12_233_232,
    ("efficientnet-b4", 380): 19_341_616,
    ("efficientnet-b5", 456): 30_389_784,
    ("efficientnet-b6", 528): 43_040_704,
    ("efficientnet-b7", 600): 66_347_960,
    ("efficientnet-v2-s", 384): 21_458_488,
    ("efficientnet-v2-m", 480): 54_139_356,
    ("efficientnet-v2-l", 480): 118_515_272,
    ("densenet-121", 224): 7_978_856,
    ("densenet-161", 224): 28_681_000,
    ("densenet-169", 224): 14_149_480,
    ("densenet-201", 224): 20_013_928,
    ("retinanet-resnet-50", 800): 34_014_999 + BATCH_NORM_OF_RESNET_50,
    ("mask-rcnn-resnet-50", None): 44_401_393 + BATCH_NORM_OF_RESNET_50,
    ("efficientdet-d0", 512): 3_880_067,  # its PyTorch implementation beside timm
    ("yolo-v3", 416): 61_949_149,  # its PyTorch implementation by Ultralytics
    ("jasper-10x5", None): 332_632_349,  # NVIDIA NeMo
    ("quartznet-15x5", None): 18_924_381,  # NVIDIA NeMo
    ("wav2vec2-base", None): 94_371_712 + 768 * 32 + 32,  # Transformers, and its letters
    ("wav2vec2-large", None): 315_438_720 + 1024 * 32 + 32,  # Transformers, and its letters
    ("lenet-5", None): 61_706,  # the usual form whose second convolution reads every map
    ("cosmoflow-512", 512): 2_128_064,  # kahira2021's own program
}

# Rounded as the source prints them, in millions.
ROUNDED = {
    ("overfeat", 231): (145, 1),  # sermanet2014, table 3
    ("inception-v1", 224): (7.0, 0.1),  # szegedy2015, table 1, without its auxiliary classifiers
    ("nnunet-3d", None): (31.2, 0.1),  # nnU-Net for brain tumours
    ("unet-2d", None): (31.03, 0.01),  # its usual implementations
    ("unet-industrial", None): (1.824945, 0.026),  # NVIDIA's TinyUNet; ours has 1.4 % more
    ("resnet-18-cifar-10", None): (11.17, 0.01),  # its usual implementation for 32 pixels
    ("ncf", None): (31.8, 0.1),  # NVIDIA's DeepLearningExamples
}

# Multiply-adds in 10^9: torchvision's model pages unless said otherwise, recalled from memory.
MULTIPLY_ADDS = {
    ("alexnet", 224): 0.714,
    ("alexnet-two-towers", 224): 0.724,  # Caffe's reference network
    ("vgg-11", 224): 7.609,
    ("vgg-16", 224): 15.47,
    ("vgg-19", 224): 19.632,
    ("googlenet", 224): 1.498,
    ("inception-v3", 299): 5.713,
    ("resnet-18", 224): 1.814,
    ("resnet-34", 224): 3.664,
    ("resnet-50", 224): 4.089,
    ("resnet-101", 224): 7.801,
    ("resnet-152", 224): 11.514,
    ("resnet-101-v1", 224): 7.6,  # he2016, table 1
    ("resnet-152-v1", 224): 11.3,  # he2016, table 1
    ("resnext-50-32x4d", 224): 4.23,
    ("resnext-101-32x8d", 224): 16.414,
    ("mobilenet-v2", 224): 0.301,
    ("efficientnet-b0", 224): 0.386,
    ("efficientnet-b4", 380): 4.394,
    ("efficientnet-v2-s", 384): 8.366,
    ("densenet-121", 224): 2.834,
    ("densenet-161", 224): 7.728,
    ("retinanet-resnet-50", 800): 151.54,
    ("yolo-v3", 416): 65.86 / 2,  # redmon2018, table 2 (FLOP)
    ("efficientdet-d0", 512): 2.5,  # tan2020, table 2
}


def built(name, size):
    if name in {"jasper-10x5", "quartznet-15x5", "wav2vec2-base", "wav2vec2-large"}:
        return build(name, sequence=1000)
    return build(name, image=size)


def test_parameters_are_exactly_the_published_ones():
    for (name, size), parameters in EXACT.items():
        assert built(name, size).parameters == parameters, name


def test_v_net_has_the_weights_of_its_figure():
    """125 per pair of channels in convolutions, 8 where sides are halved or doubled; norms 2."""
    left = {16: 1, 32: 2, 64: 3, 128: 3, 256: 3}
    right = {256: 3, 128: 3, 64: 2, 32: 1}
    wide = [125 * width * width * count for width, count in (*left.items(), *right.items())]
    first = 125 * 16 - 125 * 16 * 16
    halves = [8 * width * width // 2 for width in (32, 64, 128, 256)]
    doubles = [8 * 256 * 128, 8 * 256 * 64, 8 * 128 * 32, 8 * 64 * 16]
    norms = [2 * width * count for width, count in (*left.items(), *right.items())]
    norms += [2 * width for width in (32, 64, 128, 256)]
    labels = 32 * 2 + 2
    whole = sum(wide) + first + sum(halves) + sum(doubles) + sum(norms) + labels
    assert build("v-net", image=64).parameters == whole


def test_tiny_u_net_pools_four_times_and_is_widest_at_32_pixels_a_side():
    """`UNet_Industrial`: an input block and three more on the way down, 256 channels below."""
    model = build("unet-industrial", image=None)
    operators = [operator for _, operator in model.operators]
    names = [operator.name for operator in operators]
    assert sum("pooling" in name for name in names) == 4
    assert names.count("enlarge") == 4
    assert sum("join" in name for name in names) == 4
    widest = max(operator.weights for operator in operators)
    assert widest == 9 * 256 * 256 + 256


def test_tables_of_wide_and_deep_are_those_of_nvidias_features():
    """Seventeen tables of `trainer/features.py`, each with a weight per row, and 32 numbers."""
    rows = {128: (300_000, 250_000, 100_000)}
    rows[64] = (10_000,) * 2 + (4000,) * 2 + (2500,) * 2 + (2000,) + (1000,) * 2 + (350,) * 2
    rows[64] += (300,) + (100,) * 2
    assert sum(map(len, rows.values())) == 17
    tables = sum(width * sum(many) + sum(many) for width, many in rows.items())
    joined = 32 + sum(width * len(many) for width, many in rows.items())
    layers = sum(read * 1024 + 1024 for read in (joined, 1024, 1024, 1024, 1024))
    assert build("wide-and-deep", image=None).parameters == tables + layers + 33 + 1025


def test_tables_of_dlrm_take_what_nvidia_says():
    tables = next(part for _, part in build("dlrm").operators if part.name == "tables")
    assert tables.weights * 4 / 2**30 == pytest.approx(15.6, abs=0.05)


def test_layers_of_dlrm_have_the_weights_of_its_sizes():
    """Each layer has a bias; the top reads 128 numbers, 351 products of pairs, and a zero."""
    sizes = [(13, 512), (512, 256), (256, 128)]
    sizes += [(128 + 351 + 1, 1024), (1024, 1024), (1024, 512), (512, 256), (256, 1)]
    layers = [part for _, part in build("dlrm").operators if part.name != "tables"]
    whole = sum((inputs + 1) * outputs for inputs, outputs in sizes)
    assert sum(part.weights for part in layers) == whole


def test_parameters_round_to_the_published_ones():
    for (name, size), (millions, rounding) in ROUNDED.items():
        assert built(name, size).parameters / 1e6 == pytest.approx(millions, abs=rounding), name


def test_multiply_adds_are_within_one_percent_of_the_published_ones():
    for (name, size), multiply_adds in MULTIPLY_ADDS.items():
        flop = sum(layer.repeats * operator.flop for layer, operator in built(name, size).operators)
        assert flop / 2e9 == pytest.approx(multiply_adds, rel=0.01), name


# timm's tables at version 0.6 (2022): values that convolutions and connected layers write, in
# 10^6, and multiply-adds in 10^9, to which 2 per normalised value are added there.
TIMM = [
    (network("vgg-16", 224), 13.56, 15.47),
    (network("vgg-19", 224), 14.86, 19.63),
    (network("inception-v3", 299), 8.97, 5.73),
    (resnet(ResNet(blocks=(2, 2, 2, 2), bottleneck=False), 224), 2.48, 1.82),
    (resnet(ResNet(blocks=(3, 4, 6, 3)), 224), 11.11, 4.11),
    (resnet(ResNet(blocks=(3, 8, 36, 3)), 224), 22.56, 11.56),
    (resnet(ResNet(blocks=(3, 4, 23, 3), groups=32, width=4, squeeze=16), 224), 21.26, 8.02),
    (network("mobilenet-v2", 224), 6.68, 0.31),
    (network("efficientnet-b0", 224), 6.75, 0.40),
    (network("efficientnet-b4", 380), 49.49, 4.49),
    (network("efficientnet-v2-s", 300), 22.73, 5.35),
    (densenet(DenseNet(growth=32, blocks=(6, 12, 24, 16)), 224), 6.90, 2.87),
    (densenet(DenseNet(growth=48, blocks=(6, 12, 36, 24)), 224), 11.06, 7.79),
]


def blocks(network):
    return [(part.repeats, block) for part in network.sections for block in part.blocks]


@pytest.mark.parametrize(("network", "written", "_"), TIMM)
def test_convolutions_write_as_many_values_as_published(network, written, _):
    products = [(repeats, block) for repeats, block in blocks(network) if block.operator.flop]
    values = sum(repeats * block.result.values for repeats, block in products)
    assert values / 1e6 == pytest.approx(written, abs=0.006)


@pytest.mark.parametrize(("network", "_", "multiply_adds"), TIMM)
def test_multiply_adds_with_normalisation_round_to_those_of_timm(network, _, multiply_adds):
    flop = sum(repeats * block.operator.flop for repeats, block in blocks(network))
    normalised = sum(
        repeats * block.result.values
        for repeats, block in blocks(network)
        if block.operator.name.endswith("norm")
    )
    assert (flop / 2 + 2 * normalised) / 1e9 == pytest.approx(multiply_adds, abs=0.0075)
