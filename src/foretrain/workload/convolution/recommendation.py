"""Networks that recommend: tables of users and items, and connected layers.

Tables are trained whole: their gradients and updates count for every row. The published code of
NeuMF and VAE-CF does that; that of DLRM and Wide & Deep updates only the rows that a batch met.
"""

from __future__ import annotations

from collections.abc import Mapping

from foretrain.workload.convolution.operators import Picture, loss, pointwise
from foretrain.workload.convolution.trunk import ConvolutionalNetwork, Trunk
from foretrain.workload.operator import UNDIVIDED, Matrices, Operator, Size, matmul


def table(name: str, rows: int, width: int, *, looked_up: int = 1) -> Operator:
    """A table of which each sample reads, and changes, so many rows."""
    return Operator(
        name=name,
        weights=rows * width,
        forward=Size(values=2 * looked_up * width),
        backward=Size(values=3 * looked_up * width),
    )


def neural_collaborative_filtering(*, users: int, items: int) -> ConvolutionalNetwork:
    """NeuMF: a product of 64 factors beside layers of 256, 256, 128 and 64.

    Source: he2017b, section 3.4; nvidia-examples (sizes), NCF, ncf.py.
    """
    trunk = Trunk(Picture(channels=64, sides=(1,)))
    for part, width in (("factors", 64), ("layers", 128)):
        trunk.append(table(f"user {part}", users, width))
        trunk.append(table(f"item {part}", items, width))
    trunk.add("product of factors")
    layers = trunk.at(Picture(channels=256, sides=(1,)), kept=False)
    for features in (256, 128, 64):
        layers.connect(f"layer {features}", features)
        layers.activate(f"layer {features} activation")
    layers.join("join", trunk)
    layers.connect("score", 1)
    trunk.append(loss(1.0))
    return trunk.finish("network")


def variational_autoencoder(*, items: int) -> ConvolutionalNetwork:
    """VAE-CF: items to 600 to 200 hidden variables and back.

    Source: liang2018, section 4.3.
    """
    trunk = Trunk(Picture(channels=items, sides=(1,)))
    trunk.connect("encode", 600)
    trunk.activate("encode activation", smooth=True)
    trunk.section("encoder")
    trunk.connect("mean and variance", 400)
    values = 200
    sampled = Operator(
        name="sample",
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


def deep_learning_recommendation(*, rows: tuple[int, ...], width: int) -> ConvolutionalNetwork:
    """DLRM: the products of each pair of rows looked up, and of them with 13 numbers' layers.

    Args:
        rows: of each table.
        width: of a row.

    All tables are one in memory, looked up by one kernel; the products end with one zero, which
    brings them to a multiple of 8.

    Source: naumov2019, section 2; nvidia-examples (sizes), DLRM.
    """
    vectors = len(rows) + 1
    trunk = Trunk(Picture(channels=13, sides=(1,)))
    trunk.append(table("tables", sum(rows), width, looked_up=len(rows)))
    _layers(trunk, "bottom", (512, 256, width))
    # Every vector with every other one; half of the products are thrown away.
    products = matmul(
        "products of pairs",
        Matrices(rows=vectors, columns=vectors, depth=width),
        kept=Size(values=vectors * width),
        units=1,
        unit=f"products of pairs have {UNDIVIDED}",
    )
    trunk.append(products)
    joined = width + vectors * (vectors - 1) // 2 + 1
    trunk.append(pointwise("join", joined, read=1), Picture(channels=joined, sides=(1,)))
    _layers(trunk, "top", (1024, 1024, 512, 256))
    trunk.connect("score", 1)
    trunk.append(loss(1.0))
    return trunk.finish("network")


def wide_and_deep(*, tables: Mapping[str, tuple[int, int]], numbers: int) -> ConvolutionalNetwork:
    """Wide & Deep: a weight per category and number, beside five layers.

    Categories of which a sample has several are looked up once here, and those that are no table
    (hour, platform, traffic, weekend, viewed) left out.

    Args:
        tables: rows and width of each.
        numbers: of a sample, beside its categories.

    Source: cheng2016, section 3; nvidia-examples (sizes), WideAndDeep, trainer/features.py.
    """
    trunk = Trunk(Picture(channels=numbers, sides=(1,)))
    for name, (rows, width) in tables.items():
        trunk.append(table(f"{name} wide", rows, 1))
        trunk.append(table(name, rows, width))
    trunk.at(trunk.picture, kept=False).connect("numbers wide", 1)
    joined = numbers + sum(width for _, width in tables.values())
    trunk.append(pointwise("join", joined, read=1), Picture(channels=joined, sides=(1,)))
    _layers(trunk, "deep", (1024,) * 5)
    trunk.connect("score", 1)
    trunk.add("wide and deep", read=len(tables) + 2)
    trunk.append(loss(1.0))
    return trunk.finish("network")


def _layers(trunk: Trunk, name: str, features: tuple[int, ...]) -> None:
    for index, width in enumerate(features, start=1):
        trunk.connect(f"{name} {index}", width)
        trunk.activate(f"{name} {index} activation")
