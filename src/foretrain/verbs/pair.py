"""What one plan on two kinds of devices takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foretrain.cluster.mixed import Mixed, dollars, watts
from foretrain.coefficients.coefficients import Coefficients
from foretrain.cost.closed_form import closed_form
from foretrain.cost.factors import factors
from foretrain.cost.flop import model_flop
from foretrain.cost.held import hold
from foretrain.cost.input import with_input
from foretrain.cost.mixed.replicas import of_share, replica_settings
from foretrain.cost.mixed.stages import outlook, staged, stretches
from foretrain.cost.rates import peak
from foretrain.cost.setting import Setting
from foretrain.cost.step import step_times
from foretrain.cost.timeline import StageTimes, StepTimes
from foretrain.plan.mixed import Mode, Pair
from foretrain.plan.plan import Plan
from foretrain.plan.study import Study
from foretrain.plan.table import table_of
from foretrain.results.estimate import Memory
from foretrain.results.mixed import Kind, MixedPlan
from foretrain.simulate.step import simulate
from foretrain.verbs.price import AGREEMENT, PASSES, memory_of, price_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One kind at work.

    Attributes:
        place: of its cluster in the `Mixed`.
        setting: the workload on it, as if all devices were of the kind.
        times: what happens in a step of its replicas.
        stages: which of the stages in them lie on it.
        replicas: how many lie on it, as a whole or with those stages.
        micro_batches: per step, of a replica.
        share: of the global batch by replica, of the layers by stage.
    """

    place: int
    setting: Setting
    times: StepTimes
    stages: range
    replicas: int
    micro_batches: int
    share: float

    @property
    def busiest(self) -> StageTimes:
        """The stage of its own that computes longest."""
        own = [self.times.stages[stage] for stage in self.stages]
        return max(own, key=lambda stage: stage.forward + stage.backward)

    @property
    def compute(self) -> float:
        """Seconds of that stage's passes."""
        return self.micro_batches * (self.busiest.forward + self.busiest.backward)


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Seconds of a step at both resolutions.

    Attributes:
        closed: by the closed form.
        simulated: by the event simulation; None if it was not played.
    """

    closed: float
    simulated: float | None

    @property
    def seconds(self) -> float:
        """The one that counts."""
        if self.simulated is None or abs(self.closed / self.simulated - 1.0) <= AGREEMENT:
            return self.closed
        return self.simulated


def price_pair(study: Study, pair: Pair, coefficients: Coefficients) -> MixedPlan:
    """What a plan on two kinds of devices takes, its step played.

    Args:
        study: workload and both clusters.
        pair: the plan.
        coefficients: how well hardware and software do.
    """
    both, workload = study.mixed, study.workload
    assert both is not None, "a study of one kind was not refused"
    works = (_by_replica if pair.mode is Mode.REPLICA else _by_stage)(study, pair, coefficients)
    ends = [_end(work, pair) for work in works]
    step = max(end.seconds for end in ends)
    played = [end.simulated for end in ends if end.simulated is not None]
    steps = None if workload.samples is None else workload.samples / workload.global_batch
    rate, power = dollars(both), watts(both)
    top = sum(peak(kind.device, workload.precision) * kind.devices for kind in both.kinds)
    waits = _waits(pair, works, ends)
    first, second = (
        _kind(both, pair, work, step=step, waits=each)
        for work, each in zip(works, waits, strict=True)
    )
    return MixedPlan(
        mode=pair.mode,
        plan=pair.plan,
        kinds=(first, second),
        step_time=step,
        closed_form=max(end.closed for end in ends),
        simulated=max(played) if len(played) == len(ends) else None,
        mfu=model_flop(workload.model) * workload.global_batch / step / top,
        cost_per_step=None if rate is None else rate * step,
        energy_per_step=None if power is None else power * step,
        time_to_train=None if steps is None else steps * step,
        cost_to_train=None if steps is None or rate is None else steps * step * rate,
    )


def _by_replica(study: Study, pair: Pair, coefficients: Coefficients) -> tuple[Work, Work]:
    """Each kind passes its own share of the batch through whole replicas."""
    assert study.mixed is not None
    mixed, plan = study.mixed, pair.plan
    settings = replica_settings(study.workload, mixed, coefficients)
    plans = table_of([plan])

    def of(place: int) -> Work:
        many, devices = pair.micro_batches[place], mixed.kinds[place].devices
        own = of_share(settings[place], many * plan.data * plan.micro_batch)
        replicas = devices * plan.data // plan.devices
        return Work(
            place=place,
            setting=own,
            times=step_times(own, factors(own, hold(own, plans))),
            stages=range(plan.pipeline),
            replicas=replicas,
            micro_batches=many,
            share=replicas * many * plan.micro_batch / study.workload.global_batch,
        )

    return of(0), of(1)


def _by_stage(study: Study, pair: Pair, coefficients: Coefficients) -> tuple[Work, Work]:
    """Both kinds work on every sample, one after the other."""
    assert study.mixed is not None
    kinds = stretches(study.workload, study.mixed, coefficients)
    both = kinds[pair.places[0]], kinds[pair.places[1]]
    plans = table_of([pair.plan])
    found = staged(both, plans, outlook(both, plans).layers)
    turn, times = int(found.turn[0]), found.times()

    def of(nth: int, stages: range) -> Work:
        return Work(
            place=pair.places[nth],
            setting=both[nth].setting,
            times=times,
            stages=stages,
            replicas=pair.plan.data,
            micro_batches=pair.micro_batches[nth],
            share=_layers(found.plans.plan(0), stages),
        )

    return of(0, range(turn)), of(1, range(turn, pair.plan.pipeline))


def _layers(plan: Plan, stages: range) -> float:
    """Share of the layers that some stages hold."""
    assert isinstance(plan.cut, tuple)
    held = [size for chunk, size in enumerate(plan.cut) if chunk % plan.pipeline in stages]
    return sum(held) / sum(plan.cut)


def _end(work: Work, pair: Pair) -> End:
    """The step of one kind by replica, of both by stage, with the wait for its samples."""
    times, plans = work.times, table_of([pair.plan])
    passes = len(times.stages) * times.micro_batches * times.interleaving

    def fed(seconds: float) -> float:
        return float(with_input(work.setting, plans, np.array([seconds]))[0])

    return End(
        closed=fed(closed_form(times)),
        simulated=None if passes > PASSES else fed(simulate(times).seconds),
    )


def _waits(pair: Pair, works: tuple[Work, Work], ends: list[End]) -> tuple[float, float]:
    """Seconds that each kind waits for the other, the slower one."""
    if pair.mode is Mode.REPLICA:
        first, second = (end.seconds for end in ends)
    else:
        first, second = (work.compute for work in works)
    return max(0.0, second - first), max(0.0, first - second)


def _kind(both: Mixed, pair: Pair, work: Work, *, step: float, waits: float) -> Kind:
    """One kind as it is answered."""
    own = both.kinds[work.place]
    update = work.busiest.update + work.busiest.parameters
    return Kind(
        cluster=own.name,
        device=own.device.name,
        devices=own.devices,
        replicas=work.replicas,
        stages=len(work.stages),
        micro_batches=work.micro_batches,
        share=work.share,
        compute=work.compute,
        update=update,
        other_kind=waits,
        rest=step - work.compute - update - waits,
        memory=_memory(pair, work),
    )


def _memory(pair: Pair, work: Work) -> Memory:
    """Bytes on the stages of one kind."""
    whole = price_plan(work.setting, pair.plan, played=False).memory
    stages = tuple(whole.stages[stage] for stage in work.stages)
    return memory_of(work.setting, max(stages, key=lambda stage: stage.total), stages)
