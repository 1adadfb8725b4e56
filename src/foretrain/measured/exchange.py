"""A measured collective in the words of the nouns: where, what, how many bytes."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.cluster.cluster import Cluster
from foretrain.errors import nearest
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.place import Catalogue, cluster_of
from foretrain.measured.run import MeasuredRun

COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "alltoall",
    "broadcast",
    "sendrecv",
)
"""Calls of `nccl-tests` that are predicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeCase:
    """A collective among all devices of a cluster.

    Attributes:
        cluster: where.
        collective: name of the call.
        size: bytes of the buffer.
        assumed: every default that stands for a blank.
    """

    cluster: Cluster
    collective: str
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
    if message.collective not in COLLECTIVES:
        raise NotCovered(
            f"collective '{message.collective}' is not covered."
            f"{nearest(message.collective, COLLECTIVES)} Known: {', '.join(COLLECTIVES)}"
        )
    assumptions = Assumptions()
    return ExchangeCase(
        cluster=cluster_of(run.place, catalogue, assumptions),
        collective=message.collective,
        size=stated(message.size, "bytes of the message"),
        assumed=assumptions.words,
    )
