"""What a search costs as devices grow from 512 to 1,048,576.

    python benchmarks/growth.py [SVG]

The same model and batch on ever more nodes of eight H100, every key free that a search leaves free.
*Ways* are the legal ways to write the number of devices as a product of the axes' degrees: tensor,
context, pipeline, and data as copies of what a shard of replicas holds together. The time of an
exhaustive search must grow no faster than the ways, that of a bounded search slower: both are
compared with their own at 512 devices. Processor seconds of the search alone, without start-up,
which does not grow, the least of several. With a path every power of two is asked and the plot is
written there; without, every fourth. The exit status is 1 if a search grows half as much again as
the ways, for machines are noisy.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

# One core: NumPy's linear algebra, which nothing here uses, would start threads at import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from plot import Curve, plot
from yardstick import yardstick

from foretrain.plan.choices import divisors, question_of
from foretrain.plan.enumeration import degrees_of
from foretrain.plan.study import Study
from foretrain.search.search import search
from foretrain.study.study import study_from

MODEL, BATCH, SEQUENCE = "gpt-3-175b", 32_768, 2048
COUNTS = tuple(2**power for power in range(9, 21))
REPETITIONS = 1
NOISE = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What was found of one number of devices.

    Attributes:
        devices: how many.
        ways: legal products of the axes' degrees.
        plans: distinct legal plans.
        priced: those that fit in memory.
        exhaustive: processor seconds of the search that prices everything.
        bounded: the same of the one that prices promising regions.
        beside: yardstick.
    """

    devices: int
    ways: int
    plans: int
    priced: int
    exhaustive: float
    bounded: float
    beside: float


def study_of(devices: int) -> Study:
    """The question on so many devices."""
    return study_from(
        {
            "workload": {"model": MODEL, "global_batch": BATCH, "sequence": SEQUENCE},
            "cluster": {"name": "dgx-h100", "nodes": devices // 8},
        },
        MODEL,
    )


def ways_of(study: Study, devices: int) -> int:
    """Legal products of degrees; a shard is any divisor of the replicas."""
    found = degrees_of(question_of(study.workload, study.space), (devices,))
    return sum(len(divisors(context * data)) for _, context, data, _ in found)


def measured(devices: int) -> Point:
    """Both searches of one number of devices, which must answer alike."""
    study = study_of(devices)
    found, quick, beside = [], [], [yardstick()]
    for _ in range(REPETITIONS):
        found.append(search(study, keep=1, exhaustive=True))
        quick.append(search(study, keep=1))
        beside.append(yardstick())
    assert found[0].best == quick[0].best, "the bounded search has another best plan"
    return Point(
        devices=devices,
        ways=ways_of(study, devices),
        plans=found[0].space,
        priced=found[0].priced,
        exhaustive=min(each.seconds for each in found),
        bounded=min(each.seconds for each in quick),
        beside=min(beside),
    )


Value = Callable[[Point], float]

SEARCHES: Mapping[str, Value] = MappingProxyType(
    {
        "exhaustive": lambda point: point.exhaustive,
        "bounded": lambda point: point.bounded,
    }
)


def exponent(points: Sequence[Point], value: Value, *, of: Value) -> float:
    """The power of one value with which another one grows, by least squares."""
    logs = [np.log([each(point) for point in points]) for each in (of, value)]
    return float(np.polyfit(*logs, 1)[0])


def slower(points: Sequence[Point], value: Value) -> float:
    """The most by which a time has ever grown, of what the ways have grown by then.

    Times are taken by the yardstick beside them, lest they tell how busy the machine was.
    """
    costs = [value(point) / point.beside / point.ways for point in points]
    return max(costs[1:]) / costs[0]


def drawn(points: Sequence[Point]) -> str:
    """Both searches against devices, and beside each how the ways grow from where it begins."""
    curves = []
    for name, value in SEARCHES.items():
        start = value(points[0]) / points[0].ways
        ways = [start * point.ways for point in points]
        curves.append(Curve(name=name, seconds=[value(point) for point in points]))
        curves.append(Curve(name="as the ways grow", seconds=ways, beside=True))
    title = f"Processor seconds of a search of {MODEL} against devices"
    return plot(title, [point.devices for point in points], curves)


def laws(points: Sequence[Point]) -> bool:
    """Print how fast everything grows; whether no search outgrows the ways."""
    growth = exponent(points, lambda p: p.ways, of=lambda p: p.devices)
    print(f"ways grow as devices^{growth:.2f}")
    kept = True
    for name, value in SEARCHES.items():
        most = slower(points, value)
        growth = exponent(points, value, of=lambda p: p.devices)
        print(
            f"{name} search: seconds grow as devices^{growth:.2f}; since {points[0].devices} "
            f"devices never by more than {most:.2f} of what the ways have grown by"
        )
        kept &= most <= NOISE
    return kept


def main(path: str | None) -> bool:
    """Print the table and the laws, write the plot; whether the laws hold."""
    search(study_of(COUNTS[0] // 2), keep=1)
    print(f"{MODEL}, {BATCH:,} sequences of {SEQUENCE:,} tokens, nodes of eight H100")
    print("  devices   ways       plans      priced  exhaustive   bounded  yardstick")
    points = []
    for devices in COUNTS if path else COUNTS[::4]:
        point = measured(devices)
        points.append(point)
        print(
            f"{devices:9,} {point.ways:6,} {point.plans:11,} {point.priced:11,} "
            f"{point.exhaustive:9.2f} s {point.bounded:7.3f} s {point.beside:8.3f} s",
            flush=True,
        )
    if path:
        Path(path).write_text(drawn(points), encoding="utf-8")
    return laws(points)


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1] if sys.argv[1:] else None))
