"""A measured collective in the words of the nouns: where, by what pattern, how many bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from foretrain.cluster.cluster import Cluster
from foretrain.errors import nearest
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.place import Catalogue, cluster_of
from foretrain.measured.run import MeasuredRun
from foretrain.strategies.strategy import Pattern

SEND = "sendrecv"
"""Every member sends to the next one, the last to the first."""

PATTERNS: Mapping[str, Pattern | None] = MappingProxyType(
    {
        "all_reduce": Pattern.REDUCE,
        "all_gather": Pattern.GATHER,
        "reduce_scatter": Pattern.GATHER,
        "alltoall": Pattern.ALL_TO_ALL,
        "broadcast": Pattern.BROADCAST,
        SEND: None,
    }
)
"""Patterns of the calls of `nccl-tests`, whose bytes are counted as ours; None is a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeCase:
    """A collective among all devices of a cluster.

    Attributes:
        cluster: where.
        pattern: what is exchanged; None for a message to the next member.
        size: bytes, as `Exchange.seconds` counts them.
        assumed: every default that stands for a blank.
    """

    cluster: Cluster
    pattern: Pattern | None
    size: float
    assumed: tuple[str, ...]


def exchange_case(run: MeasuredRun, catalogue: Catalogue) -> ExchangeCase:
    """A measured collective in the words of the nouns.

    Raises:
        NotCovered: foretrain has no such collective, or a blank must not be guessed.
    """
    message = run.message
    if message is None:
        raise NotCovered("no collective is stated")
    if message.collective not in PATTERNS:
        raise NotCovered(
            f"collective '{message.collective}' is not covered."
            f"{nearest(message.collective, PATTERNS)} Known: {', '.join(PATTERNS)}"
        )
    assumptions = Assumptions()
    return ExchangeCase(
        cluster=cluster_of(run.place, catalogue, assumptions),
        pattern=PATTERNS[message.collective],
        size=stated(message.size, "bytes of the message"),
        assumed=assumptions.words,
    )
