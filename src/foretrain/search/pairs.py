"""Search on two kinds of devices: every legal plan by replica and by stage, priced in tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from foretrain.cluster.mixed import dollars, watts
from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.mixed import replica_tables, stage_tables
from foretrain.plan.plan import GroupedBy, Groups, Plan
from foretrain.plan.study import Objective, Study
from foretrain.plan.table import Column, Flags, PlanTable
from foretrain.step.mixed.replicas import Settings, replica_memory, replica_settings, shares, ways
from foretrain.step.mixed.stages import (
    Both,
    Layers,
    outlook,
    stage_seconds,
    staged,
    stretch_memory,
    stretches,
)
from foretrain.step.objective import MEMORY, MEMORY_LIMIT

EITHER = ((0, 1), (1, 0))
PIECE = 256
"""Plans by stage that are cut at once; what is best among them lets others go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairCandidate:
    """A plan on two kinds of devices as the tables priced it.

    Attributes:
        plan: with its groups.
        step_time: seconds, closed form.
        memory: bytes per device, the heavier kind's.
        value: what is minimised.
    """

    plan: Plan
    step_time: float
    memory: float
    value: float

    @property
    def rank(self) -> tuple[float, float, str]:
        """Ties go to less memory, then the canonical text; all plans have all devices."""
        return self.value, self.memory, str(self.plan)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PricedPairs:
    """A table of plans grouped alike. [plan]

    Attributes:
        by: what lies on one kind as a whole.
        places: which cluster has the first replicas or stages, and which the rest.
        plans: the plans.
        micro_batches: per step and replica, of each of them.
        seconds: of a step.
        memory: bytes on a device of each of them.
    """

    by: GroupedBy
    places: tuple[int, int]
    plans: PlanTable
    micro_batches: tuple[Column, Column]
    seconds: Column
    memory: tuple[Column, Column]

    def plan(self, row: int) -> Plan:
        """One of the plans, with its groups."""
        first, second = (int(many[row]) for many in self.micro_batches)
        groups = Groups(by=self.by, places=self.places, micro_batches=(first, second))
        return replace(self.plans.plan(row), groups=groups)


@dataclass(slots=True, kw_only=True)
class FoundPairs:
    """What a search has found so far.

    Attributes:
        keep: how many of the best plans to keep.
        best: the best plans, in order.
        space: distinct legal plans looked at.
        priced: those that fit and keep the limits.
        excluded: plans that cannot be among the best, whatever their cut.
        rejected: plans that are refused, by reason.
        complete: whether the whole space was looked at.
    """

    keep: int
    best: list[PairCandidate] = field(default_factory=list)
    space: int = 0
    priced: int = 0
    excluded: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    complete: bool = True

    def bar(self, study: Study) -> float:
        """Seconds of a step beyond which no plan is among the best."""
        full = len(self.best) == self.keep and study.objective is not Objective.MEMORY
        return self.best[-1].step_time if full else np.inf


def search_mixed(
    study: Study,
    coefficients: Coefficients,
    *,
    keep: int,
    tell: Callable[[FoundPairs], None],
    stop: Callable[[], bool],
) -> FoundPairs:
    """The best plans on the two kinds of devices of a study.

    Args:
        study: workload, both clusters, space, objective and limits.
        coefficients: how well hardware and software do.
        keep: how many of the best plans to keep.
        tell: called after every table with what was found.
        stop: asked before every table; true ends the search with what was found.
    """
    found = FoundPairs(keep=keep)
    for priced in _tables(study, coefficients, found=found):
        if priced is not None:
            _add(study, priced, found)
        tell(found)
        if stop():
            found.complete = False
            break
    found.rejected = +found.rejected  # without reasons that refused nothing
    return found


def _tables(
    study: Study, coefficients: Coefficients, *, found: FoundPairs
) -> Iterator[PricedPairs | None]:
    """The plans of the study's space, but for those that cannot be among the best found.

    None after each table by stage, of which nothing may be left.
    """
    mixed = study.mixed
    assert mixed is not None, "a study of one kind was not refused"
    settings = replica_settings(study.workload, mixed, coefficients)
    one, two = (cluster.devices for cluster in mixed.kinds)
    for plans in replica_tables(study.workload, mixed, study.space):
        rows = np.flatnonzero(ways(study.workload, plans, devices=(one, two)).last >= 0)
        found.space += len(rows)
        if len(rows):
            yield _by_replica(settings, plans.take(rows), devices=(one, two))
    both = stretches(study.workload, mixed, coefficients)
    for plans in stage_tables(study.workload, mixed, study.space):
        for first, second in EITHER:
            ordered = both[first], both[second]
            for some, layers in _promising(study, ordered, plans, found=found):
                yield _by_stage(ordered, some, layers, places=(first, second))
            yield None


def _promising(
    study: Study, both: Both, plans: PlanTable, *, found: FoundPairs
) -> Iterator[tuple[PlanTable, Layers]]:
    """Plans by stage, a few at a time, those of least bound first, until the bound is too high."""
    known = outlook(both, plans)
    layers = known.layers
    order = np.argsort(known.seconds, kind="stable")
    for start in range(0, len(order), PIECE):
        piece = order[start : start + PIECE]
        few = piece[known.fits[piece]]
        rows = few[known.seconds[few] <= found.bar(study)]
        found.space += len(piece)
        found.rejected[MEMORY] += len(piece) - len(few)
        found.excluded += len(few) - len(rows)
        if len(rows):
            yield plans.take(rows), (layers[0].take(rows, axis=1), layers[1].take(rows, axis=1))


def _by_replica(settings: Settings, plans: PlanTable, *, devices: tuple[int, int]) -> PricedPairs:
    """Plans by replica, each with the best way to share the batch."""
    found = shares(settings, plans, devices=devices)
    first, second = found.micro_batches
    return PricedPairs(
        by=GroupedBy.REPLICA,
        places=(0, 1),
        plans=plans,
        micro_batches=found.micro_batches,
        seconds=np.maximum(*found.seconds),
        memory=(
            replica_memory(settings[0], plans, first),
            replica_memory(settings[1], plans, second),
        ),
    )


def _by_stage(
    both: Both, plans: PlanTable, layers: Layers, *, places: tuple[int, int]
) -> PricedPairs:
    """Plans by stage, each with the cut that suits the kinds."""
    found = staged(both, plans, layers)
    many = np.asarray(found.passing.micro_batches)
    return PricedPairs(
        by=GroupedBy.STAGE,
        places=places,
        plans=found.plans,
        micro_batches=(many, many),
        seconds=stage_seconds(both, found),
        memory=stretch_memory(both, found),
    )


def _add(study: Study, priced: PricedPairs, found: FoundPairs) -> None:
    """Drop what does not fit or is over a limit, and rank the rest."""
    kept = np.ones(len(priced.plans), bool)
    for reason, over in _over(study, priced):
        found.rejected[reason] += int((kept & over).sum())
        kept &= ~over
    found.priced += int(kept.sum())
    memory = np.maximum(*priced.memory)
    value = memory if study.objective is Objective.MEMORY else _rate(study) * priced.seconds
    rows = np.flatnonzero(kept)
    last = np.sort(value[rows])[: found.keep][-1:]
    candidates = [
        PairCandidate(
            plan=priced.plan(int(row)),
            step_time=float(priced.seconds[row]),
            memory=float(memory[row]),
            value=float(value[row]),
        )
        for row in rows[value[rows] <= last]
    ]
    found.best = sorted([*found.best, *candidates], key=lambda each: each.rank)[: found.keep]


def _rate(study: Study) -> float:
    """What a second is worth; every plan has all devices."""
    assert study.mixed is not None
    rates = {Objective.COST: dollars(study.mixed), Objective.ENERGY: watts(study.mixed)}
    return rates.get(study.objective) or 1.0


def _over(study: Study, priced: PricedPairs) -> Iterator[tuple[str, Flags]]:
    """Which plans do not fit or break a limit, reason by reason. [plan]"""
    assert study.mixed is not None
    limit, workload = study.limit, study.workload
    kinds = [study.mixed.kinds[place] for place in priced.places]
    room = [each.device.memory for each in kinds]
    yield MEMORY, (priced.memory[0] > room[0]) | (priced.memory[1] > room[1])
    if limit.memory is not None:
        yield MEMORY_LIMIT, np.maximum(*priced.memory) > limit.memory
    if workload.samples is not None:
        whole = priced.seconds * (workload.samples / workload.global_batch)
        if limit.deadline is not None:
            yield "deadline", whole > limit.deadline
        if limit.cost is not None:
            yield "cost limit", (dollars(study.mixed) or 0.0) * whole > limit.cost
