"""What a whole job of one plan takes, from the parts of its step."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import isfinite

from foretrain.plan.legality import problems
from foretrain.plan.plan import Plan
from foretrain.plan.study import JobPlan
from foretrain.plan.table import table_of
from foretrain.step import job
from foretrain.step.factors import factors
from foretrain.step.held import hold
from foretrain.step.input import input_columns, input_gaps, input_seconds, with_input
from foretrain.step.interruptions import Checkpoint, batch_sizes, checkpoint
from foretrain.step.result import JobParts, JobTime, Parts
from foretrain.step.setting import Setting
from foretrain.step.step import step_time

AFTER_BACKWARD = ("backward", "recompute", "gradients", "update", "input", "other")
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
        job.NOTHING
        if wanted is None
        else job.upkeep(saved, setting.cluster, plan=wanted, coefficients=setting.coefficients)
    )
    remarks = [*input_gaps(setting.workload, setting.cluster), *beside.remarks]
    if wanted is not None and setting.workload.samples is None:
        remarks.append("[job] tells no time to train: add workload.amount")
    steps, refused = _steps(setting, plan, parts.total)
    remarks += refused
    found = None
    if not refused:
        pace = _pace(setting, plan, parts=parts, steps=steps)
        whole = setting.workload.samples is not None
        found = job.job_parts(job.work(setting.workload, pace), beside, whole=whole)
        if found is None and beside.between is not None:
            remarks.append(_hopeless(whole=whole))
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
        seconds.append(_step(replace(setting, workload=workload), plan))
    return (*seconds, full), []


def _step(setting: Setting, plan: Plan) -> float:
    """Seconds of a step by the closed form, the input included."""
    plans = table_of([plan])
    computed = step_time(setting, factors(setting, hold(setting, plans)))
    return float(with_input(setting, plans, computed)[0])


def _pace(setting: Setting, plan: Plan, *, parts: Parts, steps: tuple[float, ...]) -> job.Pace:
    """What a training repeats; samples may also come too late for forward passes alone."""
    if setting.workload.data is None:
        return job.Pace(steps=steps, cold=0.0, forward=_forward(parts))
    plans = table_of([plan])
    cold = float(input_columns(setting, plans, cached=0.0).seconds[0])
    warm = float(input_seconds(setting, plans)[0])
    return job.Pace(
        steps=steps, cold=max(0.0, cold - parts.total), forward=max(warm, _forward(parts))
    )


def _forward(parts: Parts) -> float:
    """Seconds in which the devices pass one batch forward.

    What goes along with passes (collectives, sends, waiting) falls to them by the time that they
    compute.
    """
    computing = parts.forward + parts.backward + parts.recompute
    others = sum((getattr(parts, name) for name in AFTER_BACKWARD), 0.0)
    along = parts.total - others - parts.forward
    return parts.forward + along * parts.forward / computing


def _hopeless(*, whole: bool) -> str:
    """Why a job that is known in all its figures has no end."""
    if not whole:
        return "goodput is not known: without checkpoints it depends on workload.amount"
    return "the training is not expected to end: failures come before any progress is saved"


def _told(
    setting: Setting, saved: Checkpoint, beside: job.Upkeep, *, found: job.JobParts | None
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
