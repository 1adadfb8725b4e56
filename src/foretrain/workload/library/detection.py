"""Networks that find objects in images."""

from __future__ import annotations

from functools import partial

from foretrain.workload.convolution.detection import mask_rcnn, retinanet, ssd
from foretrain.workload.convolution.efficientdet import EfficientDet, efficientdet
from foretrain.workload.convolution.inverted import efficientnet_shape
from foretrain.workload.convolution.resnet import ResNet
from foretrain.workload.convolution.yolo import yolo_v3
from foretrain.workload.library.convolutional import fixed, images

_LIU = "liu2016, figure 2 (backbone of MLPerf or NVIDIA, from memory)"
_OPEN_IMAGES = 264
"""Classes of OpenImages in MLPerf's RetinaNet. Source: MLPerf's rules, from memory."""

_RESNET_34 = ResNet(blocks=(3, 4, 6, 3), bottleneck=False)
_RESNET_50 = ResNet(blocks=(3, 4, 6, 3))
_RESNEXT_50 = ResNet(blocks=(3, 4, 6, 3), groups=32, width=4)
_D0 = EfficientDet(
    backbone=efficientnet_shape(width=1.0, depth=1.0), channels=64, crossings=3, layers=3
)

ENTRIES = (
    fixed(
        "ssd300-resnet-34",
        partial(ssd, _RESNET_34, 300, norm=False),
        summary="SSD on ResNet-34, 81 classes, images of 300 pixels",
        source=_LIU,
    ),
    fixed(
        "ssd300-resnet-50",
        partial(ssd, _RESNET_50, 300, norm=True),
        summary="SSD on ResNet-50, 81 classes, images of 300 pixels",
        source=_LIU,
        aliases=("ssd300", "ssd"),
    ),
    images(
        "retinanet-resnet-50",
        partial(retinanet, _RESNET_50, classes=91),
        summary="RetinaNet on ResNet-50 with a pyramid, 91 classes",
        source="lin2017b, section 4",
    ),
    images(
        "retinanet-resnext-50",
        partial(retinanet, _RESNEXT_50, classes=_OPEN_IMAGES),
        summary="RetinaNet on ResNeXt-50 32x4d with a pyramid, 264 classes",
        source="lin2017b, section 4",
        aliases=(
            "retinanet-resnext50",
            "retinanet",
            "retinanet-resnext50-(800x800,-openimages)",
        ),
    ),
    fixed(
        "mask-rcnn-resnet-50",
        partial(mask_rcnn, _RESNET_50, (800, 1344)),
        summary="Mask R-CNN on ResNet-50, images of 800 x 1344, 512 proposals (128 with a mask)",
        source="he2017, section 3",
        aliases=("mask-r-cnn-resnet-50-fpn", "mask-rcnn", "maskrcnn"),
    ),
    images(
        "efficientdet-d0",
        partial(efficientdet, _D0),
        summary="EfficientDet-D0, 90 classes",
        source="tan2020, table 1",
        aliases=("efficientdet",),
    ),
    images(
        "yolo-v3",
        partial(yolo_v3, classes=80),
        summary="YOLOv3, 80 classes",
        source="redmon2018, table 1",
        aliases=("yolov3",),
    ),
    images(
        "yolo-v3-voc",
        partial(yolo_v3, classes=20),
        summary="YOLOv3, the 20 classes of Pascal VOC",
        source="redmon2018, table 1",
    ),
)
