"""Entries of the library whose networks are trunks.

Convolutional networks that classify images or volumes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from foretrain.workload.convolution.inception import googlenet, inception_v3
from foretrain.workload.convolution.inverted import (
    EFFICIENTNET_V2_L,
    EFFICIENTNET_V2_M,
    EFFICIENTNET_V2_S,
    MOBILENET_V2,
    Inverted,
    efficientnet_shape,
    inverted,
)
from foretrain.workload.convolution.plain import (
    alexnet,
    cosmoflow,
    cosmoflow_512,
    lenet_5,
    mnist,
    overfeat,
    vgg,
)
from foretrain.workload.convolution.resnet import DenseNet, ResNet, densenet, resnet
from foretrain.workload.convolution.trunk import ConvolutionalNetwork
from foretrain.workload.graph import Model
from foretrain.workload.library.entry import Entry, SampleKind

Builder = Callable[[int], ConvolutionalNetwork]


def images(
    name: str,
    builder: Builder,
    *,
    summary: str,
    source: str,
    aliases: tuple[str, ...] = (),
    shape: object | None = None,
) -> Entry:
    """An entry for square images or volumes of any size."""
    return Entry(
        name=name,
        summary=summary,
        source=source,
        reads=SampleKind.IMAGE,
        build=partial(_model, builder),
        shape=shape,
        aliases=aliases,
    )


def frames(
    name: str, builder: Builder, *, summary: str, source: str, aliases: tuple[str, ...] = ()
) -> Entry:
    """An entry for speech, whose `sequence` is frames of 10 ms."""
    return Entry(
        name=name,
        summary=f"{summary}; sequence is frames of 10 ms",
        source=source,
        reads=SampleKind.TOKENS,
        build=partial(_model_of_frames, builder),
        aliases=aliases,
    )


def fixed(
    name: str,
    builder: Callable[[], ConvolutionalNetwork],
    *,
    summary: str,
    source: str,
    aliases: tuple[str, ...] = (),
) -> Entry:
    """An entry for samples of one size, which the summary states."""
    return Entry(
        name=name,
        summary=summary,
        source=source,
        reads=SampleKind.NOTHING,
        build=partial(_model_of_one_size, builder),
        aliases=aliases,
    )


def _model(builder: Builder, image: int) -> Model:
    return builder(image).model("network")


def _model_of_frames(builder: Builder, sequence: int) -> Model:
    return builder(sequence).model("network", tokens=sequence)


def _model_of_one_size(builder: Callable[[], ConvolutionalNetwork], _: int) -> Model:
    return builder().model("network")


_XIE = "xie2017, table 1"
_TAN = "tan2019, table 1"
_ONE_TOWER = (64, 192, 384, 256, 256)
_TWO_TOWERS = (96, 256, 384, 384, 256)
_TWICE = (128, 384, 768, 512, 512)
_IMAGENET_22K = 21_841


def _resnet(
    name: str,
    shape: ResNet,
    *,
    summary: str,
    source: str = "he2016, table 1",
    aliases: tuple[str, ...] = (),
) -> Entry:
    return images(
        name,
        partial(resnet, shape),
        summary=summary,
        source=source,
        aliases=aliases,
        shape=shape,
    )


def _vgg(depth: int, aliases: tuple[str, ...] = ()) -> Entry:
    return images(
        f"vgg-{depth}",
        partial(vgg, depth),
        summary=f"VGG, {depth} layers with weights, no normalisation, 1000 classes",
        source="simonyan2015, table 1",
        aliases=(f"vgg{depth}", *aliases),
    )


def _efficientnet(name: str, *, width: float, depth: float, wide: bool = False) -> Entry:
    squeeze = "wide squeeze-and-excitation, " if wide else ""
    return images(
        name,
        partial(inverted, efficientnet_shape(width=width, depth=depth, wide=wide)),
        summary=f"EfficientNet, {squeeze}{width} times as wide and {depth} times as deep as B0",
        source=_TAN,
        aliases=(name.replace("efficientnet", "efficientnet-v1"), f"tf-{name}"),
    )


def _efficientnet_v2(size: str, shape: Inverted) -> Entry:
    return images(
        f"efficientnet-v2-{size}",
        partial(inverted, shape),
        summary=f"EfficientNet v2-{size.upper()}, 1000 classes",
        source="tan2021, table 4",
        aliases=(f"efficientnetv2-{size}", f"tf-efficientnetv2-{size}"),
    )


def _densenet(depth: int, shape: DenseNet) -> Entry:
    return images(
        f"densenet-{depth}",
        partial(densenet, shape),
        summary=f"DenseNet-{depth}, growth {shape.growth}, 1000 classes",
        source="huang2017, table 1",
        aliases=(f"densenet{depth}",),
        shape=shape,
    )


_PLAIN = (
    fixed(
        "lenet-5",
        partial(lenet_5, 28),
        summary="LeNet-5, ten digits, images of 28 pixels",
        source="lecun1998, figure 2",
    ),
    fixed(
        "mnist-cnn",
        partial(mnist, 28),
        summary="two convolutions, two connected layers (sizes assumed), images of 28 pixels",
        source="chilimbi2014, section 5 (kind of layers only)",
    ),
    images(
        "alexnet",
        partial(alexnet, _ONE_TOWER),
        summary="AlexNet in one tower, 1000 classes",
        source="krizhevsky2014, section 5 and torchvision",
        aliases=("alexnet-owt", "alexnet-(owt)"),
    ),
    images(
        "alexnet-two-towers",
        partial(alexnet, _TWO_TOWERS, groups=2),
        summary="AlexNet as published, three convolutions in two groups, 1000 classes",
        source="krizhevsky2012, section 3.5",
    ),
    images(
        "adam-imagenet-22k",
        partial(alexnet, _TWICE, hidden=(3000, 3000, 3000), classes=_IMAGENET_22K),
        summary="AlexNet twice as wide (assumed), three layers of 3000, 21,841 classes",
        source="chilimbi2014, section 5 (connected layers; from memory)",
        aliases=("imagenet-22k",),
    ),
    images(
        "overfeat",
        overfeat,
        summary="OverFeat, fast model, 1000 classes",
        source="sermanet2014, table 1",
        aliases=("overfeat-fast",),
    ),
    _vgg(11, ("vgg-a",)),
    _vgg(13),
    _vgg(16),
    _vgg(19),
    images(
        "cosmoflow",
        cosmoflow,
        summary="CosmoFlow of MLPerf HPC, volumes with 4 channels, 4 outputs",
        source="mlperf-hpc, reference configuration (from memory)",
    ),
    images(
        "cosmoflow-512",
        cosmoflow_512,
        summary="CosmoFlow for volumes of 512 pixels a side (reconstructed), 4 outputs",
        source="kahira2021, table 3",
    ),
)

_RESNETS = (
    _resnet(
        "resnet-18",
        ResNet(blocks=(2, 2, 2, 2), bottleneck=False),
        summary="ResNet-18, 8 blocks, 1000 classes",
        aliases=("resnet18",),
    ),
    fixed(
        "resnet-18-cifar-10",
        partial(resnet, ResNet(blocks=(2, 2, 2, 2), bottleneck=False, stem=3, classes=10), 32),
        summary="ResNet-18 with a 3x3 stem without pooling, ten classes, images of 32 pixels",
        source="he2016, table 1 (stem: the usual form for small images)",
    ),
    _resnet(
        "resnet-34",
        ResNet(blocks=(3, 4, 6, 3), bottleneck=False),
        summary="ResNet-34, 16 blocks, 1000 classes",
        aliases=("resnet34",),
    ),
    _resnet(
        "resnet-50",
        ResNet(blocks=(3, 4, 6, 3)),
        summary="ResNet-50 v1.5, 16 bottlenecks, 1000 classes",
        aliases=("resnet50", "resnet50v1.5", "resnet-50-v1.5", "rn50v1.5"),
    ),
    _resnet(
        "resnet-50-22k",
        ResNet(blocks=(3, 4, 6, 3), classes=_IMAGENET_22K),
        summary="ResNet-50 v1.5 with the 21,841 classes of the whole ImageNet",
    ),
    _resnet(
        "resnet-101",
        ResNet(blocks=(3, 4, 23, 3)),
        summary="ResNet-101 v1.5, 33 bottlenecks, 1000 classes",
        aliases=("resnet101",),
    ),
    _resnet(
        "resnet-152",
        ResNet(blocks=(3, 8, 36, 3)),
        summary="ResNet-152 v1.5, 50 bottlenecks, 1000 classes",
        aliases=("resnet152",),
    ),
    _resnet(
        "resnet-50-v1",
        ResNet(blocks=(3, 4, 6, 3), early=True),
        summary="ResNet-50 as published, 1000 classes",
    ),
    _resnet(
        "resnet-101-v1",
        ResNet(blocks=(3, 4, 23, 3), early=True),
        summary="ResNet-101 as published, 1000 classes",
    ),
    _resnet(
        "resnet-152-v1",
        ResNet(blocks=(3, 8, 36, 3), early=True),
        summary="ResNet-152 as published, 1000 classes",
    ),
    _resnet(
        "wide-resnet-50-2",
        ResNet(blocks=(3, 4, 6, 3), width=128),
        summary="ResNet-50 with bottlenecks twice as wide inside, 1000 classes",
        source="zagoruyko2016, section 3",
        aliases=("wide-resnet50-2",),
    ),
    _resnet(
        "resnext-50-32x4d",
        ResNet(blocks=(3, 4, 6, 3), groups=32, width=4),
        summary="ResNeXt-50, 32 groups of 4, 1000 classes",
        source=_XIE,
        aliases=("resnext50-32x4d",),
    ),
    _resnet(
        "resnext-101-32x4d",
        ResNet(blocks=(3, 4, 23, 3), groups=32, width=4),
        summary="ResNeXt-101, 32 groups of 4, 1000 classes",
        source=_XIE,
        aliases=("resnext101-32x4d",),
    ),
    _resnet(
        "resnext-101-32x8d",
        ResNet(blocks=(3, 4, 23, 3), groups=32, width=8),
        summary="ResNeXt-101, 32 groups of 8, 1000 classes",
        source=_XIE,
        aliases=("resnext101-32x8d",),
    ),
    _resnet(
        "resnext-101-64x4d",
        ResNet(blocks=(3, 4, 23, 3), groups=64, width=4),
        summary="ResNeXt-101, 64 groups of 4, 1000 classes",
        source=_XIE,
        aliases=("resnext101-64x4d",),
    ),
    _resnet(
        "se-resnext-101-32x4d",
        ResNet(blocks=(3, 4, 23, 3), groups=32, width=4, squeeze=16),
        summary="ResNeXt-101, 32 groups of 4, squeeze and excitation, 1000 classes",
        source="hu2018, section 4",
        aliases=("se-resnext101-32x4d", "seresnext101-32x4d"),
    ),
)

_INCEPTIONS = (
    images(
        "googlenet",
        partial(googlenet, norm=True),
        summary="GoogLeNet with batch normalisation and 3x3 for 5x5, 1000 classes",
        source="szegedy2015, table 1 and torchvision",
    ),
    images(
        "inception-v1",
        partial(googlenet, norm=False),
        summary="GoogLeNet as published, no auxiliary classifiers, 1000 classes",
        source="szegedy2015, table 1",
        aliases=("googlenet-v1",),
    ),
    images(
        "inception-v1-auxiliary",
        partial(googlenet, norm=False, auxiliary=True),
        summary="GoogLeNet as published with two auxiliary classifiers, 1000 classes",
        source="szegedy2015, table 1",
    ),
    images(
        "inception-v3",
        inception_v3,
        summary="Inception v3, no auxiliary classifier, 1000 classes",
        source="szegedy2016, table 1",
        aliases=("inceptionv3", "inception3"),
    ),
    fixed(
        "inception-v3-auxiliary",
        partial(inception_v3, 299, auxiliary=True),
        summary="Inception v3 with its auxiliary classifier, images of 299 pixels",
        source="szegedy2016, table 1",
    ),
)

_SMALL = (
    images(
        "mobilenet-v2",
        partial(inverted, MOBILENET_V2),
        summary="MobileNet v2, 17 inverted residuals, 1000 classes",
        source="sandler2018, table 2",
        aliases=("mobilenetv2", "mobilenetv2-100"),
    ),
    _efficientnet("efficientnet-b0", width=1.0, depth=1.0),
    _efficientnet("efficientnet-b1", width=1.0, depth=1.1),
    _efficientnet("efficientnet-b2", width=1.1, depth=1.2),
    _efficientnet("efficientnet-b3", width=1.2, depth=1.4),
    _efficientnet("efficientnet-b4", width=1.4, depth=1.8),
    _efficientnet("efficientnet-b5", width=1.6, depth=2.2),
    _efficientnet("efficientnet-b6", width=1.8, depth=2.6),
    _efficientnet("efficientnet-b7", width=2.0, depth=3.1),
    _efficientnet("efficientnet-widese-b0", width=1.0, depth=1.0, wide=True),
    _efficientnet("efficientnet-widese-b4", width=1.4, depth=1.8, wide=True),
    _efficientnet_v2("s", EFFICIENTNET_V2_S),
    _efficientnet_v2("m", EFFICIENTNET_V2_M),
    _efficientnet_v2("l", EFFICIENTNET_V2_L),
    _densenet(121, DenseNet(growth=32, blocks=(6, 12, 24, 16))),
    _densenet(161, DenseNet(growth=48, blocks=(6, 12, 36, 24))),
    _densenet(169, DenseNet(growth=32, blocks=(6, 12, 32, 32))),
    _densenet(201, DenseNet(growth=32, blocks=(6, 12, 48, 32))),
)

ENTRIES = (*_PLAIN, *_RESNETS, *_INCEPTIONS, *_SMALL)
