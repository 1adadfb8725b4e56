"""Networks that recommend: tables of users and items, and connected layers.

Tables are trained whole: their gradients and updates count for every row. The published code of
NeuMF and VAE-CF does that; that of DLRM and Wide & Deep updates only the rows that a batch met.

Networks that recommend.
"""

from __future__ import annotations

from foretrain.workload.convolution.operators import UNSPLIT_UNIT, loss, pointwise
from foretrain.workload.convolution.picture import Picture
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk
from foretrain.workload.library.convolutional import fixed
from foretrain.workload.operator import Matrices, Operator, OperatorKind, Size, matmul

MOVIELENS_USERS = 138_493
MOVIELENS_ITEMS = 26_744
"""Users and items of the ratings in MovieLens 20M. Source: harper2015."""

# fmt: off
CRITEO_ROWS = (
    7_912_889, 33_823, 17_139, 7_339, 20_046, 4, 7_105, 1_382, 63, 5_554_114, 582_469, 245_828, 11,
    2_209, 10_667, 104, 4, 968, 15, 8_165_896, 2_675_940, 7_156_453, 302_516, 12_022, 97, 35,
)
# fmt: on
"""Values of each of Criteo 1TB's 26 categories that occur 15 times or more.

Source: NVIDIA's DLRM (small), from memory; at 128 fp32 numbers a row they are its 15.6 GiB.
"""

OUTBRAIN_TABLES = {
    "document": (300_000, 128),
    "ad": (250_000, 128),
    "promoted document": (100_000, 128),
    "campaign": (5_000, 128),
    "source": (4_000, 64),
    "promoted source": (4_000, 64),
    "location": (2_500, 64),
    "advertiser": (2_500, 64),
    "state": (2_000, 64),
    "publisher": (1_000, 64),
    "promoted publisher": (1_000, 64),
    "country": (300, 64),
    "platform": (4, 16),
}
"""Rows and width of each table for Outbrain's clicks. Source: NVIDIA's Wide & Deep, from memory."""


def table(name: str, rows: int, width: int, *, looked_up: int = 1) -> Operator:
    """A table of which each sample reads, and changes, so many rows."""
    return Operator(
        name=name,
        kind=OperatorKind.MEMORY,
        weights=rows * width,
        forward=Size(values=2 * looked_up * width),
        backward=Size(values=3 * looked_up * width),
    )


def neural_collaborative_filtering() -> ConvolutionalNetwork:
    """NeuMF for MovieLens 20M: a product of 64 factors beside layers of 256, 256, 128 and 64.

    Source: he2017b, section 3.4; NVIDIA (sizes), from memory.
    """
    trunk = Trunk(Picture(channels=64, sides=(1,)))
    for part, width in (("factors", 64), ("layers", 128)):
        trunk.append(table(f"user {part}", MOVIELENS_USERS, width))
        trunk.append(table(f"item {part}", MOVIELENS_ITEMS, width))
    trunk.add("product of factors")
    layers = trunk.at(Picture(channels=256, sides=(1,)), kept=False)
    for features in (256, 128, 64):
        layers.connect(f"layer {features}", features)
        layers.activate(f"layer {features} activation")
    layers.join("join", trunk)
    layers.connect("score", 1)
    trunk.append(loss(1.0))
    return trunk.finish("network")


def variational_autoencoder(items: int = 20_108) -> ConvolutionalNetwork:
    """VAE-CF for MovieLens 20M: items to 600 to 200 hidden variables and back.

    Source: liang2018, section 4.3 (20,108 items are left of the data set).
    """
    trunk = Trunk(Picture(channels=items, sides=(1,)))
    trunk.connect("encode", 600)
    trunk.activate("encode activation", smooth=True)
    trunk.section("encoder")
    trunk.connect("mean and variance", 400)
    values = 200
    sampled = Operator(
        name="sample",
        kind=OperatorKind.MEMORY,
        forward=Size(values=4 * values),
        backward=Size(values=4 * values),
        kept=Size(values=3 * values),
    )
    trunk.append(sampled, Picture(channels=200, sides=(1,)))
    trunk.section("hidden")
    trunk.connect("decode", 600)
    trunk.activate("decode activation", smooth=True)
    trunk.section("decoder")
    trunk.connect("items", items)
    trunk.append(loss(float(items)))
    return trunk.finish("items")


def deep_learning_recommendation(
    rows: tuple[int, ...] = CRITEO_ROWS, width: int = 128
) -> ConvolutionalNetwork:
    """DLRM: the products of each pair of rows looked up, and of them with 13 numbers' layers.

    All tables are one in memory, looked up by one kernel; the products end with one zero, which
    brings them to a multiple of 8.

    Source: naumov2019, section 2; NVIDIA (sizes), from memory.
    """
    vectors = len(rows) + 1
    trunk = Trunk(Picture(channels=13, sides=(1,)))
    trunk.append(table("tables", sum(rows), width, looked_up=len(rows)))
    _layers(trunk, "bottom", (512, 256, width))
    trunk.append(_products(vectors, width))
    joined = width + vectors * (vectors - 1) // 2 + 1
    trunk.append(pointwise("join", joined, read=1), Picture(channels=joined, sides=(1,)))
    _layers(trunk, "top", (1024, 1024, 512, 256))
    trunk.connect("score", 1)
    trunk.append(loss(1.0))
    return trunk.finish("network")


def wide_and_deep() -> ConvolutionalNetwork:
    """Wide & Deep for Outbrain's clicks: a weight per category and number, beside five layers.

    Source: cheng2016, section 3; NVIDIA (sizes), from memory.
    """
    trunk = Trunk(Picture(channels=13, sides=(1,)))
    for name, (rows, width) in OUTBRAIN_TABLES.items():
        trunk.append(table(f"{name} wide", rows, 1))
        trunk.append(table(name, rows, width))
    trunk.at(trunk.picture, kept=False).connect("numbers wide", 1)
    joined = 13 + sum(width for _, width in OUTBRAIN_TABLES.values())
    trunk.append(pointwise("join", joined, read=1), Picture(channels=joined, sides=(1,)))
    _layers(trunk, "deep", (1024,) * 5)
    trunk.connect("score", 1)
    trunk.add("wide and deep", read=len(OUTBRAIN_TABLES) + 2)
    trunk.append(loss(1.0))
    return trunk.finish("network")


def _layers(trunk: Trunk, name: str, features: tuple[int, ...]) -> None:
    for index, width in enumerate(features, start=1):
        trunk.connect(f"{name} {index}", width)
        trunk.activate(f"{name} {index} activation")


def _products(vectors: int, width: int) -> Operator:
    """Every vector with every other one; half of the products are thrown away."""
    return matmul(
        "products of pairs",
        Matrices(rows=vectors, columns=vectors, depth=width),
        kept=Size(values=vectors * width),
        units=1,
        unit=UNSPLIT_UNIT,
    )


ENTRIES = (
    fixed(
        "ncf",
        neural_collaborative_filtering,
        summary="NeuMF for MovieLens 20M; a sample is one user with one item",
        source="he2017b, section 3.4",
        aliases=("neumf",),
    ),
    fixed(
        "vae-cf",
        variational_autoencoder,
        summary="variational autoencoder for MovieLens 20M; a sample is one user",
        source="liang2018, section 4",
    ),
    fixed(
        "dlrm",
        deep_learning_recommendation,
        summary="DLRM for Criteo 1TB, 26 tables of 128; a sample is one shown advertisement",
        source="naumov2019, section 2; sizes of NVIDIA's small model, from memory",
        aliases=("dlrm-small",),
    ),
    fixed(
        "wide-and-deep",
        wide_and_deep,
        summary="Wide & Deep for Outbrain's clicks; a sample is one shown advertisement",
        source="cheng2016, section 3; sizes of NVIDIA's model, from memory",
        aliases=("wideanddeep", "wide-deep"),
    ),
)
