"""Golden outputs: what the oracle's program printed, beside what foretrain says of the same plans.

The program's seconds are those of an epoch, CosmoFlow's of one iteration. Computation is per
sample; communication is of whole iterations, of which an epoch has its samples over the batch,
rounded up.

Source: kahira2020, its program and logs; rebuilt to every printed digit.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import ceil
from pathlib import Path
from types import MappingProxyType
from typing import Any

from validation.paradl.variants import machine_of, network_of, rows_of, without_borders

from foretrain.cluster.cluster import Cluster
from foretrain.plan.plan import Plan
from foretrain.step.price import price_plan
from foretrain.step.result import Estimate
from foretrain.step.setting import setting
from foretrain.study.cluster import read_cluster
from foretrain.study.coefficients import read_calibration
from foretrain.study.documents import read_toml
from foretrain.study.layer_lists import read_layers
from foretrain.study.problems import Problems
from foretrain.workload.convolution.layer_list import ListedLayer, model_of_layers, spread
from foretrain.workload.graph import Model
from foretrain.workload.workload import Optimizer, Precision, Workload

HERE = Path(__file__).parent


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


TABLES = {each["id"]: each for each in _read(HERE.parent / "published.toml")["number"]}
FIXTURE = _read(HERE / "goldens.toml")
SAMPLES = float(TABLES["paradl-datasets"]["rows"][0][0])
"""Of ImageNet's epoch, as the oracle rounds it."""

COEFFICIENTS = read_calibration(Path("paradl-2020")).coefficients
NODE = 4
CLOSE = 1e-6
"""Relative error that rounding in floating point excuses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """One printed output.

    Attributes:
        strategy: as the oracle calls it.
        network: of which layer list.
        devices: of the plan.
        inner: devices that share one copy of the model.
        batch: samples of one iteration.
        epoch: samples of what the output is of; 0 for one iteration.
        quantity: one of `QUANTITIES`.
        value: as it was printed.
        variants: what the program does otherwise than a sound model.
    """

    strategy: str
    network: str
    devices: int
    inner: int
    batch: int
    epoch: float
    quantity: str
    value: float
    variants: tuple[str, ...]

    @property
    def bar(self) -> float:
        """Relative error that is allowed: that of printing, or of floating point."""
        decimals = len(f"{Decimal(repr(self.value)).normalize():f}".partition(".")[2])
        return max(CLOSE, 0.5 * 10.0**-decimals / self.value)

    @property
    def iterations(self) -> float:
        """Iterations that the output is of, before they are rounded up."""
        return self.epoch / self.batch if self.epoch else 1.0


def goldens() -> Iterator[Golden]:
    """All printed outputs, table after table."""
    for entry in FIXTURE["golden"]:
        table = TABLES[entry["published"]]
        for row in table["rows"]:
            cells = dict(zip(table["columns"], row, strict=True))
            devices = int(entry.get("devices", cells.get("devices")))
            inner = entry["inner"] or devices
            yield Golden(
                strategy=entry["strategy"],
                network=entry["network"],
                devices=devices,
                inner=inner,
                batch=entry["samples"] * devices // inner,
                epoch=0.0 if "iteration" in entry["per"] else SAMPLES,
                quantity=entry["quantity"],
                value=float(cells[entry["column"]]),
                variants=tuple(entry["variant"]),
            )


@lru_cache
def model_of(network: str, variants: tuple[str, ...] = ()) -> Model:
    """The network of a layer list, its time spread over the layers."""
    listed = rows_of(read_layers(HERE / "networks" / f"{network}.csv"), variants)
    return network_of(model_of_layers(network, _timed(network, listed)), variants)


def _timed(network: str, rows: tuple[ListedLayer, ...]) -> tuple[ListedLayer, ...]:
    """The layers with their parts of the seconds that both passes of a sample take.

    CosmoFlow's layers were measured one by one, and only the sum is printed. What its front takes
    follows from the one compute term: a quarter of the front and the rest.
    """
    known = {row[0]: row[-1] for row in TABLES["paradl-layer-files"]["rows"]}
    if network in known:
        return spread(rows, known[network])
    whole = _cell("paradl-seconds-per-sample", network)
    divided = (whole - _cell("paradl-cosmoflow-step", "computing")) / (1.0 - 1.0 / NODE)
    front = front_of(network, rows)
    return (*spread(rows[:front], divided), *spread(rows[front:], whole - divided))


def _cell(table: str, column: str) -> float:
    """The value of a table of one row."""
    found = TABLES[table]
    return float(found["rows"][0][found["columns"].index(column)])


def front_of(network: str, rows: tuple[ListedLayer, ...]) -> int:
    """Layers up to the last one that the strategies divide, that one included."""
    last = FIXTURE["last_divided"][network]
    return next(place for place, row in enumerate(rows, start=1) if row.name == last)


@lru_cache
def cluster_of(devices: int) -> Cluster:
    """The oracle's machine with as many devices."""
    problems = Problems("cluster.toml")
    section = read_toml(HERE / "cluster.toml", problems)
    section["levels"][0]["members"] = min(devices, NODE)
    found = read_cluster({**section, "nodes": max(1, devices // NODE)}, problems)
    problems.check()
    assert found is not None
    return found


def plan_of(golden: Golden) -> Plan:
    """The plan of a strategy: a copy of the model divides its front and repeats the rest."""
    groups = golden.devices // golden.inner
    common = {"data": groups, "micro_batch": golden.batch // groups}
    if golden.inner == 1:
        return Plan(**common)
    split = front_of(golden.network, read_layers(HERE / "networks" / f"{golden.network}.csv"))
    if "spatial" in golden.strategy:
        return Plan(context=golden.inner, grid=(golden.inner, 1, 1), split=split, **common)
    return Plan(tensor=golden.inner, split=split, **common)


@lru_cache
def estimate_of(golden: Golden, *, borders: bool = True) -> Estimate:
    """What foretrain says of the plan, by the oracle's coefficients."""
    model = model_of(golden.network, golden.variants)
    workload = Workload(
        model=model if borders else without_borders(model),
        global_batch=golden.batch,
        precision=Precision.FP32,
        optimizer=Optimizer.SGD,
    )
    cluster = machine_of(cluster_of(golden.devices), golden.variants)
    return price_plan(setting(workload, cluster, COEFFICIENTS), plan_of(golden))


def computed(golden: Golden) -> float:
    """Seconds of both passes, of as many samples as there are."""
    parts = estimate_of(golden).parts
    return golden.iterations * (parts.forward + parts.backward)


def communicated(golden: Golden) -> float:
    """Seconds of everything that is exchanged, in whole iterations."""
    parts = estimate_of(golden).parts
    exchanged = parts.gradients + parts.parameters + parts.tensor + parts.context + parts.halo
    return ceil(golden.iterations) * exchanged


def bordered(golden: Golden) -> float:
    """Seconds in which borders are exchanged."""
    return estimate_of(golden).parts.halo - gathered(golden)


def gathered(golden: Golden) -> float:
    """Seconds in which the last divided picture is gathered."""
    return estimate_of(golden, borders=False).parts.halo


QUANTITIES: Mapping[str, Callable[[Golden], float]] = MappingProxyType(
    {
        "compute": computed,
        "communication": communicated,
        "borders": bordered,
        "gathering": gathered,
        "reduction": lambda golden: estimate_of(golden).parts.gradients,
        "memory": lambda golden: estimate_of(golden).memory.total,
    }
)


def predicted(golden: Golden) -> float:
    """The same output by foretrain."""
    return QUANTITIES[golden.quantity](golden)


def error_of(golden: Golden) -> float:
    """Relative error of foretrain's output."""
    return predicted(golden) / golden.value - 1.0
