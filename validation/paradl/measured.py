"""Measured runs: the steps that the oracle was held against on ABCI, beside two predictions.

Foretrain predicts by its own coefficients for the catalogue's V100 and ABCI, none of them fitted to
these runs; the other prediction is the authors' own, as they printed it. Cells that the report
contradicts itself in are left out. Steps are without input; what is compared is whole steps or
epochs. The accuracy of a prediction is 1 - |predicted - measured| / measured.

Sources: kahira2020, table 8 and figure 2 (read by eye: 3 to 5 % of its full scale).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from validation.paradl.goldens import HERE, NODE, SAMPLES, TABLES

from foretrain.plan.plan import ChannelSplit, Plan, Schedule
from foretrain.step.price import price_plan
from foretrain.step.setting import Setting, setting
from foretrain.study.catalogue import cluster
from foretrain.study.coefficients import DEFAULT
from foretrain.study.layer_lists import read_layer_list
from foretrain.trainers.software import Execution, Software
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Optimizer, Precision, Workload

HOST_PATH = {"links.staged": 8 / 16e9, "links.staged_start": 3e-3 + 110e-9}
"""ChainerMN takes what members of a grid exchange through the host: 3 ms start-up, an eighth of the
16 GB/s of PCIe, as the report's own program has it."""

SOURCES = ("table 8", "figure 2")

CHAINER = Software(execution=Execution.EAGER, late=True, overlaps=False, fuses=False)
"""ChainerMN 7: kernels from Python, gradients reduced after the backward pass (from memory)."""

EACH = {"resnet-50": 64, "resnet-152": 64, "vgg-16": 32, "cosmoflow-512": 1}
"""Samples of a device (data parallelism), of a node (hybrids), or in all (filter, channel)."""

MICRO_BATCHES = 32
"""Of torchgpipe, which the report does not state; assumed."""

LARGER = {("table 8", "data+spatial", "resnet-50"): 256}
"""The same where the report says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One measured number, with the authors' prediction of it.

    Attributes:
        source: table 8 or figure 2.
        strategy: as the authors call it.
        network: which.
        devices: of the run.
        measured: seconds of a step (figure) or of an epoch (table).
        authors: the same by their model; None where their report contradicts itself.
    """

    source: str
    strategy: str
    network: str
    devices: int
    measured: float
    authors: float | None

    @property
    def groups(self) -> int:
        """Copies of the model."""
        inner = {"data": 1, "data+filter": NODE, "data+spatial": NODE}
        return self.devices // inner.get(self.strategy, self.devices)

    @property
    def batch(self) -> int:
        """Samples of a step."""
        if self.strategy == "pipeline":
            return 512
        key = (self.source, self.strategy, self.network)
        return LARGER.get(key, EACH[self.network]) * self.groups


def cells() -> Iterator[Cell]:
    """Every cell that is not marked as a slip of the report."""
    yield from _table()
    yield from _figure("paradl-figure-2-data", {"strategy": "data"})
    yield from _figure("paradl-figure-2-split", {})
    yield from _figure("paradl-figure-2-hybrid", {})
    yield from _figure(
        "paradl-figure-2-cosmoflow", {"strategy": "data+spatial", "model": "cosmoflow-512"}
    )
    yield from _figure("paradl-figure-2-pipeline", {"strategy": "pipeline", "model": "resnet-152"})


def _table() -> Iterator[Cell]:
    table = TABLES["paradl-table-8"]
    for row in table["rows"]:
        found = dict(zip(table["columns"], row, strict=True))
        if found["measured total"]:
            yield Cell(
                source="table 8",
                strategy=found["strategy"],
                network=found["model"],
                devices=found["devices"],
                measured=found["measured total"],
                authors=found["modelled total"] or None,
            )


def _figure(name: str, known: dict[str, str]) -> Iterator[Cell]:
    """The cells of one panel: rows of the model and of the measurement follow one another."""
    table = TABLES[name]
    rows = [known | dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    for modelled, measured in zip(rows[::2], rows[1::2], strict=True):
        assert (modelled["kind"], measured["kind"]) == ("model", "measured")
        for devices in filter(str.isdigit, table["columns"]):
            yield Cell(
                source="figure 2",
                strategy=measured["strategy"],
                network=measured["model"],
                devices=int(devices),
                measured=measured[devices],
                authors=modelled[devices],
            )


@lru_cache
def network_model(network: str) -> Model:
    """The network as the authors ran it: images of 226 pixels, early strides in residual blocks."""
    if network == "vgg-16":
        return read_layer_list(HERE / "networks" / "vgg-16.csv")
    if network == "cosmoflow-512":
        return build(network, image=512)
    return build(f"{network}-v1", image=226)


@lru_cache
def setting_of(network: str, batch: int, devices: int) -> Setting:
    """A network with so many samples to a step on ABCI, by the framework's way through the host."""
    workload = Workload(
        model=network_model(network),
        global_batch=batch,
        precision=Precision.FP32,
        optimizer=Optimizer.MOMENTUM,
    )
    machine = cluster("abci", nodes=max(1, devices // NODE))
    return setting(workload, machine, DEFAULT.changed(HOST_PATH), software=CHAINER)


def plan_of(cell: Cell) -> Plan:
    """The plan of a run."""
    model = network_model(cell.network)
    inner = cell.devices // cell.groups
    if cell.strategy == "pipeline":
        return Plan(
            pipeline=cell.devices,
            micro_batch=cell.batch // MICRO_BATCHES,
            schedule=Schedule.GPIPE,
            cut="balanced",
        )
    common = {"data": cell.groups, "micro_batch": cell.batch // cell.groups}
    if cell.strategy == "data":
        return Plan(**common)
    if cell.strategy.endswith("spatial"):
        grid = (2, 2) if model.dimensions == 2 else (inner, 1, 1)
        return Plan(context=inner, grid=grid, **common)
    by = ChannelSplit.CHANNEL if cell.strategy == "channel" else ChannelSplit.FILTER
    return Plan(tensor=inner, convolutions=by, **common)


@lru_cache
def predicted(cell: Cell) -> float:
    """Foretrain's seconds of the same."""
    priced = price_plan(setting_of(cell.network, cell.batch, cell.devices), plan_of(cell))
    seconds = priced.step_time - priced.parts.input
    per_epoch = cell.source == "table 8" or cell.strategy == "pipeline"
    return seconds * SAMPLES / cell.batch if per_epoch else seconds


def accuracy(found: float, measured: float) -> float:
    """One less the relative error."""
    return 1.0 - abs(found - measured) / measured


TIED = 0.1
"""Relative difference of filter and channel that no model tells apart: their costs are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The strategies of table 8 for one network on so many devices, the quickest first.

    Attributes:
        network: which.
        devices: of every run.
        measured: by the measurement.
        predicted: by foretrain.
        tied: whether filter and channel are as good as equal to foretrain.
    """

    network: str
    devices: int
    measured: tuple[str, ...]
    predicted: tuple[str, ...]
    tied: bool

    @property
    def right(self) -> bool:
        """Whether foretrain ranks as the measurement does; equals count in either order."""
        return self._told(self.measured) == self._told(self.predicted)

    def _told(self, strategies: tuple[str, ...]) -> tuple[str, ...]:
        same = {"channel": "filter"} if self.tied else {}
        return tuple(same.get(each, each) for each in strategies)


def rankings() -> Iterator[Ranking]:
    """Every case of table 8, without cells in which the report contradicts itself."""
    cases: dict[tuple[str, int], list[Cell]] = {}
    for cell in _table():
        cases.setdefault((cell.network, cell.devices), []).append(cell)
    for (network, devices), mine in cases.items():
        split = [predicted(each) for each in mine if each.strategy in ("filter", "channel")]
        yield Ranking(
            network=network,
            devices=devices,
            measured=tuple(e.strategy for e in sorted(mine, key=lambda each: each.measured)),
            predicted=tuple(e.strategy for e in sorted(mine, key=predicted)),
            tied=len(split) > 1 and max(split) <= (1.0 + TIED) * min(split),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Mean accuracies of one strategy, over the cells that both predictions have.

    Attributes:
        strategy: as the authors call it.
        cells: how many.
        ours: of foretrain.
        theirs: of the authors' model.
    """

    strategy: str
    cells: int
    ours: float
    theirs: float


def accuracies(source: str) -> Iterator[Accuracy]:
    """Each strategy of a table or figure; CosmoFlow's volumes of 512 apart."""
    known = [each for each in cells() if each.source == source and each.authors is not None]
    groups: dict[str, list[Cell]] = {}
    for each in known:
        apart = " (cosmoflow-512)" if each.network == "cosmoflow-512" else ""
        groups.setdefault(each.strategy + apart, []).append(each)
    for strategy, mine in groups.items():
        yield Accuracy(
            strategy=strategy,
            cells=len(mine),
            ours=fmean(accuracy(predicted(each), each.measured) for each in mine),
            theirs=fmean(accuracy(each.authors or 0.0, each.measured) for each in mine),
        )
