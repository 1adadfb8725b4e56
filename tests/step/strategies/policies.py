"""Every strategy, schedule and memory policy as the fields that it sets, and every pair of them."""

from functools import cache
from itertools import combinations

from tests.small import HOST, cluster, mixture

from foretrain.plan.legality import problems
from foretrain.plan.plan import (
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
from foretrain.workload.convolution.operators import Window, square
from foretrain.workload.convolution.trunk import Trunk
from foretrain.workload.operator import Attention
from foretrain.workload.parts.language_model import Decoder, decoder
from foretrain.workload.workload import Workload

DENSE = Decoder(layers=4, hidden=512, feed_forward=2048, heads=8, kv_heads=4, vocabulary=16_384)

POLICIES = {
    "data": {"data": 4},
    "sharded optimizer": {"data": 4, "sharding": Sharding.OPTIMIZER},
    "sharded gradients": {"data": 4, "sharding": Sharding.GRADIENTS},
    "sharded parameters": {"data": 4, "sharding": Sharding.PARAMETERS},
    "kept parameters": {"data": 4, "sharding": Sharding.PARAMETERS, "reshard": False},
    "shards of two": {"data": 4, "sharding": Sharding.PARAMETERS, "shard": 2},
    "tensor": {"tensor": 2},
    "sequence": {"tensor": 2, "sequence_parallel": True},
    "ring": {"context": 2, "exchange": ContextExchange.RING},
    "gathered keys": {"context": 2, "exchange": ContextExchange.ALL_GATHER},
    "all-to-all": {"context": 2, "exchange": ContextExchange.ALL_TO_ALL},
    "spatial": {"context": 4, "grid": (2, 2)},
    "spatial front": {"context": 4, "grid": (4, 1), "split": 3},
    "filter": {"tensor": 2, "convolutions": ChannelSplit.FILTER},
    "channel": {"tensor": 2, "convolutions": ChannelSplit.CHANNEL},
    "experts": {"data": 4, "expert": 4},
    "tensor experts": {"tensor": 2, "expert_tensor": 2},
    "pipeline": {"pipeline": 2},
    "interleaved": {"pipeline": 2, "interleaving": 2},
    "gpipe": {"pipeline": 2, "schedule": Schedule.GPIPE},
    "zero bubble": {"pipeline": 2, "schedule": Schedule.ZERO_BUBBLE},
    "balanced cut": {"pipeline": 2, "cut": "balanced"},
    "uneven cut": {"pipeline": 2, "cut": (1, 3)},
    "blocking sends": {"pipeline": 2, "sends": Sends.BLOCKING},
    "plain attention": {"attention": Attention.PLAIN},
    "selective recomputation": {"recompute": Recompute.SELECTIVE},
    "full recomputation": {"recompute": Recompute.FULL},
    "recomputation of some layers": {"recompute": Recompute.FULL, "recompute_layers": 2},
    "offloaded optimizer": {"offload": Offload.OPTIMIZER},
    "offloaded activations": {"offload": Offload.ACTIVATIONS},
    "offloaded activations of some layers": {"offload": Offload.ACTIVATIONS, "offload_layers": 2},
    "offloaded both": {"offload": Offload.BOTH},
}

PICTURED = ("spatial", "spatial front", "filter", "channel")
"""Those that divide pictures and convolutions."""

REFUSED = {
    ("ring", "plain attention"),  # blocks are added up by the fused kernel
    ("experts", "tensor"),  # every member would send the same tokens
    ("experts", "tensor experts"),
    ("interleaved", "gpipe"),  # one chunk per stage
    ("interleaved", "zero bubble"),
    ("interleaved", "uneven cut"),  # the cut lists two chunks of four
    *((each, "experts") for each in PICTURED),  # a network for pictures has none
    *((each, "tensor experts") for each in PICTURED),
    *((each, "sequence") for each in PICTURED),  # nor tokens
    *(
        (each, tokens)
        for each in ("filter", "channel")
        for tokens in ("ring", "gathered keys", "all-to-all")
    ),
}
"""Pairs that are plans but must not combine."""


def combined(*names, policies=POLICIES):
    """The fields of some policies together; None where they are two values of one field."""
    fields = {}
    for name in names:
        for field, value in policies[name].items():
            if fields.setdefault(field, value) != value:
                return None
    return fields


PAIRS = {
    pair: Plan(**fields)
    for pair in combinations(POLICIES, 2)
    if (fields := combined(*pair)) is not None
}
"""Every pair that is a plan."""

ALLOWED = {
    pair: plan for pair, plan in PAIRS.items() if pair not in REFUSED and pair[::-1] not in REFUSED
}


def question(names, plan):
    """The setting of a plan: so many devices, two to a node, and experts where it divides them."""
    routed = any(name in ("experts", "tensor experts") for name in names)
    pictured = any(name in PICTURED for name in names)
    return _question(routed, pictured, plan.devices)


def pictures():
    """A stem, four equal layers of every kind of convolution, and a classifier."""
    trunk = Trunk(square(32))
    trunk.unit("stem", 32, window=Window(size=7, stride=2))
    trunk.pool("pool", Window(size=3, stride=2))
    trunk.section("stem", cuttable=False)
    for half in ("front", "rest"):
        trunk.unit("first", 32, window=Window(size=3))
        trunk.unit("grouped", 32, window=Window(size=3), groups=4)
        trunk.unit("depthwise", 32, window=Window(size=5), groups=32)
        trunk.squeeze("squeeze", 8)
        trunk.add("add")
        trunk.section(half, repeats=2)
    return trunk.classify(10).model("small-pictures")


@cache
def _question(routed, pictured, devices):
    if pictured:
        model = pictures()
    elif routed:
        model = mixture(imbalance=1.2)
    else:
        model = decoder("small-dense", DENSE, sequence=256)
    inside = min(2, devices)
    here = cluster(nodes=devices // inside, node_devices=inside, host=HOST)
    return setting(Workload(model=model, global_batch=16), here, DEFAULT)


def reasons(names, plan):
    """Why a plan may not run."""
    asked = question(names, plan)
    return problems(asked.workload, asked.cluster, plan)
