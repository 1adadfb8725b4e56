"""Studies: the question that a verb answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from foretrain.cluster.cluster import Cluster
from foretrain.plan.job import JobPlan
from foretrain.plan.space import Space
from foretrain.workload.workload import Workload


class Objective(StrEnum):
    """What the best plan has least of."""

    TIME = "time"
    COST = "cost"
    ENERGY = "energy"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What no plan may exceed; None is no limit.

    Attributes:
        devices: devices that a plan may use.
        cost: dollars for the whole training.
        deadline: seconds for the whole training.
    """

    devices: int | None = None
    cost: float | None = None
    deadline: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is learned, where, in which ways, and what counts.

    Attributes:
        workload: what is learned.
        cluster: where.
        space: how; one value per field for `estimate`.
        objective: what `search` minimises.
        limit: what it must keep.
        job: start, checkpoints and restarts; None leaves them and failures out of the answer.
        assumed: in words, every default that a reader filled in.
    """

    workload: Workload
    cluster: Cluster
    space: Space
    objective: Objective = Objective.TIME
    limit: Limit = Limit()
    job: JobPlan | None = None
    assumed: tuple[str, ...] = ()
