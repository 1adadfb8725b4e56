"""Transfers: one collective of all devices, as its library's own benchmark times it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import mul
from types import MappingProxyType

import numpy as np

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.cost.collective import Exchange, exchange, send
from foretrain.cost.collectives.line import Number
from foretrain.cost.collectives.network import LIBRARY, Network, network
from foretrain.strategies.strategy import Pattern

PATTERNS: Mapping[str, Pattern | None] = MappingProxyType(
    {
        "all_reduce": Pattern.REDUCE,
        "all_gather": Pattern.GATHER,
        "reduce_scatter": Pattern.GATHER,
        "alltoall": Pattern.ALL_TO_ALL,
        "broadcast": Pattern.BROADCAST,
        "sendrecv": None,
    }
)
"""Patterns of the calls of `nccl-tests`, whose bytes are counted as ours; None is a message."""


def transfer(
    cluster: Cluster, coefficients: Coefficients, pattern: Pattern | None, *, sizes: Sequence[float]
) -> Number:
    """Seconds of a collective of all devices, by the library alone. [size]

    Args:
        cluster: where.
        coefficients: how well.
        pattern: what is exchanged; None for a message of each member to the next.
        sizes: bytes.
    """
    every = np.asarray(sizes, dtype=np.float64)
    if pattern is None:
        line = send(_inside(cluster), _library(cluster, coefficients))
        return line.fixed + line.per_byte * every
    return _found(cluster, coefficients, len(every)).seconds(every, pattern)


def algorithms(
    cluster: Cluster, coefficients: Coefficients, pattern: Pattern, *, sizes: Sequence[float]
) -> tuple[str, ...]:
    """Names of the algorithms and protocols that take those seconds. [size]"""
    every = np.asarray(sizes, dtype=np.float64)
    chosen = _found(cluster, coefficients, len(every)).choice(every, pattern)
    return tuple(str(name) for name in chosen)


def _found(cluster: Cluster, coefficients: Coefficients, rows: int) -> Exchange:
    found = exchange(_inside(cluster), _library(cluster, coefficients))
    return found.take(np.zeros(rows, dtype=np.intp))


def _library(cluster: Cluster, coefficients: Coefficients) -> Network:
    return replace(network(cluster, coefficients), known=LIBRARY)


def _inside(cluster: Cluster) -> list[Number]:
    """Members inside each level: all of them."""
    counts = accumulate((level.members for level in cluster.levels), mul)
    return [np.array([float(count)]) for count in counts]
