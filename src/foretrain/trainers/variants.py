"""Variants: every way in which a training may have run whose description leaves options open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from foretrain.plan.plan import Plan, Recompute, Sharding
from foretrain.trainers.software import SHARED, AttentionKernel, Convolutions, Software, Update
from foretrain.trainers.trainer import Circumstances, Trainer
from foretrain.trainers.vocabulary import HABITS, OPTIONS
from foretrain.workload.execution import CrossEntropy
from foretrain.workload.gradients import GradientCodec
from foretrain.workload.graph import Model
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Precision, Workload

Opened = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
"""Options that nobody states, each with the weights of the values that it may have had."""

MOST: Final = 96
"""Variants that are told apart; of further options the likeliest value counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One of them.

    Attributes:
        workload: what is learned, gradients as this variant has them.
        plans: of which the first that fits is meant, the lightest first.
        software: as this variant has it.
        weight: how much to believe of it.
        values: what each open option is.
    """

    workload: Workload
    plans: tuple[Plan, ...]
    software: Software = SHARED
    weight: float = 1.0
    values: tuple[tuple[str, str], ...] = ()


def variants(known: Variant, opened: Opened) -> tuple[Variant, ...]:
    """Every combination of what some options may have been, where they matter.

    Args:
        known: what is known, and neutral or likeliest where an option is open.
        opened: the options.
    """
    found: tuple[Variant, ...] = (known,)
    for option, weights in opened:
        if not _matters(option, known):
            continue
        several = len(found) * len(weights) <= MOST
        some = weights if several else (max(weights, key=lambda each: each[1]),)
        found = tuple(
            replace(
                with_option(each, option, value),
                weight=each.weight * weight,
                values=(*each.values, (option, value)),
            )
            for each in found
            for value, weight in some
        )
    return found


def with_option(known: Variant, option: str, value: str) -> Variant:
    """The same with an option set to a value."""
    return _APPLIED[option](known, OPTIONS[option].values[value].value)


def _matters(option: str, known: Variant) -> bool:
    """Whether an option changes anything about a plan."""
    plan, model = known.plans[0], known.workload.model
    return {
        "attention": len(model.kernels) > 1,
        "sequence_parallel": plan.tensor > 1,
        "user_buffers": plan.tensor > 1,
        "interleaving": plan.pipeline > 1,
        "sharding": plan.data * plan.context > 1,
        "gradients": plan.data * plan.context > 1,
        "overlap_gradients": plan.data * plan.context > 1 and model.tokens > 1,
        "overlap_parameters": plan.data * plan.context > 1
        and plan.sharding in (Sharding.OPTIMIZER, Sharding.GRADIENTS),
        "dispatcher": model.experts,
        "expert_products": model.experts,
        "channels_last": model.tokens == 1,
        "recompute": True,
        "execution": True,
        "cuda_graphs": True,
    }.get(option, False)


def _planned(known: Variant, change: Callable[[Plan], Plan]) -> Variant:
    return replace(known, plans=tuple(map(change, known.plans)))


def _driven(known: Variant, change: Callable[[Software], Software]) -> Variant:
    return replace(known, software=change(known.software))


def _attention(known: Variant, value: tuple[Attention, AttentionKernel | None]) -> Variant:
    kind, kernel = value
    planned = _planned(known, lambda plan: replace(plan, attention=kind))
    return planned if kernel is None else _driven(planned, lambda it: replace(it, kernel=kernel))


def _recompute(known: Variant, value: tuple[tuple[Recompute, float], ...]) -> Variant:
    rungs = dict.fromkeys(rungs_of(known.workload.model, value))
    plan = known.plans[0]
    return replace(
        known,
        plans=tuple(
            replace(plan, recompute=recompute, recompute_layers=layers)
            for recompute, layers in rungs
        ),
    )


def _interleaving(known: Variant, value: int | None) -> Variant:
    layers = known.workload.model.cuttable_layers
    most = max(1, layers // known.plans[0].pipeline)
    chunks = most if value is None else min(value, most)
    return _planned(known, lambda plan: replace(plan, interleaving=chunks))


def _gradients(known: Variant, value: GradientCodec) -> Variant:
    if known.workload.gradients == value:
        return known
    return replace(known, workload=replace(known.workload, gradients=value))


def _relays(known: Variant, value: frozenset[Precision]) -> Variant:
    relays = known.workload.precision not in value
    return _driven(known, lambda it: replace(it, relays=relays))


_APPLIED: Final[Mapping[str, Callable[[Variant, Any], Variant]]] = MappingProxyType(
    {
        "attention": _attention,
        "sequence_parallel": lambda known, on: _planned(
            known, lambda plan: replace(plan, sequence_parallel=on)
        ),
        "sharding": lambda known, stage: _planned(
            known, lambda plan: replace(plan, sharding=stage)
        ),
        "interleaving": _interleaving,
        "recompute": _recompute,
        "gradients": _gradients,
        "overlap_gradients": lambda known, on: _driven(known, lambda it: replace(it, late=not on)),
        "overlap_parameters": lambda known, on: _driven(
            known, lambda it: replace(it, gathers_beside=on)
        ),
        "channels_last": _relays,
        "user_buffers": lambda known, on: _driven(known, lambda it: replace(it, overlaps=on)),
        "dispatcher": lambda known, once: _driven(known, lambda it: replace(it, once=once)),
        "expert_products": lambda known, one: _driven(known, lambda it: replace(it, grouped=one)),
        "execution": lambda known, kind: _driven(known, lambda it: replace(it, execution=kind)),
        "cuda_graphs": lambda known, on: _driven(known, lambda it: replace(it, graphs=on)),
    }
)
"""What setting an option changes; options of which nothing here depends are left out."""


def rungs_of(
    model: Model, shares: tuple[tuple[Recompute, float], ...]
) -> tuple[tuple[Recompute, int], ...]:
    """Whole layers for shares of a model; selective only where there is something to select."""
    layers = model.cuttable_layers
    selective = any(operator.selective for _, operator in model.operators)
    return tuple(
        dict.fromkeys(
            (each, int(share * layers) if share < 1.0 else 0)
            for each, share in shares
            if len(shares) == 1 or selective or each is not Recompute.SELECTIVE
            if share * layers >= 1.0
        )
    )


LIKELY: Final = 0.8
"""Weight of what an option is when nobody sets it, where a study does not say and the entry has no
weights: most runs leave most options alone."""


def opened(
    trainer: Trainer, options: tuple[str, ...], at: Circumstances, *, freely: bool = False
) -> Opened:
    """Those of some options that may have had several values, with the weights of each.

    Args:
        trainer: whose options.
        options: that nobody states.
        at: what is known of the run.
        freely: whether an option without weights may have any of its values, as in a study that
            somebody still writes; what ran had what it is when nobody sets it.
    """
    found = []
    for name in options:
        option = trainer.option(name)
        line = None if option is None else option.at(at)
        if option is None or line is None or name not in _APPLIED:
            continue
        weights = dict(line.weights)
        others = [value for value in option.values if value != line.value]
        if freely and not line.prior and others:
            weights = {line.value: LIKELY, **dict.fromkeys(others, (1 - LIKELY) / len(others))}
        if len(weights) > 1:
            found.append((name, tuple(weights.items())))
    return tuple(found)


def usual(
    trainer: Trainer, known: Variant, at: Circumstances, *, names: tuple[str, ...]
) -> Variant:
    """What is known, with some options as a trainer has them when nobody sets them."""
    for name in names:
        option = trainer.option(name)
        line = None if option is None else option.at(at)
        if line is not None and name in _APPLIED:
            known = with_option(known, name, line.value)
    pictures = known.workload.model.tokens == 1
    whole = pictures and _does(trainer, "program", at)
    return _driven(
        known, lambda it: freeing(replace(accustomed(it, trainer, at), whole=whole), trainer, at)
    )


def freeing(software: Software, trainer: Trainer, at: Circumstances) -> Software:
    """Software with what its trainer keeps and frees within a step.

    Who frees as he goes holds parameters in fp32 where they are updated in fp32.
    """
    habit = trainer.habit("memory")
    line = None if habit is None else habit.at(at)
    keeps = None if line is None else HABITS["memory"].values[line.value].value
    if keeps is None:
        return software
    return replace(
        software,
        keeps=keeps,
        phased=True,
        wide_parameters=True,
        fused_update=software.update is Update.FUSED,
    )


def accustomed(software: Software, trainer: Trainer, at: Circumstances) -> Software:
    """Software with those habits of a trainer that are the same whatever it trains."""
    convolutions = _habit(trainer, "convolutions", at)
    units = _habit(trainer, "matrix_units", at)
    return replace(
        software,
        update=_habit(trainer, "update", at),
        adds_apart=_does(trainer, "weight_gradients", at),
        casts=_does(trainer, "casts", at),
        norm_wait=_does(trainer, "norm_wait", at),
        loss=_habit(trainer, "loss", at) or CrossEntropy.SOFTMAX,
        convolutions=Convolutions.CHOSEN if convolutions is None else convolutions,
        built=_habit(trainer, "libraries", at),
        matrix_units=units is None or units,
    )


def _does(trainer: Trainer, habit: str, at: Circumstances) -> bool:
    """Whether a trainer has a habit that it may have or not; not, where nothing is known."""
    return bool(_habit(trainer, habit, at))


def _habit(trainer: Trainer, habit: str, at: Circumstances) -> Any:  # noqa: ANN401
    """What a trainer's habit means; None where nothing is known."""
    found = trainer.habit(habit)
    line = None if found is None else found.at(at)
    return None if line is None else HABITS[habit].values[line.value].value
