"""Classes: a predicted step in the classes of operators in which a profiler sees a measured one."""

from __future__ import annotations

from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import InputError
from foretrain.launch.kineto import OperatorClass, ProfiledStep
from foretrain.search.explain.compared import ClassTimes, MeasuredStep
from foretrain.search.explain.explain import MeantPlan, meant_by
from foretrain.search.explain.limits import slowest_stage
from foretrain.step.price import PASSES
from foretrain.step.result import Parts
from foretrain.step.software import study_setting
from foretrain.step.trace import chrome_step, step_trace
from foretrain.workload.operator import Operator, OperatorKind

EXCHANGES = (
    "tensor",
    "context",
    "expert",
    "pipeline",
    "gradients",
    "parameters",
    "halo",
    "offload",
)
"""Parts of a step in which devices wait for values of others, or of the host."""

LOSS = "loss"
"""What models call the operator."""


def classes(
    meant: MeantPlan, profile: ProfiledStep, coefficients: Coefficients
) -> tuple[ClassTimes, ...]:
    """A step as predicted and as a profiler saw it, the largest difference first.

    Of the slowest stage; what its kernels do not account for is waiting.
    """
    study, found = meant.study, meant.estimate
    known = study_setting(study, study.cluster, coefficients)
    stage = slowest_stage(known, found.plan, step_time=found.step_time)
    kinds = {
        (layer.name, operator.name): _class(operator)
        for layer, operator in known.workload.model.operators
    }
    predicted = dict.fromkeys(OperatorClass, 0.0)
    for each in stage.operators:
        predicted[kinds[each.layer, each.operator]] += each.device
    predicted[OperatorClass.RECOMPUTE] = found.parts.recompute
    predicted[OperatorClass.UPDATE] = found.parts.update
    predicted[OperatorClass.EXCHANGES] = _exchanged(found.parts)
    predicted[OperatorClass.WAITING] = found.step_time - sum(predicted.values())
    shown = (
        ClassTimes(kind=each, predicted=predicted[each], measured=profile.seconds.get(each, 0.0))
        for each in OperatorClass
    )
    told = (each for each in shown if each.predicted or each.measured)
    return tuple(sorted(told, key=lambda each: -abs(each.measured - each.predicted)))


def beside_each_other(side: object, *, coefficients: Coefficients) -> str:
    """The predicted step and the one that a profiler saw of it, as one trace.

    Args:
        side: the measured step.
        coefficients: how well hardware and software do.

    Raises:
        InputError: no profiler saw it, or it has so many passes that it is not simulated.
    """
    if not isinstance(side, MeasuredStep) or side.profile is None:
        raise InputError(
            "--timeline: there is no measured step to show beside the predicted one. Compare a "
            "study with the trace of a profiler; explain --timeline shows one that is predicted."
        )
    meant = meant_by(side.study, coefficients)
    found = meant.estimate
    if found.simulated is None:
        raise InputError(f"a step of more than {PASSES:,} passes is not simulated.")
    known = study_setting(meant.study, meant.study.cluster, coefficients)
    return chrome_step(step_trace(known, found), measured=side.profile.pieces)


def _class(operator: Operator) -> OperatorClass:
    if operator.attention is not None or operator.kind is OperatorKind.FUSED_ATTENTION:
        return OperatorClass.ATTENTION
    if operator.kind is OperatorKind.MATMUL:
        return OperatorClass.PRODUCTS
    return OperatorClass.LOSS if operator.name == LOSS else OperatorClass.OTHER


def _exchanged(parts: Parts) -> float:
    return sum(float(getattr(parts, name)) for name in EXCHANGES)
