"""Networks that classify images: ResNet in its version 1.5, and VGG."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from recorder.configuration import Family, Training, Vision

CLASSES = 1000
REPEATS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}
"""Blocks of each stage (He et al. 2016, table 1)."""
VGG_STAGES = {16: ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))}
"""Channels and convolutions of each stage (Simonyan and Zisserman 2015, table 1, column D)."""


def _convolution(inputs: int, outputs: int, size: int, *, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False),
        nn.BatchNorm2d(outputs),
    )


class Residual(nn.Module):
    """Two convolutions of 3x3, or the bottleneck of three with the stride in the second."""

    def __init__(self, inputs: int, channels: int, *, stride: int, bottleneck: bool) -> None:
        super().__init__()
        outputs = 4 * channels if bottleneck else channels
        sizes = (
            ((inputs, channels, 1, 1), (channels, channels, 3, stride), (channels, outputs, 1, 1))
            if bottleneck
            else ((inputs, channels, 3, stride), (channels, outputs, 3, 1))
        )
        self.convolutions = nn.ModuleList(
            _convolution(enter, leave, size, stride=step) for enter, leave, size, step in sizes
        )
        same = inputs == outputs and stride == 1
        self.shortcut = None if same else _convolution(inputs, outputs, 1, stride=stride)

    def forward(self, images: Tensor) -> Tensor:
        """The sum of both ways through the block."""
        short = images if self.shortcut is None else self.shortcut(images)
        for convolution in self.convolutions[:-1]:
            images = functional.relu(convolution(images), inplace=True)
        return functional.relu(self.convolutions[-1](images) + short, inplace=True)


def _resnet(depth: int) -> nn.Sequential:
    bottleneck = depth >= 50
    layers: list[nn.Module] = [
        _convolution(3, 64, 7, stride=2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    inputs = 64
    for stage, repeats in enumerate(REPEATS[depth]):
        channels = 64 * 2**stage
        for block in range(repeats):
            stride = 2 if stage and not block else 1
            layers.append(Residual(inputs, channels, stride=stride, bottleneck=bottleneck))
            inputs = 4 * channels if bottleneck else channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, CLASSES))


def _vgg(depth: int, image: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    inputs = 3
    for channels, repeats in VGG_STAGES[depth]:
        for _ in range(repeats):
            layers += [nn.Conv2d(inputs, channels, 3, padding=1), nn.ReLU(inplace=True)]
            inputs = channels
        layers.append(nn.MaxPool2d(2))
    layers.append(nn.Flatten())
    for wide in (inputs * (image // 32) ** 2, 4096):
        layers += [nn.Linear(wide, 4096), nn.ReLU(inplace=True), nn.Dropout()]
    return nn.Sequential(*layers, nn.Linear(4096, CLASSES))


class Classifier(nn.Module):
    """A network with its loss."""

    def __init__(self, training: Training) -> None:
        super().__init__()
        network = training.network
        assert isinstance(network, Vision)
        residual = network.family is Family.RESNET
        self.body = _resnet(network.depth) if residual else _vgg(network.depth, training.size)

    def forward(self, images: Tensor) -> Tensor:
        """The loss of naming what is on the images."""
        classes = torch.arange(len(images), device=images.device) % CLASSES
        return functional.cross_entropy(self.body(images).float(), classes)
