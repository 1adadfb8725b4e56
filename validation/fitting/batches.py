"""What runs have in common that may be compared with one another.

Batches: how many samples a measured run took per step, device and replica, as far as stated.
"""

from __future__ import annotations

from collections.abc import Hashable

from foretrain.measured.run import MeasuredRun


def software(run: MeasuredRun) -> Hashable:
    """Who ran what with which software; a date stands for a release that is not stated."""
    told = (run.source_id, run.framework, run.stack, run.stack.container or run.date)
    return (*told, run.task, run.precision, run.linear_precision, run.optimizer)


def share(run: MeasuredRun) -> float | None:
    """Samples of a step over the devices; None if not stated."""
    batch, devices = run.global_batch, run.place.devices
    if batch and devices:
        return batch / devices
    micro = run.layout.micro_batch
    return micro * (run.layout.accumulation or 1) / model_devices(run) if micro else None


def step_samples(run: MeasuredRun) -> float | None:
    """Samples of a step; None if not stated."""
    each, devices = share(run), run.place.devices
    return each * devices if each is not None and devices else None


def passes(run: MeasuredRun) -> float | None:
    """Micro-batches of one replica per step; None if not stated."""
    micro, each = run.layout.micro_batch, share(run)
    if run.layout.accumulation is not None:
        return float(run.layout.accumulation)
    return each * model_devices(run) / micro if micro and each is not None else None


def model_devices(run: MeasuredRun) -> int:
    """Devices that share one copy of the model; an axis that is not stated has none."""
    layout = run.layout
    return (layout.tensor or 1) * (layout.pipeline or 1) * (layout.context or 1)
