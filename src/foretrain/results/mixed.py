"""What `search` answers where two kinds of devices train together."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.plan.mixed import Mode
from foretrain.plan.plan import Plan
from foretrain.plan.study import Objective
from foretrain.results.estimate import Estimate, Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
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

    cluster: str
    device: str
    devices: int
    replicas: int
    stages: int
    micro_batches: int
    share: float
    compute: float
    update: float
    other_kind: float
    rest: float
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

    mode: Mode
    plan: Plan
    kinds: tuple[Kind, Kind]
    step_time: float
    closed_form: float
    simulated: float | None
    mfu: float
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
