"""What `search` answers where two kinds of devices train together.

What one plan on two kinds of devices takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from foretrain.cluster.mixed import Mixed, dollars, watts
from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.plan import GroupedBy, Groups, Plan
from foretrain.plan.study import Objective, Study
from foretrain.plan.table import table_of
from foretrain.show.table import label
from foretrain.show.words import percent
from foretrain.step.by_replica import of_share, replica_settings
from foretrain.step.by_stage import outlook, staged, stretches
from foretrain.step.ends import with_input
from foretrain.step.held import hold
from foretrain.step.price import AGREEMENT, PASSES, memory_of, model_flop, price_plan
from foretrain.step.result import Estimate, Memory
from foretrain.step.setting import Setting
from foretrain.step.simulated_passes import StageTimes, StepTimes, closed_form
from foretrain.step.simulated_step import simulate
from foretrain.step.step import factors, step_times
from foretrain.step.work import peak
from foretrain.units import SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTimes:
    """One kind of devices at work; the four stretches of seconds add up to the step.

    Attributes:
        cluster: its name.
        device: name of the device.
        devices: how many of them.
        replicas: replicas that lie on them, as a whole or with some of their stages.
        stages: pipeline stages of a replica that lie on them.
        micro_batches: per step, of a replica.
        share: of the global batch by replica, of the model's layers by stage.
        compute: seconds that the busiest stage's passes take, collectives included.
        update: seconds of its update and of gathering parameters.
        other_kind: seconds that it waits for the slower kind.
        rest: filling and draining the pipeline, sends, gradients that no pass hides, samples.
        memory: bytes per device, heaviest stage and every stage.
    """

    cluster: str = field(metadata=label("group"))
    device: str
    devices: int
    replicas: int
    stages: int
    micro_batches: int
    share: float = field(metadata=label("share", percent))
    compute: float = field(metadata=label("passes", SECONDS))
    update: float = field(metadata=label("update", SECONDS))
    other_kind: float = field(metadata=label("waits for the other", SECONDS))
    rest: float = field(metadata=label("rest", SECONDS))
    memory: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedPlan:
    """A plan on two kinds of devices, and what it takes.

    Attributes:
        mode: what lies on one kind as a whole, replicas or stages.
        plan: of all devices.
        kinds: at work, the one with the first stages first.
        step_time: seconds of one step: the closed form, or the event simulation where the two
            differ by more than 3 %.
        closed_form: seconds by the closed form.
        simulated: seconds by the event simulation; None if it was not run.
        mfu: FLOP of the model per second over the peak of all devices.
        cost_per_step: dollars; None unless both prices are known.
        energy_per_step: joules; None unless both have power figures.
        time_to_train: seconds of all steps; None without an amount.
        cost_to_train: dollars of all steps.
    """

    mode: GroupedBy = field(metadata=label("by"))
    plan: Plan
    kinds: tuple[KindTimes, KindTimes]
    step_time: float = field(metadata=label("step", SECONDS))
    closed_form: float
    simulated: float | None
    mfu: float = field(metadata=label("MFU", percent, spare=1))
    cost_per_step: float | None
    energy_per_step: float | None
    time_to_train: float | None
    cost_to_train: float | None

    @property
    def memory(self) -> float:
        """Bytes on a device of the heaviest stage."""
        return max(kind.memory.total for kind in self.kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """The best plan that leaves the other kind out.

    Attributes:
        cluster: name of the kind that works.
        devices: how many of its devices.
        estimate: of the best plan; None if there is none.
        reason: why there is none, in words; None if there is one.
    """

    cluster: str
    devices: int
    estimate: Estimate | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedResult:
    """The best plans on two kinds of devices, and on each of them alone.

    Attributes:
        objective: what was minimised.
        best: the best plan on both kinds; the same as the first of `plans`.
        plans: the k best, in order.
        alone: the best on each kind alone.
        gain: by what part of the best on one kind alone both together have less of the objective;
            below 0 where one kind is better left out, None where no kind suffices alone.
        rival: cluster of the better one of those; None where no kind suffices alone.
        space: distinct plans on both kinds.
        priced: those that fit and keep the limits.
        excluded_by_bound: those that no cut makes one of the best.
        rejected: plans that are refused, by reason.
        seconds: processor seconds.
        proven_optimal: whether no plan of the space can be better.
        assumed: what was assumed and what is not counted, in words.
    """

    objective: Objective
    best: MixedPlan
    plans: tuple[MixedPlan, ...]
    alone: tuple[Alone, Alone]
    gain: float | None
    rival: str | None
    space: int
    priced: int
    excluded_by_bound: int
    rejected: dict[str, int]
    seconds: float
    proven_optimal: bool
    assumed: tuple[str, ...]

    @property
    def cut_short(self) -> bool:
        """Whether somebody wanted the answer before all plans were looked at."""
        return not self.proven_optimal


@dataclass(frozen=True, slots=True, kw_only=True)
class KindWork:
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
class BothResolutions:
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


def price_mixed(study: Study, plan: Plan, coefficients: Coefficients) -> MixedPlan:
    """What a plan on two kinds of devices takes, its step played.

    Args:
        study: workload and both clusters.
        plan: with groups.
        coefficients: how well hardware and software do.
    """
    both, workload = study.mixed, study.workload
    assert both is not None, "a study of one kind was not refused"
    groups = _groups(plan)
    by_replica = groups.by is GroupedBy.REPLICA
    works = (_by_replica if by_replica else _by_stage)(study, plan, coefficients)
    ends = [_end(work, plan) for work in works]
    step = max(end.seconds for end in ends)
    played = [end.simulated for end in ends if end.simulated is not None]
    steps = None if workload.samples is None else workload.samples / workload.global_batch
    rate, power = dollars(both), watts(both)
    top = sum(peak(kind.device, workload.precision) * kind.devices for kind in both.kinds)
    # The quicker kind waits for the other.
    busy = [
        end.seconds if by_replica else work.compute for work, end in zip(works, ends, strict=True)
    ]
    first, second = (
        _kind(both, plan, work, step=step, waits=max(0.0, other - own))
        for work, own, other in zip(works, busy, reversed(busy), strict=True)
    )
    return MixedPlan(
        mode=groups.by,
        plan=plan,
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


def _groups(plan: Plan) -> Groups:
    assert plan.groups is not None, "a plan of one kind was not told apart"
    return plan.groups


def _by_replica(study: Study, plan: Plan, coefficients: Coefficients) -> tuple[KindWork, KindWork]:
    """Each kind passes its own share of the batch through whole replicas."""
    assert study.mixed is not None
    mixed, shared = study.mixed, _groups(plan).micro_batches
    settings = replica_settings(study.workload, mixed, coefficients)
    plans = table_of([plan])

    def of(place: int) -> KindWork:
        many, devices = shared[place], mixed.kinds[place].devices
        own = of_share(settings[place], many * plan.data * plan.micro_batch)
        replicas = devices * plan.data // plan.devices
        return KindWork(
            place=place,
            setting=own,
            times=step_times(own, factors(own, hold(own, plans))),
            stages=range(plan.pipeline),
            replicas=replicas,
            micro_batches=many,
            share=replicas * many * plan.micro_batch / study.workload.global_batch,
        )

    return of(0), of(1)


def _by_stage(study: Study, plan: Plan, coefficients: Coefficients) -> tuple[KindWork, KindWork]:
    """Both kinds work on every sample, one after the other."""
    assert study.mixed is not None
    groups, kinds = _groups(plan), stretches(study.workload, study.mixed, coefficients)
    both = kinds[groups.places[0]], kinds[groups.places[1]]
    plans = table_of([plan])
    found = staged(both, plans, outlook(both, plans).layers)
    turn, times, cut = int(found.turn[0]), found.times(), found.plans.plan(0).cut
    assert isinstance(cut, tuple)

    def of(nth: int, stages: range) -> KindWork:
        return KindWork(
            place=groups.places[nth],
            setting=both[nth].setting,
            times=times,
            stages=stages,
            replicas=plan.data,
            micro_batches=groups.micro_batches[nth],
            # Of the layers.
            share=sum(size for chunk, size in enumerate(cut) if chunk % plan.pipeline in stages)
            / sum(cut),
        )

    return of(0, range(turn)), of(1, range(turn, plan.pipeline))


def _end(work: KindWork, plan: Plan) -> BothResolutions:
    """The step of one kind by replica, of both by stage, with the wait for its samples."""
    times, plans = work.times, table_of([plan])
    passes = len(times.stages) * times.micro_batches * times.interleaving

    def fed(seconds: float) -> float:
        return float(with_input(work.setting, plans, np.array([seconds]))[0])

    return BothResolutions(
        closed=fed(closed_form(times)),
        simulated=None if passes > PASSES else fed(simulate(times).seconds),
    )


def _kind(both: Mixed, plan: Plan, work: KindWork, *, step: float, waits: float) -> KindTimes:
    """One kind as it is answered."""
    own = both.kinds[work.place]
    update = work.busiest.update + work.busiest.parameters
    # Of its own stages alone.
    whole = price_plan(work.setting, plan, played=False).memory
    stages = tuple(whole.stages[stage] for stage in work.stages)
    heaviest = max(stages, key=lambda stage: stage.total)
    return KindTimes(
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
        memory=memory_of(work.setting, heaviest, stages),
    )
