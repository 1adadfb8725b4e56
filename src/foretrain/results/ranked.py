"""A plan of a ranking, and what it takes."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.plan.plan import Plan
from foretrain.results.estimate import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A plan and its estimate.

    Attributes:
        plan: the plan.
        estimate: what it takes.
        cluster: name of the cluster on which it runs.
        nodes: how many of its nodes.
    """

    plan: Plan
    estimate: Estimate
    cluster: str
    nodes: int
