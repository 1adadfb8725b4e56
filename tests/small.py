"""Questions small enough to be answered plan by plan."""

from dataclasses import replace

from tests.builders import FABRIC, H100, NVLINK

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.link import Level, Link, Technology
from foretrain.plan.enumeration import plan_tables, with_orders
from foretrain.plan.plan import Plan, Sends
from foretrain.plan.space import Space
from foretrain.plan.study import Study
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import build
from foretrain.workload.library.transformer import Decoder, decoder
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload

EVERY_KERNEL = Space(attention=tuple(Attention), sends=tuple(Sends))

ETHERNET = Link(latency=2e-5, bandwidth=1e9, technology=Technology.ETHERNET)


def cluster(nodes: int, node_devices: int, **changes: object) -> Cluster:
    """Nodes of H100 on InfiniBand, at 2.50 dollars per hour and device."""
    description = {
        "name": "small",
        "device": H100,
        "levels": (
            Level(name="node", members=node_devices, link=NVLINK),
            Level(name="fabric", members=nodes, link=FABRIC),
        ),
        "price": 2.5 / 3600,
        "node_power": 10_200.0,
    }
    return Cluster(**(description | changes))


def gpt() -> Model:
    """Plain attention heads, dropout, tied embedding."""
    shape = Decoder(
        layers=8,
        hidden=1024,
        feed_forward=4096,
        heads=16,
        kv_heads=16,
        vocabulary=51_200,
        bias=True,
        dropout=True,
        positions=True,
        tied=True,
    )
    return decoder("small-gpt", shape, sequence=1024)


def llama() -> Model:
    """Grouped queries, gates, and degrees that are no powers of two."""
    shape = Decoder(
        layers=6,
        hidden=768,
        feed_forward=2304,
        heads=12,
        kv_heads=6,
        vocabulary=30_720,
        gated=True,
    )
    return decoder("small-llama", shape, sequence=512)


def gpt_study(**changes: object) -> Study:
    """On 16 devices, with every kernel and both ways to send."""
    workload = Workload(model=gpt(), global_batch=16, samples=1_000_000.0)
    question = {
        "workload": workload,
        "cluster": cluster(nodes=2, node_devices=8),
        "space": EVERY_KERNEL,
    }
    return Study(**(question | changes))


def llama_study(**changes: object) -> Study:
    """On 12 devices, with every kernel and both ways to send."""
    workload = Workload(model=llama(), global_batch=36, samples=1_000_000.0)
    question = {
        "workload": workload,
        "cluster": cluster(nodes=3, node_devices=4),
        "space": EVERY_KERNEL,
    }
    return Study(**(question | changes))


def resnet_study(**changes: object) -> Study:
    """On 8 devices, with both ways to send."""
    workload = Workload(model=build("resnet-50", image=224), global_batch=64, samples=1e6)
    question = {
        "workload": workload,
        "cluster": cluster(nodes=1, node_devices=8),
        "space": Space(sends=tuple(Sends)),
    }
    return Study(**(question | changes))


def with_memory(study: Study, memory: float) -> Study:
    """The same question on devices that have so many bytes."""
    device = replace(study.cluster.device, memory=memory)
    return replace(study, cluster=replace(study.cluster, device=device))


def on_ethernet(study: Study) -> Study:
    """The same question on nodes so far apart that sends take as long as passes."""
    inner, outer = study.cluster.levels
    levels = (inner, replace(outer, link=ETHERNET))
    return replace(study, cluster=replace(study.cluster, levels=levels))


def listed(study: Study, **options: int) -> list[Plan]:
    """Every plan of a study's space, in each of its orders."""
    return [
        table.plan(row)
        for plans in plan_tables(study.workload, study.cluster, study.space, **options)
        for table in [with_orders(plans, study.cluster, study.space)[0]]
        for row in range(len(table))
    ]
