"""Questions small enough to be answered plan by plan.

`gpt_study`, `llama_study` and `resnet_study` ask for the classic axes; `expert_study` and
`long_study` free every other field on fewer devices.
"""

from dataclasses import replace
from functools import lru_cache

from foretrain.cluster.cluster import Cluster, Host, Power
from foretrain.cluster.device import Level, Link, Technology
from foretrain.plan.enumeration import plan_tables, with_orders
from foretrain.plan.plan import Offload, Plan, Recompute, Schedule, Sends, Sharding
from foretrain.plan.study import Limit, Space, Study
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.convolution.trunk import ConvolutionalNetwork
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import build, builder, find
from foretrain.workload.operator import Attention
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import Experts, FeedForward
from foretrain.workload.parts.language_model import Decoder, LanguageModel, decoder, language_model
from foretrain.workload.workload import Workload
from tests.builders import FABRIC, H100, NVLINK

CLASSIC = Space(
    context=(1,),
    sharding=(Sharding.NONE, Sharding.OPTIMIZER),
    shard=(0,),
    attention=tuple(Attention),
    sends=tuple(Sends),
)
HOST = Host(cores=64, memory=2e12, memory_bandwidth=4e11, device_bandwidth=2.5e10)

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


def saving(study: Study) -> Study:
    """The same question where nodes that wait draw less, so that energy is no multiple of time."""
    return replace(study, cluster=replace(study.cluster, power=Power(idle=2_000.0)))


def network(name: str, image: int) -> ConvolutionalNetwork:
    """A network of the library with its pictures."""
    entry = find(name)
    drawn: ConvolutionalNetwork = builder(entry.network_by)(image, **entry.sizes)
    return drawn


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
        positions=0,
        tied=True,
    )
    return decoder("small-gpt", shape, sequence=1024)


def llama(*, sequence: int = 512) -> Model:
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
    return decoder("small-llama", shape, sequence=sequence)


def mixture(**changes: object) -> Model:
    """A dense layer and three of four experts beside a shared one."""
    each = FeedForward(width=512, gated=True)
    shape = {"count": 4, "chosen": 2, "each": each, "shared": each} | changes
    heads = Heads(heads=8, kv_heads=4, width=64)
    wide = FeedForward(width=2048, gated=True)
    whole = LanguageModel(
        hidden=512,
        embedding=Embedding(vocabulary=16_384),
        runs=(
            Run(blocks=(Block(mixer=heads, feed_forward=wide),), name="dense"),
            Run(blocks=(Block(mixer=heads, feed_forward=Experts(**shape)),), repeats=3),
        ),
        head=LanguageHead(),
    )
    return language_model("small-mixture", whole, sequence=256)


def loose(**limits: object) -> Limit:
    """Limits under which a plan may fill a device to the last byte that is predicted."""
    return Limit(fits=0.0, **limits)


def expert_study(**changes: object) -> Study:
    """Experts on 4 devices, sharded in groups and cut in both ways."""
    question = {
        "workload": Workload(model=mixture(imbalance=1.2), global_batch=4, samples=1e6),
        "cluster": cluster(nodes=2, node_devices=2),
        "space": Space(micro_batch=(1,), recompute=(Recompute.NONE,), cut=("even", "balanced")),
    }
    return Study(**({"limit": loose()} | question | changes))


def long_study(**changes: object) -> Study:
    """Tokens shared by 4 devices in both ways, every schedule, host and kernel."""
    space = Space(
        micro_batch=(1, 2),
        context=(2, 4),
        attention=tuple(Attention),
        recompute_layers=(0, 3),
        sharding=(Sharding.PARAMETERS,),
        shard=(0,),
        reshard=(True, False),
        offload=(Offload.NONE, Offload.BOTH),
        schedule=tuple(Schedule),
    )
    question = {
        "workload": Workload(model=llama(), global_batch=4, samples=1e6),
        "cluster": cluster(nodes=1, node_devices=4, host=HOST),
        "space": space,
    }
    return Study(**({"limit": loose()} | question | changes))


def gpt_study(**changes: object) -> Study:
    """On 16 devices, with every kernel and both ways to send."""
    workload = Workload(model=gpt(), global_batch=16, samples=1_000_000.0)
    question = {
        "workload": workload,
        "cluster": cluster(nodes=2, node_devices=8),
        "space": CLASSIC,
    }
    return Study(**({"limit": loose()} | question | changes))


def llama_study(**changes: object) -> Study:
    """On 12 devices, with every kernel and both ways to send."""
    workload = Workload(model=llama(), global_batch=36, samples=1_000_000.0)
    question = {
        "workload": workload,
        "cluster": cluster(nodes=3, node_devices=4),
        "space": CLASSIC,
    }
    return Study(**({"limit": loose()} | question | changes))


def resnet_study(**changes: object) -> Study:
    """On 8 devices, with both ways to send."""
    workload = Workload(model=build("resnet-50", image=224), global_batch=64, samples=1e6)
    question = {
        "workload": workload,
        "cluster": cluster(nodes=1, node_devices=8),
        "space": replace(CLASSIC, attention=None),
    }
    return Study(**({"limit": loose()} | question | changes))


def with_memory(study: Study, memory: float) -> Study:
    """The same question on devices that have so many bytes."""
    device = replace(study.cluster.device, memory=memory)
    return replace(study, cluster=replace(study.cluster, device=device))


QUICK_HOST = DEFAULT.changed(
    {f"host.{name}": 0.0 for name in ("launch", "graph_launch", "kernel", "exchange", "checkpoint")}
)
"""Devices never wait for their hosts, however little they have to do."""


def on_ethernet(study: Study) -> Study:
    """The same question on nodes so far apart that sends take as long as passes."""
    inner, outer = study.cluster.levels
    levels = (inner, replace(outer, link=ETHERNET))
    return replace(study, cluster=replace(study.cluster, levels=levels))


def listed(study: Study, **options: int) -> list[Plan]:
    """Every plan of a study's space, in each of its orders."""
    return [*_listed(study.workload, study.cluster, study.space, **options)]


@lru_cache(maxsize=32)
def _listed(workload: Workload, cluster: Cluster, space: Space, **options: int) -> tuple[Plan, ...]:
    return tuple(
        table.plan(row)
        for plans in plan_tables(workload, cluster, space, **options)
        for table in [with_orders(plans, cluster, space)[0]]
        for row in range(len(table))
    )
