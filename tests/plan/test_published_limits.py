"""Limits of each strategy on four published networks: the last degree runs, one more is refused.

kahira2021, table III: samples for data, pixels for spatial, filters, channels from the second layer
on, layers for pipelines; hybrids have the product of two. What is refused names who has too little.
"""

import pytest

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Level, Link, Technology
from foretrain.plan.legality import problems
from foretrain.plan.plan import ChannelSplit, Plan
from foretrain.study.catalogue import cluster
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Precision, Workload

FILTER, CHANNEL = ChannelSplit
V100 = cluster("abci", nodes=1).device
LINK = Link(latency=1e-6, bandwidth=1e9, technology=Technology.INFINIBAND)
BATCH = 64

NETWORKS = {
    # fewest pixels of a side and who has them; fewest filters and channels; layers of a pipeline
    "resnet-50": (224, 7, "group 5", 64, "stem", 64, "group 2 first", 16),
    "resnet-152": (224, 7, "group 5", 64, "stem", 64, "group 2 first", 50),
    "vgg-16": (224, 7, "convolution 5.3", 64, "convolution 1.1", 64, "convolution 1.2", 16),
    "cosmoflow": (128, 4, "convolution 5", 32, "convolution 1", 32, "convolution 2", 8),
}
SPLIT = {"cosmoflow": 5}
"""Layers of the front, where what is behind has fewer outputs than devices."""


def told(network, **fields):
    """Why a plan of a network cannot run on as many devices as it uses."""
    image = NETWORKS[network][0]
    model = build(network, image=image)
    workload = Workload(model=model, global_batch=BATCH, precision=Precision.FP32)
    plan = Plan(**{"split": SPLIT.get(network, 0) * ("pipeline" not in fields), **fields})
    here = Cluster(
        name="as many as asked for",
        device=V100,
        levels=(Level(name="node", members=plan.devices, link=LINK),),
    )
    return problems(workload, here, plan)


@pytest.mark.parametrize("network", NETWORKS)
def test_data_parallelism_has_a_sample_for_each(network):
    assert told(network, data=BATCH) == []
    [found] = told(network, data=BATCH + 1)
    assert found.startswith("plan.data: 65 replicas do not divide the 64 samples")


@pytest.mark.parametrize("network", NETWORKS)
def test_spatial_parallelism_has_a_pixel_for_each(network):
    _, least, where, *_ = NETWORKS[network]
    dimensions = 3 if network == "cosmoflow" else 2
    most = (least,) * dimensions
    assert told(network, grid=most, context=least**dimensions) == []
    more = (least + 1, *most[1:])
    [found] = told(network, grid=more, context=(least + 1) * least ** (dimensions - 1))
    assert f"cannot share the {least} pixels along dimension 1" in found
    assert f"of layer '{where}" in found


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kind", ChannelSplit)
def test_filter_and_channel_parallelism_have_one_for_each(network, kind):
    _, _, _, filters, first, channels, second, _ = NETWORKS[network]
    most, where = (filters, first) if kind is FILTER else (channels, second)
    assert told(network, tensor=most, convolutions=kind) == []
    [found] = told(network, tensor=most + 1, convolutions=kind)
    what = "filters" if kind is FILTER else "channels"
    assert f"{most + 1} devices cannot share the {most} {what} of" in found
    assert f"of layer '{where}'" in found


@pytest.mark.parametrize("network", NETWORKS)
def test_pipelines_have_a_layer_for_each(network):
    layers = NETWORKS[network][-1]
    assert told(network, pipeline=layers, cut="balanced") == []
    [found] = told(network, pipeline=layers + 1, cut="balanced")
    assert f"do not divide the {layers} layers" in found


@pytest.mark.parametrize("network", NETWORKS)
def test_hybrids_have_the_product_of_both_limits(network):
    _, least, _, filters, *_ = NETWORKS[network]
    assert told(network, data=BATCH, tensor=filters) == []
    assert told(network, data=BATCH, tensor=filters + 1) != []
    sides = (least, 1, 1) if network == "cosmoflow" else (least, 1)
    assert told(network, data=BATCH, grid=sides, context=least) == []
    assert told(network, data=2 * BATCH, grid=sides, context=least) != []
