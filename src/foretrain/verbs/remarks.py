"""Remarks: what a reader of an estimate should know beside its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from foretrain.calibrate.nearest import nearest
from foretrain.coefficients.coefficient import Kind
from foretrain.cost.collectives.topologies import APPROXIMATIONS
from foretrain.cost.held import Held
from foretrain.cost.memory import host_total
from foretrain.cost.setting import Setting
from foretrain.results.estimate import Confidence, Memory
from foretrain.results.situation import Situation
from foretrain.units import BYTES
from foretrain.verbs.situation import interval


def remarks(setting: Setting, memory: Memory) -> Iterator[str]:
    """Warnings about the model, the memory and the links."""
    model, room = setting.workload.model, setting.cluster.device.memory
    if model.spread > 1:
        yield (
            f"{model.name} is known by its totals only, so intervals are {model.spread:g} times "
            "as wide"
        )
    if memory.total <= room < memory.high:
        yield (
            f"memory may not suffice: the upper end of its interval is "
            f"{BYTES.write(memory.high)}, the device has {BYTES.write(room)}"
        )
    for level in setting.cluster.levels:
        if level.link.kind in APPROXIMATIONS:
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
    given = any(source.kind is Kind.GIVEN for source in known)
    outside = interval(setting.coefficients, situation).reason
    told = "; ".join(filter(None, (outside, "coefficients were given" * given)))
    return Confidence(
        inside_calibration=not told,
        nearest=nearest(situation, setting.coefficients.covers),
        outside=told,
        situation=situation,
    )


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
