"""Networks that label pixels of images and volumes."""

from __future__ import annotations

from functools import partial

from foretrain.workload.convolution.picture import Picture, cube
from foretrain.workload.convolution.segmentation import UNet, tiny_unet, unet, unet_2d, vnet
from foretrain.workload.library.convolutional import fixed, images

_VOLUME = (32, 64, 128, 256, 320, 320)
_SLICE = (32, 64, 128, 256, 512, 512)
_ISENSEE = "isensee2021, network topology"

ENTRIES = (
    fixed(
        "unet-2d",
        partial(unet_2d, 572),
        summary="U-Net as published, 2 classes, images of 572 pixels",
        source="ronneberger2015, figure 1",
        aliases=("unet", "u-net", "unet-medical"),
    ),
    fixed(
        "unet-3d",
        partial(unet, UNet(picture=cube(128, channels=4), channels=_VOLUME, classes=4)),
        summary="3-D U-Net, 4 classes, volumes of 128 pixels with 4 channels",
        source=_ISENSEE,
        aliases=("unet-3d-medical",),
    ),
    fixed(
        "unet-3d-kits",
        partial(unet, UNet(picture=cube(128, channels=1), channels=_VOLUME, classes=3)),
        summary="3-D U-Net of MLPerf, 3 classes, volumes of 128 pixels with 1 channel",
        source=_ISENSEE,
    ),
    fixed(
        "nnunet-3d",
        partial(
            unet, UNet(picture=cube(128, channels=4), channels=_VOLUME, classes=4, supervised=2)
        ),
        summary="nnU-Net for brain tumours, 4 classes, volumes of 128 pixels with 4 channels",
        source=_ISENSEE,
    ),
    fixed(
        "nnunet-2d",
        partial(
            unet,
            UNet(
                picture=Picture(channels=4, sides=(192, 160)),
                channels=_SLICE,
                classes=4,
                supervised=2,
            ),
        ),
        summary="nnU-Net for brain tumours, 4 classes, slices of 192 x 160 with 4 channels",
        source=_ISENSEE,
    ),
    fixed(
        "unet-industrial",
        partial(tiny_unet, 512),
        summary="TinyUNet (sizes from memory), one class, grey images of 512 pixels",
        source="ronneberger2015, figure 1, with NVIDIA's narrower widths",
    ),
    images(
        "v-net",
        partial(vnet, classes=2),
        summary="V-Net, 2 classes, cubic volumes with 1 channel",
        source="milletari2016, figure 2",
    ),
    fixed(
        "v-net-hippocampus",
        partial(vnet, 32, classes=3, window=3),
        summary="V-Net with windows of 3 (from memory), 3 classes, volumes of 32 pixels",
        source="milletari2016, figure 2, with the windows of NVIDIA's example",
        aliases=("vnet",),
    ),
)
