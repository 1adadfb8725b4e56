"""Parts: seconds that add up to a whole.

What `estimate` answers about a whole job, beyond its step.

What `estimate` answers. Seconds, bytes, FLOP, dollars, joules; ratios are fractions.

A plan of a ranking, and what it takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, ClassVar

from foretrain.coefficients.intervals import Nearest, Situation
from foretrain.plan.plan import Plan
from foretrain.show.document import Shown
from foretrain.show.table import label
from foretrain.show.words import percent, whole
from foretrain.units import BYTES, SECONDS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def added_up(parts: DataclassInstance) -> float:
    """All fields in their order, so that the sum has the same bits wherever it is made."""
    seconds = 0.0
    for each in fields(parts):
        seconds += getattr(parts, each.name)
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class JobParts:
    """Expected seconds of a whole job; they add up to the time to train.

    Attributes:
        start: from granted nodes to the first step.
        steps: steps that count, smaller ones of a batch ramp included.
        cold_input: waiting for samples in the first epoch, beyond what later ones wait.
        evaluation: passes over held-out samples.
        checkpoints: standing still while a checkpoint is written or copied.
        lost: work that failures undo.
        restarts: from failures to the next steps.
    """

    start: float = 0.0
    steps: float = 0.0
    cold_input: float = 0.0
    evaluation: float = 0.0
    checkpoints: float = 0.0
    lost: float = 0.0
    restarts: float = 0.0

    @property
    def total(self) -> float:
        """The job, in seconds: the parts added in the order of their fields."""
        return added_up(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTime:
    """A whole job.

    Attributes:
        start_time: seconds before the first step; 0 where the study has no [job].
        goodput: share of the time after it that goes into steps that count; None if not known.
        parts: what the job consists of; None without an amount, or if not known.
        checkpoint_bytes: what one checkpoint stores.
        checkpoint_interval: seconds of work between two; None without any, or if not known.
        checkpoint_seconds: seconds that training stands still for one; None as before.
        failures: how many are expected after the start; None without an amount, or if not known.
    """

    start_time: float
    goodput: float | None
    parts: JobParts | None
    checkpoint_bytes: float
    checkpoint_interval: float | None
    checkpoint_seconds: float | None
    failures: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Exposed seconds of one step, on the slowest stage's time line; they add up to the step.

    Attributes:
        forward: forward passes of the slowest stage, all micro-batches.
        backward: backward passes, recomputation apart.
        recompute: forward work done a second time.
        tensor: collectives of the tensor axis.
        context: exchanges of the context axis that attention cannot hide.
        expert: sending tokens to their experts and back.
        halo: exchanging borders of pictures, and gathering them where their sharing ends.
        pipeline: sends between stages that no compute hides.
        bubble: waiting for other stages.
        gradients: reduction of gradients over the data axis that the backward pass cannot hide.
        parameters: gathering of updated parameters when the optimizer is sharded.
        update: the optimizer's own work.
        offload: moving activations and optimizer state to the host and back.
        host: what passes wait for hosts that call their operators.
        input: waiting for samples that hosts read and prepare.
        other: the rounding of the sum; fixed time per step once it is priced.
    """

    forward: float = 0.0
    backward: float = 0.0
    recompute: float = 0.0
    tensor: float = 0.0
    context: float = 0.0
    expert: float = 0.0
    halo: float = 0.0
    pipeline: float = 0.0
    bubble: float = 0.0
    gradients: float = 0.0
    parameters: float = 0.0
    update: float = 0.0
    offload: float = 0.0
    host: float = 0.0
    input: float = 0.0
    other: float = 0.0

    @property
    def total(self) -> float:
        """The step, in seconds: the parts added in the order of their fields."""
        return added_up(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMemory:
    """Bytes on one device of one pipeline stage.

    Attributes:
        stage: position in the pipeline, from 0.
        weights: working copy of the parameters.
        gradients: accumulated gradients.
        optimizer: optimizer state and master copy.
        activations: what is kept for the backward pass, all micro-batches in flight.
        buffers: one recomputed layer, communication buffers, the framework's own reserve.
        total: the sum.
        allocated: of the total what the framework's allocator hands out, as its logs count.
        peak: when that is, in words; empty of software whose buffers are there all through a step.
    """

    stage: int
    weights: float
    gradients: float
    optimizer: float
    activations: float
    buffers: float
    total: float
    allocated: float
    peak: str = field(default="", metadata={"if_set": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes on a device of the heaviest stage, and every stage beside it.

    Attributes:
        low: lower end of the interval of `total`.
        high: upper end.
        probability_fits: how likely the device holds it, from 0 to 1, by how far predictions have
            been off; whether a plan counts as fitting is decided by `total` alone.
        stages: every stage, in order.
    """

    weights: float
    gradients: float
    optimizer: float
    activations: float
    buffers: float
    total: float = field(metadata=label("memory", BYTES, meaning="on the heaviest device"))
    allocated: float
    low: float
    high: float
    probability_fits: float
    stages: tuple[StageMemory, ...]
    peak: str = field(default="", metadata={"if_set": True})

    @property
    def heaviest(self) -> StageMemory:
        """The stage with the largest total, the first of equals."""
        return max(self.stages, key=lambda stage: stage.total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How far the coefficients reach.

    Attributes:
        inside_calibration: whether the runs that they were fitted to were like this one.
        nearest: measured runs that the coefficients were fitted to, those most like this first.
        outside: in what this one is unlike all of them, in words; empty if in nothing.
        situation: what the width of the interval follows from.
    """

    inside_calibration: bool
    nearest: tuple[Nearest, ...]
    outside: str
    situation: Situation


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Estimate(Shown):
    """What one step of one plan takes.

    Attributes:
        plan: the plan that was priced.
        devices: devices that it uses.
        step_time: seconds of one step: the closed form, or the event simulation where the two
            differ by more than 3 %.
        closed_form: seconds by the closed form.
        simulated: seconds by the event simulation; None if it was not run.
        step_time_low: lower end of the interval.
        step_time_high: upper end.
        parts: what the step consists of.
        memory: bytes per device.
        samples_per_second: of the whole job.
        tokens_per_second_per_device: None for samples without tokens.
        model_flops_per_second_per_device: FLOP of the model (recomputation not counted) per
            second and device.
        mfu: that over the device's peak.
        hfu: the same with recomputed FLOP.
        cost_per_step: dollars; None without a price.
        energy_per_step: joules; None without power figures.
        epoch_time: seconds of an epoch after the first; None without a data set.
        start_time: seconds before the first step; 0 where the study has no [job].
        goodput: share of the time after it spent on steps that count; None if not known.
        time_to_train: seconds of the whole job; None without an amount, or if not known.
        time_to_train_low: the same if steps take what the lower end of their interval says; what a
            job waits for beside its steps has no interval.
        time_to_train_high: the same for the upper end.
        cost_to_train: dollars; None without a time to train or a price.
        cost_to_train_low: the same for the lower end of the time to train.
        cost_to_train_high: the same for the upper end.
        job: what the whole job consists of.
        fits: whether the plan runs on the cluster.
        probability_fits: how likely a device's memory holds the plan, as `memory` says it.
        reason: why not, in words; None if it fits.
        confidence: how far the coefficients reach.
        warnings: what the reader should know.
        sources: where the model and each coefficient come from, in words.
        decides: the option of the trainer, left open, that moves the step most; None if none does.
    """

    columns: ClassVar[tuple[str, ...]] = ("step_time", "memory.total", "mfu")

    plan: Plan
    devices: int
    step_time: float = field(metadata=label("step", SECONDS, meaning="time of one step"))
    closed_form: float
    simulated: float | None
    step_time_low: float
    step_time_high: float
    parts: Parts
    memory: Memory
    samples_per_second: float
    tokens_per_second_per_device: float | None
    model_flops_per_second_per_device: float
    mfu: float = field(
        metadata=label("MFU", percent, meaning="model FLOP/s over the device's peak", spare=2)
    )
    hfu: float
    cost_per_step: float | None
    energy_per_step: float | None
    epoch_time: float | None
    start_time: float
    goodput: float | None
    time_to_train: float | None
    time_to_train_low: float | None
    time_to_train_high: float | None
    cost_to_train: float | None
    cost_to_train_low: float | None
    cost_to_train_high: float | None
    job: JobTime
    fits: bool
    probability_fits: float
    reason: str | None
    confidence: Confidence
    warnings: tuple[str, ...]
    sources: tuple[str, ...]
    decides: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A plan and its estimate.

    Attributes:
        plan: the plan.
        estimate: what it takes.
        cluster: name of the cluster on which it runs.
        nodes: how many of its nodes.
        trainers: names of the trainers of the catalogue that can run it, of each family the newest
            release that can.
    """

    plan: Plan
    estimate: Estimate
    cluster: str = field(metadata=label("cluster"))
    nodes: int = field(metadata=label("nodes", whole))
    trainers: tuple[str, ...] = ()
