"""A whole job: steps, and all the time in which no step is made.

Training that counts is settled first (`work`), then what checkpoints and failures make of it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.study import JobPlan, Mode, Writes
from foretrain.step.interruptions import (
    Checkpoint,
    Interruption,
    batch_sizes,
    evaluation_seconds,
    evaluations,
    load_seconds,
    optimal,
    snapshot_seconds,
    start,
    stretch,
    write_seconds,
)
from foretrain.units import SECONDS
from foretrain.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
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
class Work:
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
class JobParts:
    """Seconds of a whole job; fields as those of `results.job.JobParts`."""

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


def work(workload: Workload, pace: Pace) -> Work:
    """Training without interruption: all of it, or one step where no amount is given."""
    sizes = batch_sizes(workload)
    samples = sum(size.batch * size.steps for size in sizes)
    first = samples if workload.epoch_samples is None else min(samples, workload.epoch_samples)
    return Work(
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
    between = Interruption(
        rate=cluster.nodes / cluster.mtbf,
        pause=_pause(saved, cluster, plan),
        lag=_lag(saved, cluster, plan),
        restart=_restart(saved, cluster, plan, anew=coefficients.job.detection + begin),
    )
    interval = _interval(plan, between)
    remarks = _remarks(plan, interval)
    return Upkeep(start=known, interval=interval, between=between, remarks=remarks)


def job_parts(done: Work, beside: Upkeep, *, whole: bool = True) -> JobParts | None:
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
    return JobParts(
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
            saves and plan.mode is Mode.ASYNCHRONOUS and cluster.host is None
        ),
    }
    return tuple(text for text, true in lacking.items() if true)


def _pause(saved: Checkpoint, cluster: Cluster, plan: JobPlan) -> float:
    """Seconds that training stands still for a checkpoint."""
    if plan.checkpoint is Writes.NEVER or cluster.storage is None:
        return 0.0
    if plan.mode is Mode.BLOCKING:
        return write_seconds(saved, cluster, cluster.storage)
    assert cluster.host, "an asynchronous checkpoint without a host was not refused"
    return snapshot_seconds(saved, cluster, cluster.host)


def _lag(saved: Checkpoint, cluster: Cluster, plan: JobPlan) -> float:
    """Seconds that a checkpoint is stored in while training goes on."""
    if plan.checkpoint is Writes.NEVER or plan.mode is Mode.BLOCKING or cluster.storage is None:
        return 0.0
    return write_seconds(saved, cluster, cluster.storage)


def _restart(saved: Checkpoint, cluster: Cluster, plan: JobPlan, *, anew: float) -> float:
    """Seconds from a failure to the next step; `anew` without what must be read."""
    if plan.restart is not None:
        return plan.restart
    if plan.checkpoint is Writes.NEVER or cluster.storage is None:
        return anew
    return anew + load_seconds(saved, cluster, cluster.storage)


def _interval(plan: JobPlan, between: Interruption) -> float:
    """Seconds of work between checkpoints, never less than storing one takes."""
    if plan.checkpoint is Writes.NEVER:
        return inf
    if plan.checkpoint is Writes.OPTIMAL:
        return optimal(between)
    return max(float(plan.checkpoint), between.lag - between.pause)


def _remarks(plan: JobPlan, interval: float) -> tuple[str, ...]:
    """That checkpoints come less often than was asked for."""
    asked = plan.checkpoint
    if isinstance(asked, Writes) or asked >= interval:
        return ()
    return (
        f"checkpoints come every {SECONDS.write(interval)}: storing one takes longer than the "
        f"{SECONDS.write(asked)} of job.checkpoint",
    )
