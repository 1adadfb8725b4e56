"""Shockwave's traces: Gavel's, of jobs whose batch grows on the way.

The published trace says by which rule a job's batch grows, not when. The epochs below are from
memory of the authors' repository; docs/decisions/032 tells how well they agree with its results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import ceil
from pathlib import Path

from validation.scheduling.formats.gavel import Throughputs, curve_of, read_rows

from foretrain.errors import InputError
from foretrain.measured.job import Job, JobPhase, Phased, Trace

COLUMNS = (
    "job type", "command", "directory", "steps argument", "needs data", "steps", "devices",
    "mode", "weight", "SLO", "duration", "arrival",
)  # fmt: skip
JOB_TYPE = re.compile(r"(?P<model>.+) \(batch size (?P<batch>\d+)\)")

SAMPLES = {
    "ResNet-18": 50_000,
    "ResNet-50": 100_000,
    "Transformer": 10_000,
    "LM": 59_675,
    "Recommendation": 117_907,
}
"""Samples of an epoch. Source: zheng2023's repository (from memory)."""

LARGEST = {
    "ResNet-18": 256,
    "ResNet-50": 128,
    "Transformer": 128,
    "LM": 80,
    "Recommendation": 8192,
}
"""Batches that no rule exceeds. Source: zheng2023's repository (from memory)."""

CRITICAL = {
    "ResNet-18": ((0, 30), (150, 160), (225, 235)),
    "ResNet-50": ((0, 30),),
    "Transformer": ((0, 10),),
    "LM": ((0, 10),),
    "Recommendation": ((0, 30),),
}
"""Epochs with the first batch, between which Accordion takes the largest. Source: from memory."""

DOUBLINGS = {
    "ResNet-18": (31, 51, 71, 91),
    "ResNet-50": (100,),
    "Transformer": (31, 51, 71, 91),
    "LM": (31, 51, 71, 91),
    "Recommendation": (31, 51, 71, 91),
}
"""Epochs after which the gradient noise scale doubles the batch. Source: from memory."""


def read_shockwave(path: Path, throughputs: Throughputs) -> Trace:
    """Jobs of a trace; their work is steps of the first batch.

    Raises:
        InputError: with every problem of the file and its line.
    """
    return read_rows(path, COLUMNS, make=lambda name, row: _job(name, row, throughputs))


def _job(name: str, row: Mapping[str, str], throughputs: Throughputs) -> Job:
    devices, steps = int(row["devices"]), int(row["steps"])
    found = JOB_TYPE.fullmatch(row["job type"])
    if found is None:
        raise InputError(f"'{row['job type']}' is no job type such as 'LM (batch size 5)'.")
    model, batch = found["model"], int(found["batch"])
    phases = tuple(
        JobPhase(
            begins=begins,
            curve=curve_of(throughputs, f"{model} (batch size {larger})", devices),
            scale=larger / batch,
        )
        for begins, larger in _batches(model, batch, row["mode"])
        if begins < steps
    )
    first = curve_of(throughputs, row["job type"], devices)
    return Job(
        name=name,
        arrival=float(row["arrival"]),
        work=float(row["steps"]),
        curve=Phased(phases) if len(phases) > 1 else first,
        devices=devices,
        priority=float(row["weight"]),
        kinds=tuple(point.kind for point in first.points),
        group=row["job type"],
    )


def _batches(model: str, batch: int, mode: str) -> Iterator[tuple[float, int]]:
    """Steps of the first batch at which each batch begins."""
    if mode not in GROWTH:
        raise InputError(f"unknown mode '{mode}'. Known: {', '.join(GROWTH)}.")
    if model not in SAMPLES:
        raise InputError(f"unknown model '{model}'. Known: {', '.join(SAMPLES)}.")
    yield 0.0, batch
    for epoch, larger in GROWTH[mode](model, batch):
        yield float(ceil(epoch * SAMPLES[model] / batch)), larger


def _static(model: str, batch: int) -> Iterator[tuple[int, int]]:
    """The same batch to the end."""
    return iter(())


def _accordion(model: str, batch: int) -> Iterator[tuple[int, int]]:
    """The largest batch where learning is not critical. Source: agarwal2021."""
    if batch < LARGEST[model]:
        for first, last in CRITICAL[model]:
            if first:
                yield first, batch
            yield last, LARGEST[model]


def _noise_scale(model: str, batch: int) -> Iterator[tuple[int, int]]:
    """A batch that doubles as the gradient noise scale grows. Source: mccandlish2018."""
    for epoch in DOUBLINGS[model]:
        if batch < LARGEST[model]:
            batch = min(2 * batch, LARGEST[model])
            yield epoch, batch


GROWTH = {"static": _static, "accordion": _accordion, "gns": _noise_scale}
"""Rules by which a batch grows, as traces call them: epochs and batches."""
