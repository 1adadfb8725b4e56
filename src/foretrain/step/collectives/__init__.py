"""Collectives: (bytes, members, level) -> seconds, a function per algorithm.

Each algorithm takes a group, which says how many members share a group of each level, and gives a
line over the bytes. A new one is a file, a line in this table, a test and a row in
docs/reference/collectives.md; `network.NCCL` names those that are chosen from by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from foretrain.step.collectives import exchanges, in_network, rings
from foretrain.step.collectives.group import Algorithm, relayed
from foretrain.step.strategies.strategy import Pattern

ALGORITHMS: Mapping[Pattern, Mapping[str, Algorithm]] = MappingProxyType(
    {
        Pattern.ALL_REDUCE: {
            "ring": rings.ring_all_reduce,
            "single-ring": rings.single_reduce,
            **relayed("tree", rings.tree_all_reduce),
            "hierarchical": exchanges.hierarchical_all_reduce,
            **relayed("in-network", in_network.all_reduce),
            **relayed("in-network-tree", in_network.all_reduce_over_trees),
            "doubling": exchanges.doubling_all_reduce,
            "halving-doubling": exchanges.doubling_all_reduce_in_halves,
            "direct": exchanges.direct_all_reduce,
            "direct-at-once": exchanges.direct_all_reduce_at_once,
        },
        Pattern.ALL_GATHER: {
            "ring": rings.ring_all_gather,
            "single-ring": rings.single_gather,
            "hierarchical": exchanges.hierarchical_all_gather,
            **relayed("in-network", in_network.all_gather),
            "doubling": exchanges.doubling_all_gather,
            "direct": exchanges.direct_all_gather,
        },
        Pattern.ALL_TO_ALL: {
            "pairwise": exchanges.pairwise_all_to_all,
            "hierarchical": exchanges.hierarchical_all_to_all,
            "doubling": exchanges.doubling_all_to_all,
            "direct": exchanges.direct_all_to_all,
        },
        Pattern.DISPATCH: {
            "direct-dispatch": exchanges.direct,
            "forwarded": exchanges.forwarded,
        },
        Pattern.SEND: {"neighbour": exchanges.send},
        Pattern.BROADCAST: {
            **relayed("ring", rings.ring_broadcast),
            **relayed("tree", rings.tree_broadcast),
            **relayed("in-network", in_network.broadcast),
            "halving-doubling": exchanges.doubling_broadcast,
        },
    }
)
"""Every algorithm that is priced, by what it does and by its name."""

EVERY = frozenset(name for algorithms in ALGORITHMS.values() for name in algorithms)
"""Names of all of them."""
