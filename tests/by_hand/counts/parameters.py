"""Parameters on a device, and who shares what belongs to them."""

from tests.by_hand.networks import (
    EXPERT_WIDE,
    EXPERTS,
    HIDDEN,
    KEY,
    QUERY,
    SHARED_WIDE,
    VOCABULARY,
    WIDE,
)

from foretrain.plan.plan import Offload, Sharding


def parameters(g):
    """On a device, of the embedding, a block and the head; common ones, then those of experts.

    shoeybi2019, section 3: products and tables are divided by the tensor axis, norms are whole.
    lepikhin2020, section 3.2: experts are divided by their own axis.
    """
    attention = HIDDEN * (QUERY + 2 * KEY) + QUERY * HIDDEN
    wide = 3 * HIDDEN * (SHARED_WIDE if g.routed else WIDE)
    norms = 2 * HIDDEN
    router = HIDDEN * EXPERTS if g.routed else 0
    common = (
        VOCABULARY * HIDDEN / g.t,
        (attention + wide) / g.t + norms + router,
        VOCABULARY * HIDDEN / g.t + HIDDEN,
    )
    if not g.routed:
        return (common,)
    return common, (0, EXPERTS * 3 * HIDDEN * EXPERT_WIDE / (g.e * g.x), 0)


def owners(g, kind):
    """Devices that share what belongs to a parameter: rajbhandari2020, section 5."""
    return [shard if g.plan.sharding >= kind else 1 for shard in g.shards]


def leaves(g):
    """Gradients go to the host as they come, unless replicas add to them later: ren2021, 4.1."""
    complete = g.plan.sharding >= Sharding.GRADIENTS or g.plan.data * g.plan.context == 1
    return offloads(g) and complete


def offloads(g):
    return g.plan.offload in (Offload.OPTIMIZER, Offload.BOTH)


def emptied(g):
    """Share of the blocks whose activations wait on the host: rajbhandari2021, section 5.2.3."""
    away = g.plan.offload in (Offload.ACTIVATIONS, Offload.BOTH)
    return (g.plan.offload_layers or g.layers) / g.layers if away else 0
