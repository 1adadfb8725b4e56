"""capacity: how many nodes does a response or waiting time need, under each policy?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.case import CaseEngine, QueueCase, run_case
from foretrain.jobs.generator import JobKind
from foretrain.jobs.result import Capacity, Enough, PolicyResult
from foretrain.jobs.summary import policy_result
from foretrain.measured.queue_study import QueueStudy, Target, TargetQuantity


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizing:
    """What is tried on one number of nodes after the other."""

    study: QueueStudy
    target: Target
    kinds: tuple[JobKind, ...]
    load: float | None
    engine: CaseEngine

    def on(self, policy: str, nodes: int) -> PolicyResult | None:
        """What a policy does there; None where some job or quota does not fit at all."""
        fleet = _sized(self.study.fleet, nodes)
        cases = [
            QueueCase(
                study=self.study,
                fleet=fleet,
                kinds=self.kinds,
                policy=policy,
                load=self.load,
                seed=seed,
            )
            for seed in range(self.study.seeds)
        ]
        try:
            runs = [each.summary for each in self.engine(run_case, cases)]
        except InputError:
            return None
        return policy_result(fleet, runs)

    def value(self, result: PolicyResult | None) -> float:
        """What the target is about, seconds."""
        if result is None:
            return inf
        values = {
            TargetQuantity.MEAN: result.mean_response,
            TargetQuantity.P95: result.p95,
            TargetQuantity.WAITING: result.mean_waiting,
            TargetQuantity.P95_WAITING: result.p95_waiting,
        }
        return values[self.target.quantity]


def capacity(
    study: QueueStudy,
    kinds: tuple[JobKind, ...],
    *,
    engine: CaseEngine = map,
    tell: Callable[[str, int, int], None],
) -> Capacity | None:
    """The fewest nodes on which each policy keeps the study's target; None without a target.

    Jobs come as they do at the highest load of the study, whatever the number of nodes. Response
    times are taken to fall with nodes, so that halving finds the number.

    Args:
        study: the question.
        kinds: of jobs, where they are drawn of models.
        engine: where runs are done.
        tell: told how many policies are done.

    Raises:
        InputError: the fleet has several kinds of nodes.
    """
    if study.target is None:
        return None
    answerable(study.fleet)
    load = max(study.loads, default=None)
    asked = _Sizing(study=study, target=study.target, kinds=kinds, load=load, engine=engine)
    found = []
    for policy in study.policies:
        # The fewest nodes that keep the target, by halving.
        low, high = 0, study.target.most
        best = asked.on(policy, high)
        kept = asked.value(best) <= study.target.seconds
        if kept:
            while high - low > 1:
                middle = (low + high) // 2
                result = asked.on(policy, middle)
                if asked.value(result) <= study.target.seconds:
                    high, best = middle, result
                else:
                    low = middle
        fleet = _sized(study.fleet, high)
        found.append(
            Enough(
                policy=policy,
                nodes=high if kept else None,
                devices=fleet.devices,
                response=asked.value(best),
                utilisation=best.utilisation if best else 0.0,
                price=fleet.price or None,
            )
        )
        tell("capacities", len(found), len(study.policies))
    return Capacity(
        quantity=study.target.quantity.value,
        seconds=study.target.seconds,
        load=load,
        policies=tuple(sorted(found, key=lambda each: (each.nodes or inf, each.response))),
    )


def answerable(fleet: Fleet) -> None:
    """Refuse fleets of which more than a number of nodes would have to be said."""
    if len(fleet.nodes) > 1:
        raise InputError("simulation.target asks for a number of nodes; give nodes of one kind.")


def _sized(fleet: Fleet, nodes: int) -> Fleet:
    """The fleet with another number of nodes."""
    return replace(fleet, nodes=(replace(fleet.nodes[0], count=nodes),))
