"""Small questions about two kinds of devices."""

from dataclasses import replace

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device, Level
from foretrain.cluster.mixed import Mixed
from foretrain.plan.plan import Sharding
from foretrain.plan.study import Limit, Space, Study
from foretrain.workload.workload import Workload
from tests.builders import FABRIC, H100, NVLINK
from tests.small import gpt, llama

SPACE = Space(context=(1,), sharding=(Sharding.NONE, Sharding.OPTIMIZER), shard=(0,))


def slowed(device: Device, share: float) -> Device:
    """A device of another name that has a share of all rates."""
    names = ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4")
    rates = {name: getattr(device.peak, name) for name in names}
    peak = replace(device.peak, **{name: r and share * r for name, r in rates.items()})
    bandwidth = share * device.memory_bandwidth
    return replace(device, name=f"slow {share}", peak=peak, memory_bandwidth=bandwidth)


def kind(nodes: int, *, share: float = 1.0, node_devices: int = 4, **changes: object) -> Cluster:
    """Nodes of H100, or of devices that have a share of its rates."""
    description = {
        "name": f"of {share}",
        "device": slowed(H100, share),
        "levels": (
            Level(name="node", members=node_devices, link=NVLINK),
            Level(name="fabric", members=nodes, link=FABRIC),
        ),
        "price": 2.5 / 3600 * share,
        "node_power": 5_000.0,
    }
    return Cluster(**(description | changes))


def two(first: Cluster, second: Cluster, **changes: object) -> Mixed:
    """Both kinds together."""
    return Mixed(**({"name": "two kinds", "first": first, "second": second} | changes))


def study(mixed: Mixed, **changes: object) -> Study:
    """A small GPT on both kinds."""
    question = {
        "workload": Workload(model=gpt(), global_batch=48, samples=1e6),
        "cluster": mixed.first,
        "mixed": mixed,
        "space": SPACE,
        "limit": Limit(fits=0.0),
    }
    return Study(**(question | changes))


def llama_workload(batch: int = 60) -> Workload:
    """Six layers and degrees that are no powers of two."""
    return Workload(model=llama(), global_batch=batch, samples=1e6)
