"""A whole job of one plan: its steps, and all the time in which no step is made.

Training that counts is settled first (`work`), then what checkpoints and failures make of it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import inf, isfinite

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.legality import problems
from foretrain.plan.plan import Plan
from foretrain.plan.study import CheckpointMode, JobPlan, Writes
from foretrain.plan.table import table_of
from foretrain.step.ends import input_columns, input_seconds, with_input
from foretrain.step.held import hold
from foretrain.step.interruptions import (
    Checkpoint,
    Interruption,
    batch_sizes,
    checkpoint,
    evaluation_seconds,
    evaluations,
    load_seconds,
    optimal,
    snapshot_seconds,
    start,
    stretch,
    write_seconds,
)
from foretrain.step.result import JobParts, JobTime, Parts
from foretrain.step.setting import Setting
from foretrain.step.situation import input_gaps
from foretrain.step.step import factors, step_time
from foretrain.units import SECONDS
from foretrain.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedTimes:
    """Seconds of what a training repeats.

    Attributes:
        steps: one step of each batch size of `batch_sizes`, the full batch last.
        cold: what a step takes longer until the hosts hold the data set.
        forward: forward passes of one global batch.
    """

    steps: tuple[float, ...]
    cold: float
    forward: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingTime:
    """Seconds of training when nothing interrupts it.

    Attributes:
        steps: steps that count.
        cold_input: waiting for samples in the first epoch, beyond what the later ones wait.
        evaluation: passes over held-out samples.
    """

    steps: float
    cold_input: float
    evaluation: float

    @property
    def total(self) -> float:
        """Their sum, in seconds."""
        return self.steps + self.cold_input + self.evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSeconds:
    """Seconds of a whole job; fields as those of `JobParts`."""

    start: float
    steps: float
    cold_input: float
    evaluation: float
    checkpoints: float
    lost: float
    restarts: float

    @property
    def total(self) -> float:
        """The job, in seconds: the parts added in the order of their fields."""
        return sum((getattr(self, field.name) for field in fields(self)), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What a job does beside its work; None for what the cluster does not say.

    Attributes:
        start: seconds before the first step.
        interval: seconds of work between checkpoints; infinite without any.
        between: checkpoints and failures.
        remarks: in words, what would have to be known, or what was asked for in vain.
    """

    start: float
    interval: float | None
    between: Interruption | None
    remarks: tuple[str, ...] = ()


NOTHING = Upkeep(
    start=0.0, interval=inf, between=Interruption(rate=0.0, pause=0.0, lag=0.0, restart=0.0)
)
"""Of a job that nobody asked about: it starts at once and nothing interrupts it."""


def work(workload: Workload, pace: RepeatedTimes) -> TrainingTime:
    """Training without interruption: all of it, or one step where no amount is given."""
    sizes = batch_sizes(workload)
    samples = sum(size.batch * size.steps for size in sizes)
    first = samples if workload.epoch_samples is None else min(samples, workload.epoch_samples)
    return TrainingTime(
        steps=sum(size.steps * step for size, step in zip(sizes, pace.steps, strict=True)),
        cold_input=first / workload.global_batch * pace.cold if workload.samples else 0.0,
        evaluation=evaluations(workload, samples) * evaluation_seconds(workload, pace.forward),
    )


def upkeep(
    saved: Checkpoint, cluster: Cluster, *, plan: JobPlan, coefficients: Coefficients
) -> Upkeep:
    """Start, checkpoints and failures of a job."""
    begin = start(cluster, coefficients).total
    known = begin if plan.start is None else plan.start
    gaps = _gaps(cluster, plan)
    if gaps or cluster.mtbf is None:
        return Upkeep(start=known, interval=None, between=None, remarks=gaps)
    # How long training stands still for a checkpoint, and how long one is stored meanwhile.
    pause, lag, anew = 0.0, 0.0, coefficients.job.detection + begin
    if plan.checkpoint is not Writes.NEVER and cluster.storage is not None:
        pause = write_seconds(saved, cluster, cluster.storage)
        if plan.mode is CheckpointMode.ASYNCHRONOUS:
            assert cluster.host, "an asynchronous checkpoint without a host was not refused"
            pause, lag = snapshot_seconds(saved, cluster, cluster.host), pause
        anew += load_seconds(saved, cluster, cluster.storage)
    between = Interruption(
        rate=cluster.nodes / cluster.mtbf,
        pause=pause,
        lag=lag,
        restart=anew if plan.restart is None else plan.restart,
    )
    # Checkpoints never come more often than one can be stored.
    asked, remarks = plan.checkpoint, []
    if isinstance(asked, Writes):
        interval = inf if asked is Writes.NEVER else optimal(between)
    else:
        interval = max(float(asked), lag - pause)
        if asked < interval:
            remarks.append(
                f"checkpoints come every {SECONDS.write(interval)}: storing one takes longer than "
                f"the {SECONDS.write(asked)} of job.checkpoint"
            )
    return Upkeep(start=known, interval=interval, between=between, remarks=tuple(remarks))


def job_parts(done: TrainingTime, beside: Upkeep, *, whole: bool = True) -> JobSeconds | None:
    """A job; None where it cannot be known or would never end.

    Args:
        done: its work.
        beside: what it does beside its work.
        whole: whether that is all of it, and not a piece of a training without an end.
    """
    if beside.between is None or beside.interval is None:
        return None
    length = min(beside.interval, done.total) if whole else beside.interval
    if length == inf and beside.between.rate == 0.0:
        length = done.total
    one, number = stretch(length, beside.between), done.total / length
    if one.total == inf:
        return None
    return JobSeconds(
        start=beside.start,
        steps=done.steps,
        cold_input=done.cold_input,
        evaluation=done.evaluation,
        checkpoints=number * one.checkpoint,
        lost=number * one.lost,
        restarts=number * one.restarts,
    )


def _gaps(cluster: Cluster, plan: JobPlan) -> tuple[str, ...]:
    """What the cluster would have to say before the job can be priced."""
    saves = plan.checkpoint is not Writes.NEVER
    lacking = {
        "failures are not known, so goodput and time to train are not predicted: add cluster.mtbf, "
        "or leave out [job]": cluster.mtbf is None,
        "checkpoints are not priced: add cluster.storage": saves and cluster.storage is None,
        "asynchronous checkpoints are not priced: add cluster.host": (
            saves and plan.mode is CheckpointMode.ASYNCHRONOUS and cluster.host is None
        ),
    }
    return tuple(text for text, true in lacking.items() if true)


AFTER_BACKWARD = ("backward", "recompute", "gradients", "update", "input")
"""Parts of a step that forward passes alone do not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedJob:
    """A job and what the reader should know of it.

    Attributes:
        time: what it takes.
        remarks: in words.
    """

    time: JobTime
    remarks: tuple[str, ...]


def fed(setting: Setting, plan: Plan, parts: Parts) -> Parts:
    """The parts of a step with the time that it waits for its samples."""
    if setting.workload.data is None:
        return parts
    needed = float(input_seconds(setting, table_of([plan]))[0])
    return replace(parts, input=max(0.0, needed - parts.total))


def job_of(setting: Setting, plan: Plan, *, parts: Parts, wanted: JobPlan | None) -> PricedJob:
    """What a whole job takes.

    Args:
        setting: workload, cluster and coefficients.
        plan: the plan.
        parts: of its step, the input included.
        wanted: start, checkpoints and restarts; None leaves them and failures out.
    """
    saved = checkpoint(setting.workload, plan)
    beside = (
        NOTHING
        if wanted is None
        else upkeep(saved, setting.cluster, plan=wanted, coefficients=setting.coefficients)
    )
    remarks = [*input_gaps(setting.workload, setting.cluster), *beside.remarks]
    if wanted is not None and setting.workload.samples is None:
        remarks.append("[job] tells no time to train: add workload.amount")
    steps, refused = _steps(setting, plan, parts.total)
    remarks += refused
    found = None
    if not refused:
        cold, forward, plans = 0.0, _forward(parts), table_of([plan])
        if setting.workload.data is not None:
            # Samples may also come too late for forward passes alone.
            needed = float(input_columns(setting, plans, cached=0.0).seconds[0])
            cold = max(0.0, needed - parts.total)
            forward = max(float(input_seconds(setting, plans)[0]), forward)
        pace = RepeatedTimes(steps=steps, cold=cold, forward=forward)
        whole = setting.workload.samples is not None
        found = job_parts(work(setting.workload, pace), beside, whole=whole)
        if found is None and beside.between is not None:
            # A job that is known in all its figures has no end.
            remarks.append(
                "the training is not expected to end: failures come before any progress is saved"
                if whole
                else "goodput is not known: without checkpoints it depends on workload.amount"
            )
    return PricedJob(time=_told(setting, saved, beside, found=found), remarks=tuple(remarks))


def _steps(setting: Setting, plan: Plan, full: float) -> tuple[tuple[float, ...], list[str]]:
    """Seconds of a step of each batch size, and why one cannot be run."""
    seconds = []
    for size in batch_sizes(setting.workload)[:-1]:
        workload = replace(setting.workload, global_batch=size.batch, ramp=None)
        wrong = problems(workload, setting.cluster, plan)
        if wrong:
            what = f"time to train is not known: workload.batch_ramp has steps of {size.batch}"
            return (), [f"{what} samples, but {wrong[0]}"]
        # The closed form, the input included.
        there, plans = replace(setting, workload=workload), table_of([plan])
        computed = step_time(there, factors(there, hold(there, plans)))
        seconds.append(float(with_input(there, plans, computed)[0]))
    return (*seconds, full), []


def _forward(parts: Parts) -> float:
    """Seconds in which the devices pass one batch forward.

    What goes along with passes (collectives, sends, waiting) falls to them by the time that they
    compute.
    """
    computing = parts.forward + parts.backward + parts.recompute
    others = sum((getattr(parts, name) for name in AFTER_BACKWARD), 0.0)
    along = parts.total - others - parts.forward
    return parts.forward + along * parts.forward / computing


def _told(
    setting: Setting, saved: Checkpoint, beside: Upkeep, *, found: JobSeconds | None
) -> JobTime:
    """A job as it is answered."""
    saves = beside.interval is not None and isfinite(beside.interval)
    whole = found is not None and setting.workload.samples is not None
    return JobTime(
        start_time=beside.start,
        goodput=None if found is None else found.steps / (found.total - found.start),
        parts=JobParts(**{each.name: getattr(found, each.name) for each in fields(JobParts)})
        if whole
        else None,
        checkpoint_bytes=saved.bytes,
        checkpoint_interval=beside.interval if saves else None,
        checkpoint_seconds=beside.between.pause if saves and beside.between else None,
        failures=beside.between.rate * (found.total - found.start)
        if whole and found and beside.between
        else None,
    )
