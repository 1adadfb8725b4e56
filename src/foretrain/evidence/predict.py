"""Ladders: plans of which any may be meant, priced side by side.

What foretrain says of a measured run, whatever was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from foretrain.coefficients.coefficients import Coefficients
from foretrain.coefficients.intervals import Situation
from foretrain.errors import InputError
from foretrain.measured import lore
from foretrain.measured.case import Case, case_of
from foretrain.measured.coverage import NotCovered
from foretrain.measured.degrees import quantile
from foretrain.measured.lore import MemoryCount, counted_of, share
from foretrain.measured.place import Catalogue, exchange_case
from foretrain.measured.run import MeasuredRun, Subject
from foretrain.plan.legality import problems
from foretrain.plan.plan import Plan, Recompute
from foretrain.step.alternatives import climb, in_the_middle, weigh
from foretrain.step.collective import PATTERNS, transfers
from foretrain.step.price import price_plan
from foretrain.step.result import Estimate, Memory, Parts, StageMemory
from foretrain.step.setting import Setting, setting
from foretrain.step.situation import among, interval
from foretrain.study.catalogue import cluster, device
from foretrain.study.launch_files import recipes
from foretrain.study.trainers import trainers
from foretrain.trainers.variants import Opened, variants
from foretrain.units import BYTES

CATALOGUE = Catalogue(
    device=lru_cache(maxsize=None)(device),
    cluster=lru_cache(maxsize=None)(cluster),
    trainers=trainers,
    recipes=recipes,
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
        trainer: name of the trainer whose options and habits were assumed; may be empty.
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
    trainer: str = ""
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
    meant = meant_of(case_of(run, CATALOGUE), coefficients)
    case = meant.case
    if run.subject is Subject.STEP_TIME:
        found, choices = _lightest(case, coefficients, played=played)
        choices = (*choices, *meant.seconds)
        situation = replace(
            among(found.confidence.situation, found.closed_form, choices), assumed=len(case.assumed)
        )
        wide = interval(coefficients, situation)
        recompute = f"recompute {found.plan.recompute.name.lower()}" if case.heavier else ""
        misfit = "" if found.fits else f"predicted not to fit: {found.reason}"
        decides = f"{found.decides} decides" if found.decides else ""
        left_out = 0.0 if lore.UPDATES.of(run) else found.parts.update
        kept = 1.0 - left_out / found.step_time
        prediction = Prediction(
            value=kept * found.step_time,
            low=kept * found.step_time * wide.low_factor,
            high=kept * found.step_time * wide.high_factor,
            measured=measured_seconds(run, case),
            fits=found.fits,
            remark="; ".join(filter(None, (meant.words, recompute, misfit, decides))),
            plan=found.plan,
            parts=replace(found.parts, update=found.parts.update - left_out),
            situation=situation,
        )
    else:
        if case.heavier:
            rung = climb(setting_of(case, coefficients), case.plausible)
            case = replace(case, plan=rung.plan, heavier=())
        prediction = _PREDICTORS[run.subject](run, case, coefficients)
        remark = "; ".join(filter(None, (meant.words, prediction.remark)))
        prediction = replace(prediction, remark=remark)
    return replace(prediction, assumed=case.assumed, trainer=case.trainer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """Which of several cases a row is taken to mean.

    Attributes:
        case: the one in the middle of those that fit, each weighed by its speed; its degrees alone
            where they are stated.
        seconds: a step of the quickest and of the slowest that count, less a twentieth of all
            weight on either side; none where one case is all that may be meant.
        words: what the reader should know of the choice.
    """

    case: Case
    seconds: tuple[float, ...] = ()
    words: str = ""


def meant_of(case: Case, coefficients: Coefficients) -> Meant:
    """The case that a row is taken to mean, among all degrees that it may have had."""
    if not case.others:
        return Meant(case=case)
    every = [replace(case, others=()), *case.others]
    priced = [climb(setting_of(each, coefficients), each.plausible) for each in every]
    pairs = list(zip(every, priced, strict=True))
    fit = [(each, rung) for each, rung in pairs if rung.seconds]
    told = f"{len(fit)} plans that fit and may be meant"
    if not fit:
        # They ran, whatever is predicted.
        fit, told = pairs, f"{len(pairs)} plans that may be meant, none of which fits"
    seconds = tuple(rung.likely for _, rung in fit)
    chosen, rung = fit[quantile(seconds, 0.5)]
    return Meant(
        case=chosen,
        seconds=tuple(seconds[quantile(seconds, share)] for share in (0.05, 0.95)),
        words=f"{rung.plan}: the middle of {told}",
    )


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
    """The estimate of the first plan that fits, or of the last; seconds of all that may be meant.

    Where options of the trainer are open, the weighted middle of what they may have been.
    """
    if case.opened and (told := _amid(case, case.opened, coefficients, played=played)):
        return told
    if case.heavier:
        rung = climb(setting_of(case, coefficients), case.plausible)
        found = _estimate(replace(case, plan=rung.plan), coefficients, played=played)
        choices = rung.seconds
    else:
        found = _estimate(case, coefficients, played=played)
        choices = (found.closed_form,) if found.fits else ()
    if case.otherwise and found.memory.total > case.cluster.device.memory:
        # What ran had fitted: options may have been set that usually are not.
        return _amid(case, case.otherwise, coefficients, played=played) or (found, choices)
    return found, choices


def _amid(
    case: Case, opened: Opened, coefficients: Coefficients, *, played: bool
) -> tuple[Estimate, tuple[float, ...]] | None:
    """The weighted middle of what open options may have been; None if nothing of it fits."""
    weighed = weigh(variants(case.variant, opened), case.cluster, coefficients)
    if weighed is None or not weighed.likeliest.fits:
        return None
    likely = weighed.likeliest
    found = price_plan(likely.setting, likely.rung.plan, played=played)
    return in_the_middle(found, weighed, coefficients), weighed.choices


def measured_seconds(run: MeasuredRun, case: Case) -> float | None:
    """Seconds of a step, as stated or at the rate of tokens that is stated instead."""
    if run.measured is not None or run.token_rate is None:
        return run.measured
    samples = run.global_batch or case.workload.global_batch
    return samples * case.workload.model.tokens / run.token_rate


def _peak_memory(run: MeasuredRun, case: Case, coefficients: Coefficients) -> Prediction:
    """What a source counts: the whole device, or what a framework's allocator says of itself."""
    memory = memory_of_case(case, coefficients)
    counted = MemoryCount.ALLOCATED if case.prints_allocated else counted_of(run)
    part = share(counted, allocated=memory.allocated, total=memory.total)
    return Prediction(
        value=part * memory.total,
        low=part * memory.low,
        high=part * memory.high,
        fits=memory.total <= case.cluster.device.memory,
        remark=f"counted is {counted}",
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
    return price_plan(setting_of(case, coefficients), case.plan, played=played)


def setting_of(case: Case, coefficients: Coefficients) -> Setting:
    """What every plan of the case is priced in.

    Raises:
        InputError: the case's own plan cannot run on the cluster.
    """
    wrong = problems(case.workload, case.cluster, case.plan)
    if wrong:
        raise InputError("\n".join(wrong))
    return setting(case.workload, case.cluster, coefficients, software=case.software)
