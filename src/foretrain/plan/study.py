"""Studies: the question that a verb answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.device import Device
from foretrain.cluster.mixed import Mixed
from foretrain.cluster.offer import Offer, whole
from foretrain.plan.job import JobPlan
from foretrain.plan.space import Space
from foretrain.workload.workload import Workload


class Objective(StrEnum):
    """What the best plan has least of."""

    TIME = "time"
    COST = "cost"
    ENERGY = "energy"
    MEMORY = "memory"


class Maximise(StrEnum):
    """What a search makes as large as fits, before it minimises anything."""

    MICRO_BATCH = "micro_batch"
    SEQUENCE = "sequence"
    PARAMETERS = "parameters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What no plan may exceed; None is no limit.

    Attributes:
        devices: devices that a plan may use.
        cost: dollars for the whole training.
        deadline: seconds for the whole training.
        memory: bytes of a device that a plan may fill.
        power: watts of all nodes of a plan at full load, the building's share included.
    """

    devices: int | None = None
    cost: float | None = None
    deadline: float | None = None
    memory: float | None = None
    power: float | None = None

    def room(self, device: Device) -> float:
        """Bytes of a device that a plan may fill."""
        return device.memory if self.memory is None else min(device.memory, self.memory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is learned, where, in which ways, and what counts.

    Attributes:
        workload: what is learned.
        cluster: where; the largest of the first offer if there are offers.
        space: how; one value per field for `estimate`.
        objective: what `search` minimises.
        limit: what it must keep.
        job: start, checkpoints and restarts; None leaves them and failures out of the answer.
        offers: clusters that may be rented instead, `cluster` among them; empty: all of `cluster`.
        mixed: two clusters that train together, `cluster` the first of them; None for one kind.
        maximise: what to make as large as fits; None for nothing.
        scenarios: other questions that the same plan should answer well.
        lengthened: the workload for samples of so many tokens; None where it is not known. It says
            nothing that the workload does not, so studies with and without it are equal.
        assumed: in words, every default that a reader filled in.
    """

    workload: Workload
    cluster: Cluster
    space: Space
    objective: Objective = Objective.TIME
    limit: Limit = Limit()
    job: JobPlan | None = None
    offers: tuple[Offer, ...] = ()
    mixed: Mixed | None = None
    maximise: Maximise | None = None
    scenarios: tuple[Scenario, ...] = ()
    lengthened: Callable[[int], Workload] | None = field(default=None, compare=False, repr=False)
    assumed: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[Offer, ...]:
        """What may be rented."""
        return self.offers or (whole(self.cluster),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What might come instead.

    Attributes:
        name: the user's.
        study: the whole question, with its own workload, cluster, space and limits.
    """

    name: str
    study: Study
