"""The situation of a prediction, and the interval that follows from it.

Remarks: what a reader of an estimate should know beside its numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import log

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients, Origin
from foretrain.coefficients.intervals import Nearest, Situation, Spread, nearest, spread
from foretrain.coefficients.uncertainty import Covers
from foretrain.errors import About, Remark, assumed
from foretrain.plan.plan import Plan, Sharding
from foretrain.step.collectives.line import APPROXIMATIONS
from foretrain.step.held import Held
from foretrain.step.memory import host_total
from foretrain.step.result import Confidence, Memory, Parts
from foretrain.step.setting import Setting
from foretrain.units import BYTES
from foretrain.workload.graph import Model
from foretrain.workload.workload import EIGHT_BITS, Precision, Workload

NARROW = EIGHT_BITS | {Precision.NVFP4}
WIDE = frozenset({Precision.FP32, Precision.TF32})

SAMPLES = {
    (True, 0): "tokens",
    (True, 1): "tokens of signals",
    (True, 2): "tokens of spectrograms",
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
    # Share of the forward passes that the host needs to start their kernels, at most 1.
    workload, host = setting.workload, setting.launches
    passes = workload.micro_batches(plan.data, plan.micro_batch) / plan.pipeline
    every = host.forward[:, plan.attention]
    if host.experts is not None:
        every = every + host.experts.forward[:, plan.attention] / plan.expert
    repeats = [layer.repeats for layer in workload.model.layers]
    starts = passes * float(every @ repeats)
    host_bound = min(1.0, starts / parts.forward) if parts.forward > 0 else 1.0
    return Situation(
        device=setting.cluster.device.name,
        software=setting.software.family,
        devices=plan.devices,
        parameters=model.parameters,
        sharded=plan.sharding is Sharding.PARAMETERS,
        divided=plan.tensor * plan.context * plan.pipeline > 1,
        experts=model.experts,
        narrow=setting.workload.precision in NARROW,
        wide=setting.workload.precision in WIDE,
        unfused=_unfused(model, plan),
        pictures=model.tokens == 1,
        shared_pictures=bool(plan.grid)
        or (plan.tensor > 1 and any(operator.filters for _, operator in model.operators)),
        sample=SAMPLES[model.tokens > 1, model.dimensions],
        multiplied=model.multiplied,
        vague=model.spread,
        known_by=model.known_by,
        host_bound=host_bound,
    )


def _unfused(model: Model, plan: Plan) -> bool:
    """Whether attention is products of two computed matrices, with kernels between them."""
    return any(
        operator.matrices is not None and not operator.weights
        for _, operator in model.operators
        if operator.attention in (None, plan.attention)
    )


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


def remarks(setting: Setting, memory: Memory) -> Iterator[str]:
    """Warnings about the model, the memory and the links."""
    model, room = setting.workload.model, setting.cluster.device.memory
    if model.spread > 1:
        yield (
            f"{model.name} is known by {model.known_by}, so intervals are {model.spread:g} times "
            "as wide"
        )
    yield from map(assumed, model.assumed)
    if memory.total <= room < memory.high:
        yield Remark(
            f"memory may not suffice: the upper end of its interval is "
            f"{BYTES.write(memory.high)}, the device has {BYTES.write(room)}",
            about=About.TIGHT,
        )
    for level in setting.cluster.levels:
        if level.members > 1 and level.link.kind in APPROXIMATIONS:
            yield (
                f"the {level.name} is a {level.link.kind}, which is priced approximately: "
                f"{APPROXIMATIONS[level.link.kind]}"
            )


def misfit(setting: Setting, held: Held, memory: Memory) -> str | None:
    """Why the plan does not run, or None."""
    device, host = setting.cluster.device, setting.cluster.host
    if memory.total > device.memory:
        stage = f"stage {memory.heaviest.stage + 1} of {len(memory.stages)}"
        return (
            f"device memory: {stage} needs {BYTES.write(memory.total)} per device, "
            f"{device.name} has {BYTES.write(device.memory)}"
        )
    if host is None or not held.plans.offload.any():
        return None
    offloaded = float(host_total(setting, held)[0])
    if offloaded <= host.memory:
        return None
    return (
        f"host memory: {BYTES.write(offloaded)} would be offloaded on a node, whose host has "
        f"{BYTES.write(host.memory)}"
    )


def confidence(setting: Setting, situation: Situation) -> Confidence:
    """Whether runs like this one were fitted to, with the coefficients that are used."""
    known = setting.coefficients.sources.values()
    given = any(source.kind is Origin.GIVEN for source in known)
    outside = interval(setting.coefficients, situation).reason
    told = "; ".join(filter(None, (outside, "coefficients were given" * given)))
    return Confidence(
        inside_calibration=not told,
        nearest=_like(situation, setting.coefficients.covers),
        outside=told,
        situation=situation,
    )


def _like(situation: Situation, covers: Covers) -> tuple[Nearest, ...]:
    """The runs most like a prediction; what its time hangs on beside the plan names no others."""
    alike = replace(situation, host_bound=0.0, lower=0.0, higher=0.0)
    return _known_like(alike, covers, id(covers.runs))


@lru_cache(maxsize=1024)
def _known_like(situation: Situation, covers: Covers, _runs: int) -> tuple[Nearest, ...]:
    """Plans of one question share few situations, and a look at every run takes long.

    Runs do not count where two `covers` are compared, hence their identity, which lasts as long as
    the entry that holds them.
    """
    return nearest(situation, covers)


def unlike(told: Confidence) -> tuple[str, ...]:
    """The warning that an interval is wider than that of a prediction like those fitted to."""
    if told.inside_calibration:
        return ()
    return (f"the interval is wider, outside of what was calibrated: {told.outside}",)


def sources(setting: Setting) -> tuple[str, ...]:
    """Where the model and the coefficients come from."""
    known = setting.coefficients.sources.values()
    texts = [setting.workload.model.source, *(source.source for source in known)]
    return tuple(dict.fromkeys(text for text in texts if text))


def input_gaps(workload: Workload, cluster: Cluster) -> tuple[str, ...]:
    """What the study says of its samples that cannot be priced without more of the cluster."""
    data = workload.data
    reading = data is not None and bool(data.sample_bytes) and cluster.storage is None
    preparing = data is not None and bool(data.prepare) and cluster.host is None
    texts = {
        "reading the data set is not priced: add cluster.storage": reading,
        "preparing samples is not priced: add cluster.host": preparing,
    }
    return tuple(text for text, lacking in texts.items() if lacking)
