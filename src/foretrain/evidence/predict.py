"""Ladders: plans of which any may be meant, priced side by side.

What foretrain says of a measured run, whatever was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.intervals import Situation
from foretrain.errors import InputError
from foretrain.measured import lore
from foretrain.measured.case import Case, case_of
from foretrain.measured.coverage import NotCovered
from foretrain.measured.place import Catalogue, exchange_case
from foretrain.measured.run import MeasuredRun, Subject
from foretrain.plan.legality import problems
from foretrain.plan.plan import Plan, Recompute
from foretrain.plan.table import table_of
from foretrain.step.collective import PATTERNS, transfers
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total
from foretrain.step.price import price_plan
from foretrain.step.result import Estimate, Memory, Parts, StageMemory
from foretrain.step.setting import Setting, setting
from foretrain.step.situation import among, interval
from foretrain.step.step import factors, step_time
from foretrain.study.catalogue import cluster, device
from foretrain.units import BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """The plan that is taken to be meant.

    Attributes:
        plan: the first that fits, or the last if none does.
        seconds: a step of every plan that fits, by the closed form.
    """

    plan: Plan
    seconds: tuple[float, ...]


def climb(setting: Setting, plans: tuple[Plan, ...]) -> Rung:
    """The first of some plans that fits, and how long all that fit take.

    Args:
        setting: workload, cluster and coefficients.
        plans: plans that can run, the lightest first, with one schedule and nothing offloaded.
    """
    held = hold(setting, table_of(plans))
    fit = np.flatnonzero(heaviest_total(setting, held) <= setting.cluster.device.memory)
    chosen = plans[fit[0]] if len(fit) else plans[-1]
    seconds = step_time(setting, factors(setting, held))[fit]
    return Rung(plan=chosen, seconds=tuple(map(float, seconds)))


CATALOGUE = Catalogue(
    device=lru_cache(maxsize=None)(device), cluster=lru_cache(maxsize=None)(cluster)
)
"""Entries are read once for all runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What foretrain says of a run.

    Attributes:
        value: in the unit of the run's subject; None without a prediction.
        low: lower end of the interval; None if the quantity has none.
        high: upper end.
        measured: what was measured, where only together with the case it is known; else None.
        fits: whether the plan is predicted to fit in memory; None where nothing is said of it.
        remark: what the reader should know; may be empty.
        assumed: every default that stands for a blank.
        plan: the plan that is taken to be meant; None unless a step was predicted.
        parts: what its step consists of; None unless a step was predicted.
        situation: what the width of the interval follows from; None unless a step was predicted.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    measured: float | None = None
    fits: bool | None = None
    remark: str = ""
    assumed: tuple[str, ...] = ()
    plan: Plan | None = None
    parts: Parts | None = None
    situation: Situation | None = None


def predict(run: MeasuredRun, coefficients: Coefficients, *, played: bool = True) -> Prediction:
    """What foretrain says of a run.

    Args:
        run: the run.
        coefficients: efficiencies and overheads to predict with.
        played: whether the event simulation checks the closed form of a step.

    Raises:
        NotCovered: foretrain does not predict such a run, or a blank must not be guessed.
        InputError: the row contradicts itself.
    """
    if run.subject is Subject.TRANSFER_TIME:
        return _transfer(run, coefficients)
    if run.subject not in (Subject.STEP_TIME, *_PREDICTORS):
        raise NotCovered(f"{run.subject} is not covered")
    case = case_of(run, CATALOGUE)
    if run.subject is Subject.STEP_TIME:
        found, choices = _lightest(case, coefficients, played=played)
        situation = replace(
            among(found.confidence.situation, found.closed_form, choices), assumed=len(case.assumed)
        )
        wide = interval(coefficients, situation)
        recompute = f"recompute {found.plan.recompute.name.lower()}" if case.heavier else ""
        misfit = "" if found.fits else f"predicted not to fit: {found.reason}"
        left_out = 0.0 if lore.UPDATES.of(run) else found.parts.update
        kept = 1.0 - left_out / found.step_time
        prediction = Prediction(
            value=kept * found.step_time,
            low=kept * found.step_time * wide.low_factor,
            high=kept * found.step_time * wide.high_factor,
            measured=measured_seconds(run, case),
            fits=found.fits,
            remark="; ".join(filter(None, (recompute, misfit))),
            plan=found.plan,
            parts=replace(found.parts, update=found.parts.update - left_out),
            situation=situation,
        )
    else:
        prediction = _PREDICTORS[run.subject](run, case, coefficients)
    return replace(prediction, assumed=case.assumed)


def _transfer(run: MeasuredRun, coefficients: Coefficients) -> Prediction:
    """A collective of the library's own benchmark."""
    exchange = exchange_case(run, CATALOGUE)
    pattern = PATTERNS[exchange.collective]
    found = transfers(
        exchange.cluster,
        coefficients,
        pattern,
        sizes=[exchange.size],
        together=exchange.together,
    )
    seconds = float(found.seconds[0])
    wide = float(found.spread(coefficients.transfer_errors)[0])
    return Prediction(
        value=seconds, low=seconds / wide, high=seconds * wide, assumed=exchange.assumed
    )


def stages_of(run: MeasuredRun, coefficients: Coefficients) -> tuple[float, ...]:
    """Bytes of a run's subject on each stage of the whole model, embedding and head included.

    Raises:
        NotCovered: foretrain does not predict such a run.
    """
    part = _STAGE_PARTS[run.subject]
    memory = memory_of_case(case_of(run, CATALOGUE), coefficients)
    return tuple(part(stage) for stage in memory.stages)


def _lightest(
    case: Case, coefficients: Coefficients, *, played: bool
) -> tuple[Estimate, tuple[float, ...]]:
    """The estimate of the first plan that fits, or of the last; seconds of all that fit."""
    if not case.heavier:
        found = _estimate(case, coefficients, played=played)
        return found, (found.closed_form,) if found.fits else ()
    rung = climb(_setting(case, coefficients), case.plausible)
    return _estimate(replace(case, plan=rung.plan), coefficients, played=played), rung.seconds


def measured_seconds(run: MeasuredRun, case: Case) -> float | None:
    """Seconds of a step, as stated or at the rate of tokens that is stated instead."""
    if run.measured is not None or run.token_rate is None:
        return run.measured
    return case.workload.global_batch * case.workload.model.tokens / run.token_rate


def _peak_memory(run: MeasuredRun, case: Case, coefficients: Coefficients) -> Prediction:
    """What a source counts: the whole device, or what a framework's allocator says of itself."""
    memory = memory_of_case(case, coefficients)
    counted = memory.allocated / memory.total if lore.ALLOCATED.of(run) else 1.0
    return Prediction(
        value=counted * memory.total, low=counted * memory.low, high=counted * memory.high
    )


def _stage_part(run: MeasuredRun, case: Case, coefficients: Coefficients) -> Prediction:
    """Blocks alone on the first stage, as such tables count; the true stages in the remark."""
    part = _STAGE_PARTS[run.subject]
    blocks = memory_of_case(_blocks(case), coefficients).stages[0]
    whole = memory_of_case(case, coefficients).stages
    return Prediction(
        value=part(blocks),
        remark=f"blocks alone; with embedding and head {BYTES.write(part(whole[0]))} on the first "
        f"stage and {BYTES.write(part(whole[-1]))} on the last",
    )


def _activation_share(run: MeasuredRun, case: Case, coefficients: Coefficients) -> Prediction:
    blocks = _blocks(case)
    plan = replace(blocks.plan, recompute=Recompute.NONE, sequence_parallel=False)
    kept, most = (
        memory_of_case(variant, coefficients).stages[0].activations
        for variant in (blocks, replace(blocks, plan=plan))
    )
    return Prediction(value=kept / most, remark="blocks alone")


def _blocks(case: Case) -> Case:
    """The layers that a pipeline can be cut between, without what stands around them."""
    model = case.workload.model
    blocks = replace(
        model, layers=tuple(layer for layer in model.layers if layer.cuttable), tied=0.0
    )
    return replace(case, workload=replace(case.workload, model=blocks))


_STAGE_PARTS: Mapping[Subject, Callable[[StageMemory], float]] = MappingProxyType(
    {
        Subject.ACTIVATIONS: lambda stage: stage.activations,
        Subject.STATE: lambda stage: stage.weights + stage.gradients + stage.optimizer,
    }
)


_PREDICTORS: Mapping[Subject, Callable[[MeasuredRun, Case, Coefficients], Prediction]] = (
    MappingProxyType(
        {
            Subject.PEAK_MEMORY: _peak_memory,
            Subject.ACTIVATIONS: _stage_part,
            Subject.STATE: _stage_part,
            Subject.ACTIVATION_SHARE: _activation_share,
        }
    )
)


def memory_of_case(case: Case, coefficients: Coefficients) -> Memory:
    """Bytes do not depend on how the step plays out, so it is not simulated."""
    return _estimate(case, coefficients, played=False).memory


def _estimate(case: Case, coefficients: Coefficients, *, played: bool = True) -> Estimate:
    """The estimate of the case's own plan.

    Raises:
        InputError: the plan cannot run on the cluster.
    """
    return price_plan(_setting(case, coefficients), case.plan, played=played)


def _setting(case: Case, coefficients: Coefficients) -> Setting:
    """What every plan of the case is priced in.

    Raises:
        InputError: the case's own plan cannot run on the cluster.
    """
    wrong = problems(case.workload, case.cluster, case.plan)
    if wrong:
        raise InputError("\n".join(wrong))
    return setting(case.workload, case.cluster, coefficients, software=case.software)
