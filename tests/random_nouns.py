"""Random clusters, workloads and legal plans on them, for the laws of the cost model."""

from itertools import pairwise
from math import gcd, prod

from hypothesis import strategies as st

from foretrain.cluster.cluster import Cluster, Host
from foretrain.cluster.device import Device, Level, Link, Peak, Technology
from foretrain.plan import division
from foretrain.plan.plan import (
    AXES,
    ChannelSplit,
    ContextExchange,
    Offload,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.gradients import CODECS, top
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Optimizer, Precision, Workload
from tests.examples import among
from tests.random_models import models

often = st.sampled_from([True, True, False])


def divisors(number):
    return [value for value in range(1, number + 1) if number % value == 0]


@st.composite
def links(draw):
    """A link with or without a capacity that several devices share."""
    bandwidth = draw(st.floats(1e9, 1e12))
    return Link(
        latency=draw(among([0.0, 1e-7, 3.4e-6, 1e-4])),
        bandwidth=bandwidth,
        capacity=draw(st.none() | st.floats(0.5, 16).map(lambda share: share * bandwidth)),
        technology=draw(among(Technology)),
    )


@st.composite
def devices(draw):
    """A device that computes in every precision."""
    half = draw(st.floats(1e12, 1e15))
    return Device(
        name="random",
        peak=Peak(
            fp32=half / draw(st.floats(1, 16)),
            tf32=half / draw(st.floats(1, 4)),
            fp16=half,
            bf16=half,
            fp8=2 * half,
            fp4=4 * half,
        ),
        matmul=draw(st.none() | st.floats(0.5, 1).map(lambda share: share * half)),
        memory=draw(st.floats(8e9, 200e9)),
        memory_bandwidth=draw(st.floats(1e11, 1e13)),
        triad=draw(st.none() | st.floats(0.5, 1.0)),
        units=draw(st.integers(1, 150)),
        power=400.0,
    )


hosts = st.builds(
    Host,
    cores=st.just(64),
    memory=st.floats(1e11, 1e13),
    memory_bandwidth=st.floats(1e10, 1e12),
    device_bandwidth=st.floats(1e9, 1e11),
)


@st.composite
def clusters(draw):
    """One to three levels of links and up to 512 devices, mostly with a known host."""
    members = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6, 8]), min_size=1, max_size=3))
    levels = [
        Level(name=f"level {place}", members=count, link=draw(links()))
        for place, count in enumerate(members)
    ]
    return Cluster(
        name="random",
        device=draw(devices()),
        levels=tuple(levels),
        host=draw(st.one_of(hosts, hosts, st.none())),
    )


@st.composite
def coefficients(draw):
    """The default set with other latencies and another overlap."""
    return DEFAULT.changed(
        {
            "host.launch": draw(among([0.0, 1e-6, 4e-6])),
            "links.start": draw(among([0.0, 8.4e-6])),
            "protocols.ll_start": draw(among([0.0, 6.6e-6])),
            "protocols.piece": draw(among([0.0, 2.0**23])),
            "overlap.gradients": draw(among([0.0, 0.5, 0.9, 1.0])),
            "overlap.tensor": draw(among([0.0, 0.5, 1.0])),
            "overlap.experts": draw(among([0.0, 0.2, 1.0])),
        }
    )


codecs = st.one_of(st.just(CODECS["fp32"]), st.sampled_from([*CODECS.values(), top(0.01)]))


@st.composite
def settings(draw, of=models):
    """A workload on a cluster whose batch any number of replicas on all devices divides."""
    cluster = draw(clusters())
    workload = Workload(
        model=draw(of),
        global_batch=cluster.devices * draw(among([1, 2, 3, 4, 8, 24])),
        precision=draw(among(Precision)),
        optimizer=draw(among(Optimizer)),
        gradients=draw(codecs),
    )
    return setting(workload, cluster, draw(coefficients()))


@st.composite
def plans(draw, setting, *, cuts=("even", "balanced", "uneven")):
    """A legal plan on all devices of the cluster, whether it fits or not."""
    workload, devices = setting.workload, setting.cluster.devices
    degrees = draw(_degrees(workload.model, devices))
    samples = workload.global_batch // degrees["data"]
    micro_batch = draw(among(divisors(samples)))
    tokens = draw(_tokens(workload.model, degrees))
    offloads = Offload if setting.cluster.host else (Offload.NONE,)
    passes = samples // micro_batch
    folded = draw(_experts(workload.model, degrees, divided=tokens["sequence_parallel"]))
    replicas = degrees["data"] * degrees["context"]
    same = degrees["tensor"] * replicas // prod(folded.values()) if folded else replicas
    return Plan(
        **degrees,
        **tokens,
        **folded,
        **draw(_pipelines(workload.model, degrees["pipeline"], passes=passes, cuts=cuts)),
        **draw(_policies(workload.model, (replicas, same))),
        micro_batch=micro_batch,
        offload=draw(among(offloads)),
        order=tuple(draw(st.permutations(AXES))),
    )


@st.composite
def _degrees(draw, model, devices):
    """Degrees of the four axes; a large degree is as likely as a small one."""
    units = [each.units for _, each in model.operators if each.units and not each.experts]
    split = draw(among([0, 0, *division.splits(model)]))
    kind = draw(among(ChannelSplit))
    most = division.channels(model, kind, split).many
    degrees = [each for each in divisors(devices) if each <= most]
    tensors = [tensor for tensor in degrees if not any(unit % tensor for unit in units)]
    tensor = draw(among(tensors))
    blocks = model.tokens // 2 if model.attends and model.tokens % 2 == 0 else 1
    grids = [grid for grid in division.grids(model, split) if devices // tensor % prod(grid) == 0]
    grid = draw(among([*grids, ()]))
    context = prod(grid) if grid else draw(among(divisors(gcd(devices // tensor, blocks))))
    rest = devices // tensor // context
    stages = [degree for degree in divisors(rest) if degree <= model.cuttable_layers]
    pipeline = draw(among(stages[::-1]))
    return {
        "data": rest // pipeline,
        "tensor": tensor,
        "context": context,
        "pipeline": pipeline,
        "grid": grid,
        "convolutions": kind,
        "split": split,
    }


@st.composite
def _tokens(draw, model, degrees):
    """How tokens are divided, and by which kernel they attend."""
    members = degrees["tensor"] * degrees["context"]
    heads = gcd(*(each.units for _, each in model.operators if each.keys))
    exchanges = [ContextExchange.RING, ContextExchange.ALL_GATHER]
    pictures = bool(degrees["grid"])
    if degrees["context"] == 1 or heads % members == 0:
        exchanges.append(ContextExchange.ALL_TO_ALL)
    exchange = draw(among(exchanges))
    ring = degrees["context"] > 1 and exchange is ContextExchange.RING
    return {
        "exchange": exchange,
        "attention": Attention.FLASH if ring else draw(among(Attention)),
        "sequence_parallel": not pictures and model.tokens % members == 0 and draw(often),
    }


@st.composite
def _experts(draw, model, degrees, *, divided):
    """How experts fold over the devices of the tensor, context and data axis."""
    if not model.experts:
        return {}
    found = [each for _, each in model.operators if each.experts]
    count, width = (gcd(*(getattr(each, name) for each in found)) for name in ("experts", "units"))
    tensor, members = degrees["tensor"], degrees["tensor"] * degrees["context"] * degrees["data"]
    apart = tensor == 1 or divided
    ways = [
        (expert, each)
        for each in sorted({1, tensor})
        for expert in divisors(gcd(count, members // each))
        if width % each == 0 and (apart or (expert == 1 and each == tensor))
    ]
    expert, each = draw(among(ways[::-1]))
    return {"expert": expert, "expert_tensor": each}


@st.composite
def _pipelines(draw, model, pipeline, *, passes, cuts):
    """Schedule, chunks and cut."""
    layers, schedule = model.cuttable_layers, draw(among(Schedule))
    chunks = [1]
    if pipeline > 1 and schedule is Schedule.ONE_F_ONE_B and passes % pipeline == 0:
        chunks = list(range(1, layers // pipeline + 1))
    interleaving = draw(among(chunks))
    parts = pipeline * interleaving
    known = [cut for cut in cuts if cut != "even" or layers % parts == 0] or ["uneven"]
    cut = draw(among(known))
    return {
        "schedule": schedule,
        "interleaving": interleaving,
        "cut": draw(sizes(layers, parts)) if cut == "uneven" else cut,
        "sends": draw(among(Sends)),
    }


@st.composite
def sizes(draw, layers, parts):
    """Layers of each chunk."""
    more = layers - parts
    shared = st.lists(st.integers(0, more), min_size=parts - 1, max_size=parts - 1)
    bounds = [0, *sorted(draw(shared)), more]
    return tuple(1 + after - before for before, after in pairwise(bounds))


@st.composite
def _policies(draw, model, devices):
    """What is recomputed and what replicas share, also those that hold the same experts."""
    replicas, same = devices
    shards = [each for each in divisors(replicas)[1:] if not (same % each and each % same)]
    recompute = draw(among(Recompute))
    full = recompute is Recompute.FULL
    return {
        "recompute": recompute,
        "recompute_layers": draw(st.integers(0, model.cuttable_layers)) if full else 0,
        "sharding": draw(among(Sharding)),
        "shard": draw(among([0, *shards])),
        "reshard": draw(st.booleans()),
    }


@st.composite
def questions(draw, *, least=1, most=1, of=models, cuts=("even", "balanced", "uneven")):
    """A setting, and from `least` to `most` legal plans for it."""
    setting = draw(settings(of))
    return setting, draw(st.lists(plans(setting, cuts=cuts), min_size=least, max_size=most))
