"""Convolutional networks."""

from __future__ import annotations

from foretrain.workload.graph import Model
from foretrain.workload.library.convolution import resnet_50
from foretrain.workload.library.entry import Entry, Reads


def _resnet_50(image: int) -> Model:
    return resnet_50(image=image, source="")


ENTRIES = (
    Entry(
        name="resnet-50",
        summary="ResNet-50 v1.5, 16 bottlenecks, 1000 classes",
        source="he2016, table 1",
        reads=Reads.IMAGE,
        build=_resnet_50,
        aliases=("resnet50",),
    ),
)
