"""The situation of a prediction, and the interval that follows from it."""

from __future__ import annotations

from dataclasses import replace
from math import log

from foretrain.calibrate.intervals import Spread, spread
from foretrain.coefficients.coefficients import Coefficients
from foretrain.cost.setting import Setting
from foretrain.plan.plan import Plan, Sharding
from foretrain.results.estimate import Parts
from foretrain.results.situation import Situation
from foretrain.workload.graph import Model
from foretrain.workload.workload import Precision

NARROW = frozenset({Precision.FP8, Precision.MXFP8, Precision.NVFP4})
WIDE = frozenset({Precision.FP32, Precision.TF32})

SAMPLES = {
    (True, 0): "tokens",
    (True, 1): "tokens of signals",
    (False, 0): "numbers",
    (False, 1): "signals",
    (False, 2): "pictures",
    (False, 3): "volumes",
}
"""What a sample is, by whether it has tokens and along how many dimensions windows slide."""


def situation_of(setting: Setting, plan: Plan, parts: Parts) -> Situation:
    """What a plan was priced for.

    Args:
        setting: workload, cluster and coefficients.
        plan: the plan.
        parts: what its step consists of.
    """
    model = setting.workload.model
    return Situation(
        device=setting.cluster.device.name,
        devices=plan.devices,
        parameters=model.parameters,
        sharded=plan.sharding is Sharding.PARAMETERS,
        divided=plan.tensor * plan.context * plan.pipeline > 1,
        experts=model.experts,
        narrow=setting.workload.precision in NARROW,
        wide=setting.workload.precision in WIDE,
        unfused=_unfused(model, plan),
        pictures=model.tokens == 1,
        sample=SAMPLES[model.tokens > 1, model.dimensions],
        multiplied=model.multiplied,
        vague=model.spread,
        host_bound=_host_bound(setting, plan, parts),
    )


def _unfused(model: Model, plan: Plan) -> bool:
    """Whether attention is products of two computed matrices, with kernels between them."""
    return any(
        operator.matrices is not None and not operator.weights
        for _, operator in model.operators
        if operator.attention in (None, plan.attention)
    )


def _host_bound(setting: Setting, plan: Plan, parts: Parts) -> float:
    """Share of the forward passes that the host needs to start their kernels, at most 1."""
    workload, host = setting.workload, setting.launches
    passes = workload.global_batch / (plan.data * plan.micro_batch) / plan.pipeline
    every = host.forward[:, plan.attention]
    if host.experts is not None:
        every = every + host.experts.forward[:, plan.attention] / plan.expert
    repeats = [layer.repeats for layer in workload.model.layers]
    starts = passes * float(every @ repeats)
    return min(1.0, starts / parts.forward) if parts.forward > 0 else 1.0


def among(found: Situation, seconds: float, choices: tuple[float, ...]) -> Situation:
    """The same where one of several plans was meant, and which one is not stated.

    Args:
        found: the situation of the plan that is taken to be meant.
        seconds: its step.
        choices: the steps of all that may be meant.
    """
    every = (seconds, *choices)
    return replace(found, lower=log(seconds / min(every)), higher=log(max(every) / seconds))


def interval(coefficients: Coefficients, situation: Situation) -> Spread:
    """The interval of a step's time in a situation."""
    return spread(situation, coefficients.uncertainty, coefficients.covers)
