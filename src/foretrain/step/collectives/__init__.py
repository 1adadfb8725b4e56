"""Collectives: (bytes, members, level) -> seconds, one file per algorithm.

Each algorithm takes a group, which says how many members share a group of each level, and gives a
line over the bytes. A new one is a file, a line in this table, a test and a row in
docs/reference/collectives.md; `network.NCCL` names those that are chosen from by default.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from foretrain.step.collectives import (
    direct,
    dispatch,
    doubling,
    hierarchical,
    in_network,
    neighbour,
    pairwise,
    ring,
    tree,
)
from foretrain.step.collectives.group import Algorithm, relayed
from foretrain.step.strategies.strategy import Pattern

ALGORITHMS: Mapping[Pattern, Mapping[str, Algorithm]] = MappingProxyType(
    {
        Pattern.ALL_REDUCE: {
            "ring": ring.all_reduce,
            "single-ring": ring.single_reduce,
            **relayed("tree", tree.all_reduce),
            "hierarchical": hierarchical.all_reduce,
            **relayed("in-network", in_network.all_reduce),
            **relayed("in-network-tree", in_network.all_reduce_over_trees),
            "doubling": doubling.all_reduce,
            "halving-doubling": doubling.all_reduce_in_halves,
            "direct": direct.all_reduce,
            "direct-at-once": direct.all_reduce_at_once,
        },
        Pattern.ALL_GATHER: {
            "ring": ring.all_gather,
            "single-ring": ring.single_gather,
            "hierarchical": hierarchical.all_gather,
            **relayed("in-network", in_network.all_gather),
            "doubling": doubling.all_gather,
            "direct": direct.all_gather,
        },
        Pattern.ALL_TO_ALL: {
            "pairwise": pairwise.all_to_all,
            "hierarchical": hierarchical.all_to_all,
            "doubling": doubling.all_to_all,
            "direct": direct.all_to_all,
        },
        Pattern.DISPATCH: {
            "direct-dispatch": dispatch.direct,
            "forwarded": dispatch.forwarded,
        },
        Pattern.SEND: {"neighbour": neighbour.send},
        Pattern.BROADCAST: {
            **relayed("ring", ring.broadcast),
            **relayed("tree", tree.broadcast),
            **relayed("in-network", in_network.broadcast),
            "halving-doubling": doubling.broadcast,
        },
    }
)
"""Every algorithm that is priced, by what it does and by its name."""

EVERY = frozenset(name for algorithms in ALGORITHMS.values() for name in algorithms)
"""Names of all of them."""
