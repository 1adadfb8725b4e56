"""The same question with more or less of a resource."""

from dataclasses import fields, replace

from foretrain.plan.plan import Offload, Schedule, Sharding
from foretrain.step.setting import setting
from foretrain.study.coefficients import PRIORS


def changed(old, *, link=None, device=None, host=1.0, peak=1.0, coefficients=None):
    """A setting whose links, device, host or coefficients are others."""
    levels = tuple(
        replace(level, link=replace(level.link, **(link(level.link) if link else {})))
        for level in old.cluster.levels
    )
    chip = old.cluster.device
    rates = {
        field.name: rate and peak * rate
        for field in fields(chip.peak)
        for rate in [getattr(chip.peak, field.name)]
    }
    matmul = chip.matmul and peak * chip.matmul
    chip = replace(chip, peak=replace(chip.peak, **rates), matmul=matmul, **(device or {}))
    return setting(
        old.workload,
        replace(old.cluster, levels=levels, device=chip, host=_host(old, host)),
        old.coefficients.changed(coefficients or {}),
    )


def _host(old, factor):
    host = old.cluster.host
    return host and replace(
        host,
        memory_bandwidth=host.memory_bandwidth * factor,
        device_bandwidth=host.device_bandwidth * factor,
    )


STARTS = tuple(
    name
    for name, known in PRIORS.known.items()
    if known.unit in ("s", "s/B") and not name.startswith("job.")
)
"""Coefficients in seconds, or seconds per byte, on which a step depends."""


def quickened(old, factor):
    """Every rate times a factor, every latency over it."""
    return changed(
        old,
        link=lambda link: {
            "latency": link.latency / factor,
            "bandwidth": link.bandwidth * factor,
            "capacity": link.capacity and link.capacity * factor,
        },
        device={"memory_bandwidth": old.cluster.device.memory_bandwidth * factor},
        host=factor,
        peak=factor,
        coefficients={name: old.coefficients.value(name) / factor for name in STARTS},
    )


MORE = {
    "bandwidth": lambda old, factor: changed(
        old, link=lambda link: {"bandwidth": link.bandwidth * factor}
    ),
    "capacity": lambda old, factor: changed(
        old, link=lambda link: {"capacity": link.capacity and link.capacity * factor}
    ),
    "links without a shared capacity": lambda old, factor: changed(
        old, link=lambda link: {"capacity": None}
    ),
    "shorter latency": lambda old, factor: changed(
        old, link=lambda link: {"latency": link.latency / factor}
    ),
    "quicker start of collectives": lambda old, factor: changed(
        old, coefficients={"links.start": old.coefficients.links.start / factor}
    ),
    "quicker launch of kernels": lambda old, factor: changed(
        old, coefficients={"host.launch": old.coefficients.host.launch / factor}
    ),
    "shorter gaps between kernels": lambda old, factor: changed(
        old, coefficients={"host.gap": old.coefficients.host.gap / factor}
    ),
    # Of every precision alike: the share of its data sheet that a device reaches stays the same.
    "FLOP/s": lambda old, factor: changed(old, peak=factor),
    "memory bandwidth": lambda old, factor: changed(
        old, device={"memory_bandwidth": old.cluster.device.memory_bandwidth * factor}
    ),
    "bandwidth to the host": lambda old, factor: changed(old, host=factor),
    "overlap": lambda old, factor: changed(old, coefficients={"overlap.gradients": 1.0}),
    "overlap inside layers": lambda old, factor: changed(
        old, coefficients={"overlap.tensor": 1.0, "overlap.experts": 1.0}
    ),
}


def settled(plan):
    """Not zero bubble, where passes wait for what compute hides.

    Its gradients of weights fill the bubble; quicker ones fill less of it, while a pass that waits
    gets no shorter.
    """
    waits = plan.sharding >= Sharding.GRADIENTS or plan.offload >= Offload.ACTIVATIONS
    waits |= plan.context > 1
    return replace(plan, schedule=Schedule.ONE_F_ONE_B) if waits else plan
