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
from foretrain.search.result import Progress
from foretrain.step.by_replica import replica_memory, replica_settings, shares, ways
from foretrain.step.by_stage import (
    Both,
    Layers,
    outlook,
    stage_seconds,
    staged,
    stretch_memory,
    stretches,
)
from foretrain.step.memory import MEMORY, rooms

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


Rooms = tuple[dict[str, float], dict[str, float]]
"""Bytes of a device of either kind that a plan may fill, by the reason."""


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

    def progress(self, objective: Objective) -> Progress:
        """How far the search has come; how large the space is shows at its end."""
        best = self.best[0] if self.best else None
        return Progress(
            objective=objective,
            settled=self.space,
            space=None,
            best=best.value if best else None,
            plan=best.plan if best else None,
            gap=None,
        )

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
    assert study.mixed is not None, "a study of one kind was not refused"
    one, two = replica_settings(study.workload, study.mixed, coefficients)
    room = rooms(one, study.limit), rooms(two, study.limit)
    found = FoundPairs(keep=keep)
    for priced in _tables(study, coefficients, found=found):
        if priced is not None:
            _add(study, priced, found, room=room)
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
            # Each with the best way to share the batch.
            several = plans.take(rows)
            shared = shares(settings, several, devices=(one, two))
            first, second = (
                replica_memory(known, several, many)
                for known, many in zip(settings, shared.micro_batches, strict=True)
            )
            yield PricedPairs(
                by=GroupedBy.REPLICA,
                places=(0, 1),
                plans=several,
                micro_batches=shared.micro_batches,
                seconds=np.maximum(*shared.seconds),
                memory=(first, second),
            )
    both = stretches(study.workload, mixed, coefficients)
    for plans in stage_tables(study.workload, mixed, study.space):
        for places in EITHER:
            ordered = both[places[0]], both[places[1]]
            for some, layers in _promising(study, ordered, plans, found=found):
                # Each with the cut that suits the kinds.
                cut = staged(ordered, some, layers)
                passed = np.asarray(cut.passing.micro_batches)
                yield PricedPairs(
                    by=GroupedBy.STAGE,
                    places=places,
                    plans=cut.plans,
                    micro_batches=(passed, passed),
                    seconds=stage_seconds(ordered, cut),
                    memory=stretch_memory(ordered, cut),
                )
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


def _add(study: Study, priced: PricedPairs, found: FoundPairs, *, room: Rooms) -> None:
    """Drop what does not fit or is over a limit, and rank the rest."""
    assert study.mixed is not None
    limit, workload, memory = study.limit, study.workload, np.maximum(*priced.memory)
    first, second = (room[place] for place in priced.places)
    over: list[tuple[str, Flags]] = [
        (
            reason,
            (priced.memory[0] > first.get(reason, np.inf))
            | (priced.memory[1] > second.get(reason, np.inf)),
        )
        for reason in dict.fromkeys((*first, *second))
    ]
    if workload.samples is not None:
        whole = priced.seconds * (workload.samples / workload.global_batch)
        if limit.deadline is not None:
            over.append(("deadline", whole > limit.deadline))
        if limit.cost is not None:
            over.append(("cost limit", (dollars(study.mixed) or 0.0) * whole > limit.cost))
    kept = np.ones(len(priced.plans), bool)
    for reason, broken in over:
        found.rejected[reason] += int((kept & broken).sum())
        kept &= ~broken
    found.priced += int(kept.sum())
    # What a second is worth; every plan has all devices.
    rates = {Objective.COST: dollars(study.mixed), Objective.ENERGY: watts(study.mixed)}
    rate = rates.get(study.objective) or 1.0
    value = memory if study.objective is Objective.MEMORY else rate * priced.seconds
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
