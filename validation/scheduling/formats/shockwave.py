"""Shockwave's traces: Gavel's, of jobs whose batch grows on the way.

The published trace says by which rule a job's batch grows, not when: that stands in the code of
the authors' simulator, from which the epochs below are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import ceil
from pathlib import Path

from validation.scheduling.formats.gavel import Throughputs, curve_of, read_rows

from foretrain.errors import InputError
from foretrain.measured.job import (
    Job,
    Trace,
)
from foretrain.throughput import (
    JobPhase,
    Phased,
)

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
"""Samples of an epoch. Source: shockwave, scheduler/utils.py."""

LARGEST = {
    "ResNet-18": 256,
    "ResNet-50": 128,
    "Transformer": 128,
    "LM": 80,
    "Recommendation": 8192,
}
"""Batches that no rule exceeds. Source: shockwave, scheduler/scheduler.py and utils.py."""

EPOCHS = 10_000
"""More epochs than any job has: where lists of epochs that come again end."""


def critical(model: str, batch: int) -> tuple[tuple[int, int], ...]:
    """Epochs with the first batch, between which Accordion takes the largest.

    Source: shockwave, scheduler/scheduler.py, _simulate_accordion.
    """
    if model == "ResNet-50":
        return tuple((first, first + 10) for first in range(0, EPOCHS, 30))
    if model == "ResNet-18":
        return ((0, 10), (150, 160), (250, 260))
    if model == "Recommendation":
        return ((0, 30 if batch < 2048 else 40 if batch < 4096 else 10),)
    return ((0, 10),)


DOUBLINGS = {
    ("ResNet-18", 16): {1: (31, 41, 51, 71), 2: (21, 31, 91, 111), 4: (11, 21, 81, 91)},
    ("ResNet-18", 32): {1: (21, 31, 51), 2: (11, 21, 41), 4: (21, 31, 61)},
    ("ResNet-18", 64): {1: (11, 31), 2: (21, 41), 4: (11, 61)},
    ("ResNet-18", 128): {1: (11,), 2: (41,), 4: (11,)},
    ("ResNet-50", 32): {2: (101, 111), 4: (131, 221)},
    ("ResNet-50", 64): {1: (101,), 2: (81,), 4: (191,)},
    ("LM", 5): {1: (31, 41, 61, 71), 2: (31, 51, 61, 71), 4: (11, 31, 71, 91)},
    ("LM", 10): {1: (11, 21, 41), 2: (11, 31, 41), 4: (11, 31, 61)},
    ("LM", 20): {1: (11, 41), 2: (31, 41), 4: (11, 61)},
    ("LM", 40): {1: (11,), 2: (11,), 4: (61,)},
    ("Recommendation", 512): {1: (21, 41, 71, 91)},
    ("Recommendation", 1024): {1: (21, 51, 91)},
    ("Recommendation", 2048): {1: (21, 41)},
    ("Recommendation", 4096): {1: (41,)},
}
"""Epochs of which each doubles the batch, by model, first batch and devices; no others grow.

Source: shockwave, scheduler/utils.py, get_gns_bs_pattern.
"""


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
            scale=SCALES[row["mode"]](model, batch, larger),
        )
        for begins, larger in _batches(model, batch, row["mode"], devices=devices)
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


def _batches(model: str, batch: int, mode: str, *, devices: int) -> Iterator[tuple[float, int]]:
    """Steps of the first batch at which each batch begins."""
    if mode not in GROWTH:
        raise InputError(f"unknown mode '{mode}'. Known: {', '.join(GROWTH)}.")
    if model not in SAMPLES:
        raise InputError(f"unknown model '{model}'. Known: {', '.join(SAMPLES)}.")
    yield 0.0, batch
    for epoch, larger in GROWTH[mode](model, batch, devices):
        yield float(epoch * ceil(SAMPLES[model] / batch)), larger


def _static(model: str, batch: int, devices: int) -> Iterator[tuple[int, int]]:
    """The same batch to the end."""
    return iter(())


def _accordion(model: str, batch: int, devices: int) -> Iterator[tuple[int, int]]:
    """The largest batch where learning is not critical. Source: agarwal2021."""
    if batch < LARGEST[model] and model != "Transformer":
        for first, last in critical(model, batch):
            if first:
                yield first, batch
            yield last, LARGEST[model]


def _noise_scale(model: str, batch: int, devices: int) -> Iterator[tuple[int, int]]:
    """A batch that doubles as the gradient noise scale grows. Source: mccandlish2018.

    The simulator looks an epoch ahead, so that a batch grows one epoch before the listed one.
    """
    for epoch in DOUBLINGS.get((model, batch), {}).get(devices, ()):
        batch = min(2 * batch, LARGEST[model])
        yield epoch - 1, batch


def _by_batch(model: str, batch: int, larger: int) -> float:
    """Steps of the first batch in one of another, samples kept."""
    return larger / batch


def _by_epoch(model: str, batch: int, larger: int) -> float:
    """The same, epochs kept: the last step of an epoch counts as a whole one."""
    return ceil(SAMPLES[model] / batch) / ceil(SAMPLES[model] / larger)


SCALES = {"static": _by_batch, "accordion": _by_epoch, "gns": _by_batch}
"""Which of both a rule keeps: with these, device-seconds are within 0.1 % of the published ones."""

GROWTH = {"static": _static, "accordion": _accordion, "gns": _noise_scale}
"""Rules by which a batch grows, as traces call them: epochs and batches."""
