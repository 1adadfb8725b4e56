"""Networks that recommend: tables of users and items, and connected layers.

Tables are trained whole: their gradients and updates count for every row, as these two networks'
published code does. Networks of sparsely updated tables (DLRM, Wide & Deep) are not here.
"""

from __future__ import annotations

from foretrain.workload.library.convolution.network import Network
from foretrain.workload.library.convolution.operators import loss
from foretrain.workload.library.convolution.picture import Picture
from foretrain.workload.library.convolution.trunk import Trunk
from foretrain.workload.operator import Kind, Operator, Size

MOVIELENS_USERS = 138_493
MOVIELENS_ITEMS = 26_744
"""Users and items of the ratings in MovieLens 20M. Source: harper2015."""


def table(name: str, rows: int, width: int) -> Operator:
    """One row of a table per sample."""
    return Operator(
        name=name,
        kind=Kind.MEMORY,
        weights=rows * width,
        forward=Size(values=2 * width),
        backward=Size(values=3 * width),
    )


def neural_collaborative_filtering() -> Network:
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


def variational_autoencoder(items: int = 20_108) -> Network:
    """VAE-CF for MovieLens 20M: items to 600 to 200 hidden variables and back.

    Source: liang2018, section 4.3 (20,108 items are left of the data set).
    """
    trunk = Trunk(Picture(channels=items, sides=(1,)))
    trunk.connect("encode", 600)
    trunk.activate("encode activation", smooth=True)
    trunk.section("encoder")
    trunk.connect("mean and variance", 400)
    trunk.append(_sampled(200), Picture(channels=200, sides=(1,)))
    trunk.section("hidden")
    trunk.connect("decode", 600)
    trunk.activate("decode activation", smooth=True)
    trunk.section("decoder")
    trunk.connect("items", items)
    trunk.append(loss(float(items)))
    return trunk.finish("items")


def _sampled(values: int) -> Operator:
    return Operator(
        name="sample",
        kind=Kind.MEMORY,
        forward=Size(values=4 * values),
        backward=Size(values=4 * values),
        kept=Size(values=3 * values),
    )
