"""Remarks: what a reader of an estimate should know beside its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from foretrain.cost.collectives.topologies import APPROXIMATIONS
from foretrain.cost.held import Held
from foretrain.cost.memory import host_total
from foretrain.cost.setting import Setting
from foretrain.files.coefficients import SHIPPED
from foretrain.plan.plan import Plan
from foretrain.results.estimate import Confidence, Memory
from foretrain.units import BYTES
from foretrain.workload.operator import Attention


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


def confidence(setting: Setting, plan: Plan) -> Confidence:
    """Whether the fitted runs were like this one: model, device, one node, data axis alone."""
    model, cluster = setting.workload.model, setting.cluster
    covers = SHIPPED.covers
    least, most = covers.parameters
    fitted = all(
        source.kind != "given" for source in SHIPPED.sources_of(setting.coefficients).values()
    )
    inside = (
        fitted
        and cluster.device.name in covers.devices
        and cluster.nodes == 1
        and plan.tensor == plan.context == plan.pipeline == 1
        and plan.attention is Attention.FLASH
        and model.tokens > 1
        and not model.experts
        and least <= model.parameters <= most
    )
    return Confidence(inside_calibration=inside, nearest_source=covers.nearest)


def sources(setting: Setting) -> tuple[str, ...]:
    """Where the model and the coefficients come from."""
    known = SHIPPED.sources_of(setting.coefficients).values()
    texts = [setting.workload.model.source, *(source.source for source in known)]
    return tuple(dict.fromkeys(text for text in texts if text))
