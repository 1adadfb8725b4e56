"""Networks without branches: LeNet, AlexNet, OverFeat, VGG, Adam's, CosmoFlow."""

from __future__ import annotations

from collections.abc import Sequence

from foretrain.workload.convolution.operators import Window, cube, square
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk

HALF = Window(size=2, stride=2, padding=0)
OVERLAPPING = Window(size=3, stride=2, padding=0)


def _convolution(
    trunk: Trunk, name: str, channels: int, *, window: Window, groups: int = 1
) -> None:
    """A convolution with bias and its ReLU."""
    trunk.convolve(name, channels, window=window, groups=groups, bias=True)
    trunk.activate(f"{name} activation")


def _classifier(trunk: Trunk, hidden: Sequence[int], classes: int) -> ConvolutionalNetwork:
    """Fully connected layers, each a section of its own."""
    for index, features in enumerate(hidden, start=1):
        trunk.connect("connect", features)
        trunk.activate("activation")
        trunk.section(f"connected {index}")
    trunk.connect("classes", classes)
    return trunk.finish("classifier")


def lenet_5(image: int) -> ConvolutionalNetwork:
    """LeNet-5 for ten digits; the second convolution reads every map.

    Source: lecun1998, figure 2 (whose second convolution reads some maps only).
    """
    trunk = Trunk(square(image, channels=1))
    for index, (channels, padding) in enumerate(((6, 2), (16, 0)), start=1):
        _convolution(trunk, "convolve", channels, window=Window(size=5, padding=padding))
        trunk.pool("pooling", HALF)
        trunk.section(f"convolution {index}")
    return _classifier(trunk, (120, 84), 10)


def mnist(image: int) -> ConvolutionalNetwork:
    """Two convolutions and two connected layers: the size that MNIST examples of frameworks have.

    Assumed: 32 and 64 channels of 5 x 5 windows, 512 connected features.
    """
    trunk = Trunk(square(image, channels=1))
    for index, channels in enumerate((32, 64), start=1):
        _convolution(trunk, "convolve", channels, window=Window(size=5))
        trunk.pool("pooling", HALF)
        trunk.section(f"convolution {index}")
    return _classifier(trunk, (512,), 10)


def alexnet(
    image: int,
    *,
    channels: tuple[int, int, int, int, int],
    hidden: tuple[int, ...] = (4096, 4096),
    classes: int = 1000,
    groups: int = 1,
) -> ConvolutionalNetwork:
    """Five convolutions, three of them before a pooling, and connected layers.

    Args:
        image: pixels per side.
        channels: of the five convolutions.
        hidden: features of the connected layers.
        classes: outputs of the classifier.
        groups: of the second, fourth and fifth convolution (2 for the original's two devices).

    Source: krizhevsky2012, section 3.5 (two groups); krizhevsky2014 (one).
    """
    windows = (
        Window(size=11, stride=4, padding=2),
        Window(size=5),
        Window(size=3),
        Window(size=3),
        Window(size=3),
    )
    trunk = Trunk(square(image))
    for index, (width, window) in enumerate(zip(channels, windows, strict=True), start=1):
        split = groups if index in {2, 4, 5} else 1
        _convolution(trunk, "convolve", width, window=window, groups=split)
        if index in {1, 2} and groups > 1:
            trunk.activate("local response", smooth=True)
        if index in {1, 2, 5}:
            trunk.pool("pooling", OVERLAPPING)
        trunk.section(f"convolution {index}")
    if trunk.picture.sides != (6, 6):
        trunk.average("average pooling", sides=6)
    return _classifier(trunk, hidden, classes)


def overfeat(image: int) -> ConvolutionalNetwork:
    """OverFeat, fast model, for images of 231 pixels.

    Source: sermanet2014, table 1.
    """
    rows = (
        (96, Window(size=11, stride=4, padding=0), True),
        (256, Window(size=5, padding=0), True),
        (512, Window(size=3), False),
        (1024, Window(size=3), False),
        (1024, Window(size=3), True),
    )
    trunk = Trunk(square(image))
    for index, (channels, window, pooled) in enumerate(rows, start=1):
        _convolution(trunk, "convolve", channels, window=window)
        if pooled:
            trunk.pool("pooling", HALF)
        trunk.section(f"convolution {index}")
    return _classifier(trunk, (3072, 4096), 1000)


def vgg(image: int, *, convolutions: tuple[int, ...]) -> ConvolutionalNetwork:
    """VGG without normalisation.

    Args:
        image: pixels per side.
        convolutions: of 3 x 3, between two poolings.

    Source: simonyan2015, table 1.
    """
    trunk = Trunk(square(image))
    for group, (channels, count) in enumerate(
        zip((64, 128, 256, 512, 512), convolutions, strict=True), start=1
    ):
        for index in range(1, count + 1):
            _convolution(trunk, "convolve", channels, window=Window(size=3))
            if index == count:
                trunk.pool("pooling", HALF)
            trunk.section(f"convolution {group}.{index}")
    if trunk.picture.sides != (7, 7):
        trunk.average("average pooling", sides=7)
    return _classifier(trunk, (4096, 4096), 1000)


def cosmoflow_512(image: int) -> ConvolutionalNetwork:
    """CosmoFlow for volumes of 512 pixels a side with 4 channels.

    Reconstructed from what is published of it: 2,128,064 weights without biases, 4 x 512^3 and
    16 x 255^3 values before the first two convolutions, 32 x 253^3 after the second.

    Source: kahira2021 (of the windows, only the first two are certain).
    """
    trunk = Trunk(cube(image, channels=4))
    rows = ((16, 3), (32, 3), (64, 3), (128, 3), (256, 2), (256, 2), (256, 2))
    for index, (channels, size) in enumerate(rows, start=1):
        trunk.convolve("convolve", channels, window=Window(size=size, padding=0))
        trunk.activate("activation")
        if min(trunk.picture.sides) > 1:
            trunk.pool("pooling", HALF, average=True)
        trunk.section(f"convolution {index}")
    trunk.connect("connect", 256, bias=False)
    trunk.activate("activation")
    trunk.section("connected")
    trunk.connect("parameters", 4, bias=False)
    return trunk.finish("head")


def cosmoflow(image: int) -> ConvolutionalNetwork:
    """CosmoFlow as MLPerf HPC trains it, for volumes of 128 pixels a side with 4 channels.

    Source: mlperf-hpc, cosmoflow.py (windows of 2, 32 channels doubled four times).
    """
    trunk = Trunk(cube(image, channels=4))
    for index, channels in enumerate((32, 64, 128, 256, 512), start=1):
        trunk.convolve("convolve", channels, window=Window(size=2), bias=True)
        trunk.activate("activation")
        trunk.pool("pooling", HALF)
        trunk.section(f"convolution {index}")
    return _classifier(trunk, (128, 64), 4)
