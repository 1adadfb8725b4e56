"""Random models, clusters and legal plans on them, for the laws of the cost model."""

from dataclasses import replace

from hypothesis import strategies as st

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device, Peak
from foretrain.cluster.link import Level, Link, Technology
from foretrain.cost.coefficients import DEFAULT
from foretrain.cost.setting import setting
from foretrain.plan.plan import AXES, Plan, Recompute, Sends, Sharding
from foretrain.workload.library.entries import build
from foretrain.workload.library.transformer import Decoder, decoder
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Optimizer, Precision, Workload


def divisors(number):
    return [value for value in range(1, number + 1) if number % value == 0]


@st.composite
def decoders(draw):
    """A decoder of any shape; most can be split by 2, 3, 4 or 8."""
    kv_heads = draw(st.sampled_from([1, 2, 3, 4, 8, 24]))
    heads = kv_heads * draw(st.sampled_from([1, 2, 3, 8]))
    width = draw(st.sampled_from([8, 64, 80, 128]))
    own_width = draw(st.booleans())
    shape = Decoder(
        layers=draw(st.sampled_from([1, 2, 3, 4, 6, 8, 12, 16, 24])),
        hidden=draw(st.integers(1, 4000)) if own_width else heads * width,
        feed_forward=draw(st.sampled_from([1, 4, 24])) * draw(st.integers(1, 1000)),
        heads=heads,
        kv_heads=kv_heads,
        vocabulary=draw(st.sampled_from([1, 4, 24])) * draw(st.integers(1, 6000)),
        gated=draw(st.booleans()),
        bias=draw(st.booleans()),
        dropout=draw(st.booleans()),
        positions=draw(st.booleans()),
        tied=draw(st.booleans()),
        head_width=width if own_width else None,
    )
    return decoder("random", shape, sequence=draw(st.sampled_from([1, 7, 24, 128, 1024, 4096])))


@st.composite
def images(draw):
    """ResNet-50 for images of any size."""
    return build("resnet-50", image=draw(st.integers(32, 320)))


# ResNet-50 has a fixed structure: one example in eight is enough of it.
models = st.integers(0, 7).flatmap(lambda chance: images() if chance == 7 else decoders())


@st.composite
def links(draw):
    """A link with or without a capacity that several devices share."""
    bandwidth = draw(st.floats(1e9, 1e12))
    return Link(
        latency=draw(st.sampled_from([0.0, 1e-7, 3.4e-6, 1e-4])),
        bandwidth=bandwidth,
        capacity=draw(st.none() | st.floats(0.5, 16).map(lambda share: share * bandwidth)),
        technology=draw(st.sampled_from(Technology)),
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
        units=draw(st.integers(1, 150)),
        power=400.0,
    )


@st.composite
def clusters(draw):
    """One to three levels of links and up to 512 devices."""
    members = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6, 8]), min_size=1, max_size=3))
    levels = [
        Level(name=f"level {place}", members=count, link=draw(links()))
        for place, count in enumerate(members)
    ]
    return Cluster(name="random", device=draw(devices()), levels=tuple(levels))


@st.composite
def coefficients(draw):
    """The default set with other latencies and another overlap."""
    return replace(
        DEFAULT,
        launch=draw(st.sampled_from([0.0, 1e-6, 4e-6])),
        collective_start=draw(st.sampled_from([0.0, 8.4e-6])),
        gradient_overlap=draw(st.sampled_from([0.0, 0.5, 0.9, 1.0])),
    )


@st.composite
def settings(draw):
    """A workload on a cluster whose batch any number of replicas on all devices divides."""
    cluster = draw(clusters())
    workload = Workload(
        model=draw(models),
        global_batch=cluster.devices * draw(st.sampled_from([1, 2, 3, 4, 8, 24])),
        precision=draw(st.sampled_from(Precision)),
        optimizer=draw(st.sampled_from(Optimizer)),
    )
    return setting(workload, cluster, draw(coefficients()))


@st.composite
def plans(draw, setting):
    """A legal plan on all devices of the cluster, whether it fits or not."""
    workload, model, devices = setting.workload, setting.workload.model, setting.cluster.devices
    units = [operator.units for _, operator in model.operators if operator.units]
    splits = [tensor for tensor in divisors(devices) if not any(unit % tensor for unit in units)]
    tensor = draw(st.sampled_from(splits))
    layers = model.cuttable_layers
    stages = [degree for degree in divisors(devices // tensor) if layers % degree == 0]
    pipeline = draw(st.sampled_from(stages[::-1]))
    data = devices // tensor // pipeline
    share = workload.global_batch // data
    micro_batch = draw(st.sampled_from(divisors(share)))
    interleaved = pipeline > 1 and share // micro_batch % pipeline == 0
    chunks = divisors(layers // pipeline) if interleaved else [1]
    return Plan(
        data=data,
        tensor=tensor,
        pipeline=pipeline,
        interleaving=draw(st.sampled_from(chunks[::-1])),
        micro_batch=micro_batch,
        sequence_parallel=model.tokens % tensor == 0 and draw(st.booleans()),
        sharding=draw(st.sampled_from(Sharding)),
        recompute=draw(st.sampled_from(Recompute)),
        attention=draw(st.sampled_from(Attention)),
        sends=draw(st.sampled_from(Sends)),
        order=tuple(draw(st.permutations(AXES))),
    )


@st.composite
def questions(draw, *, least=1, most=1):
    """A setting, and from `least` to `most` legal plans for it."""
    setting = draw(settings())
    return setting, draw(st.lists(plans(setting), min_size=least, max_size=most))
