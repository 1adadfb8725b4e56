"""Golden outputs: what the oracle's program printed, beside what foretrain says of the same plans.

Its seconds are those of an epoch. Computation is per sample; communication is of whole iterations,
of which an epoch has its samples over the batch, rounded up.

Source: kahira2021, its program and logs; rebuilt to every printed digit.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path

from foretrain.cluster.cluster import Cluster
from foretrain.plan.plan import Plan
from foretrain.step.price import price_plan
from foretrain.step.result import Estimate
from foretrain.step.setting import setting
from foretrain.study.calibration import read_calibration
from foretrain.study.cluster import read_cluster
from foretrain.study.documents import read_toml
from foretrain.study.layer_lists import read_layer_list
from foretrain.study.problems import Problems
from foretrain.workload.graph import Model
from foretrain.workload.workload import Optimizer, Precision, Workload

HERE = Path(__file__).parent
SAMPLES = 1_280_000
"""Of ImageNet's epoch, as the oracle rounds it."""

SECONDS = {"resnet-50": 3.119502e-3, "vgg-16": 8.245589e-3}
"""Of both passes of one sample on a V100 in fp32."""

COEFFICIENTS = read_calibration(Path("paradl-2020")).coefficients
NODE = 4
CLOSE = 1e-6
"""Relative error that rounding in floating point excuses."""

COMPUTED = ("forward", "backward")
EXCHANGED = ("gradients", "parameters", "tensor", "context")


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """One printed output.

    Attributes:
        strategy: as the oracle calls it.
        network: of which layer list.
        devices: of the plan.
        inner: devices that share one copy of the model.
        batch: samples of one iteration.
        quantity: compute or communication, in seconds per epoch, or memory, in bytes per device.
        printed: the output with every digit that was printed.
        variants: what the program does otherwise than a sound model.
    """

    strategy: str
    network: str
    devices: int
    inner: int
    batch: int
    quantity: str
    printed: str
    variants: tuple[str, ...]

    @property
    def value(self) -> float:
        """The output."""
        return float(self.printed)

    @property
    def bar(self) -> float:
        """Relative error that is allowed: that of printing, or of floating point."""
        decimals = len(self.printed.partition(".")[2])
        return max(CLOSE, 0.5 * 10.0**-decimals / self.value)


def goldens() -> Iterator[Golden]:
    """All printed outputs."""
    with (HERE / "goldens.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            for quantity in ("compute", "communication", "memory"):
                if row[quantity]:
                    yield Golden(
                        strategy=row["strategy"],
                        network=row["network"],
                        devices=int(row["devices"]),
                        inner=int(row["inner"]),
                        batch=int(row["batch"]),
                        quantity=quantity,
                        printed=row[quantity],
                        variants=tuple(row["variant"].split()),
                    )


@lru_cache
def model_of(network: str) -> Model:
    """The network of a layer list, its time spread over the layers."""
    return read_layer_list(HERE / "networks" / f"{network}.csv", seconds=SECONDS[network])


@lru_cache
def cluster_of(devices: int) -> Cluster:
    """The oracle's machine with as many devices."""
    problems = Problems("cluster.toml")
    section = read_toml(HERE / "cluster.toml", problems)
    nodes = max(1, devices // NODE)
    section["levels"][0]["members"] = min(devices, NODE)
    found = read_cluster({**section, "nodes": nodes}, problems)
    problems.check()
    assert found is not None
    return found


def plan_of(golden: Golden) -> Plan:
    """The plan of a strategy."""
    groups = golden.devices // golden.inner
    return Plan(data=groups, micro_batch=golden.batch // groups)


@lru_cache
def estimate_of(golden: Golden) -> Estimate:
    """What foretrain says of the plan, by the oracle's coefficients."""
    workload = Workload(
        model=model_of(golden.network),
        global_batch=golden.batch,
        precision=Precision.FP32,
        optimizer=Optimizer.SGD,
    )
    return price_plan(setting(workload, cluster_of(golden.devices), COEFFICIENTS), plan_of(golden))


def predicted(golden: Golden) -> float:
    """The same output by foretrain."""
    found = estimate_of(golden)
    if golden.quantity == "memory":
        return found.memory.total
    parts: Mapping[str, float] = {
        name: getattr(found.parts, name) for name in (*COMPUTED, *EXCHANGED)
    }
    iterations = SAMPLES / golden.batch
    if golden.quantity == "compute":
        return iterations * sum(parts[name] for name in COMPUTED)
    return ceil(iterations) * sum(parts[name] for name in EXCHANGED)


def error_of(golden: Golden) -> float:
    """Relative error of foretrain's output."""
    return predicted(golden) / golden.value - 1.0
