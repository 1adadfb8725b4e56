"""What `search` answers when something is to be as large as fits."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.plan.plan import Plan
from foretrain.plan.study import Maximise
from foretrain.results.search import SearchResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a size needs at least.

    Attributes:
        size: samples of a micro-batch, tokens of a sample, or layers that can be cut.
        memory: bytes per device of the plan that needs least.
        room: bytes per device that a plan may fill.
        plan: that plan.
        cluster: name of the cluster on which it runs.
        nodes: how many of its nodes.
    """

    size: int
    memory: float
    room: float
    plan: Plan
    cluster: str
    nodes: int

    @property
    def fits(self) -> bool:
        """Whether some plan of that size runs."""
        return self.memory <= self.room


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The largest size at which some plan fits in memory.

    Attributes:
        maximise: what is as large as fits.
        size: samples of a micro-batch, tokens of a sample, or layers that can be cut.
        parameters: of the model at that size.
        tokens: that a step learns from at that size; None for samples without tokens.
        next: the next size that could be asked for, which does not fit; None where the sizes end.
        growth: what smaller sizes and this one need at least, ascending.
        search: the best plans of that size.
    """

    maximise: Maximise
    size: int
    parameters: float
    tokens: float | None
    next: Need | None
    growth: tuple[Need, ...]
    search: SearchResult
