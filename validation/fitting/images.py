"""Steps of many networks on one device, priced side by side: what a fit of hundreds of them needs.

One device exchanges nothing, so a step is two passes and an update. The operators of all networks
are priced at once, as if they were one network whose operators take samples of their own.

Coefficients of convolutional networks, fitted to measured steps on many devices and on one.

What kernels over pictures reach cannot be told from tables of many devices alone: those of one
publisher are of one kind of software and few kinds of devices. So trainings on one device are
fitted with them, and each publisher of many devices is left out in turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.device import Device
from foretrain.coefficients.coefficients import Coefficients
from foretrain.evidence.fit import (
    UNTOUCHED,
    Ask,
    Fit,
    Floats,
    Free,
    Observation,
    Predict,
    Rows,
    fit,
    membership,
    refit,
    values_of,
    weights,
)
from foretrain.measured.case import Case
from foretrain.step.compute import launches, operator_times, together
from foretrain.step.rates import rates
from foretrain.step.strategies.strategy import Share
from foretrain.step.work import DeviceWork
from foretrain.trainers.software import Execution, Software
from foretrain.workload.gradients import GradientCodec
from foretrain.workload.graph import Operators, operators_of
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Optimizer, Precision, Workload

Kind = tuple[Device, Precision, Optimizer, GradientCodec, Software]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bench:
    """Trainings on devices of one kind, driven by one software.

    Attributes:
        kind: what they share.
        rows: place of each training among all. [training]
        operators: of all networks. [operator, 1]
        layer: kind of layer of each. [operator]
        training: whose each kind of layer is. [layer]
        repeats: of each kind of layer. [layer]
        samples: of one step. [training]
        parameters: that are trained. [training]
    """

    kind: Kind
    rows: NDArray[np.intp]
    operators: Operators
    layer: NDArray[np.intp]
    training: NDArray[np.intp]
    repeats: Floats
    samples: Floats
    parameters: Floats

    def of_operators(self, values: Floats) -> Floats:
        """Sums over the operators of each training. [training]"""
        kinds = np.bincount(self.layer, values.ravel(), minlength=len(self.repeats))
        return self.of_layers(kinds.astype(np.float64))

    def of_layers(self, values: Floats) -> Floats:
        """Sums over the layers of each training. [training]"""
        sums = np.bincount(self.training, values * self.repeats, minlength=len(self.rows))
        return sums.astype(np.float64)


def benches_of(cases: Sequence[Case]) -> tuple[Bench, ...]:
    """All trainings, those of one kind together. Each runs alone, in one micro-batch."""
    places: dict[Kind, list[int]] = {}
    for place, case in enumerate(cases):
        assert case.cluster.devices == 1
        assert case.plan.micro_batch == case.workload.global_batch
        workload = case.workload
        learned = (workload.precision, workload.optimizer, workload.gradients)
        kind = (case.cluster.device, *learned, case.software)
        places.setdefault(kind, []).append(place)
    return tuple(
        _bench(kind, rows, [cases[row].workload for row in rows]) for kind, rows in places.items()
    )


def _bench(kind: Kind, rows: Sequence[int], workloads: Sequence[Workload]) -> Bench:
    models = [workload.model for workload in workloads]
    layers = [layer for model in models for layer in model.layers]
    whose = np.repeat(np.arange(len(models)), [len(model.layers) for model in models])
    operators = _stacked([operators_of(model) for model in models])
    return Bench(
        kind=kind,
        rows=np.array(rows, np.intp),
        operators=operators,
        layer=np.array(operators.layer, np.intp),
        training=whose,
        repeats=np.array([float(layer.repeats) for layer in layers]),
        samples=np.array([float(workload.global_batch) for workload in workloads]),
        parameters=np.array([model.trainable for model in models]),
    )


def _stacked(tables: Sequence[Operators]) -> Operators:
    """The operators of several networks, whose kinds of layers are numbered on."""
    layers: list[int] = []
    for table in tables:
        first = 1 + max(layers, default=-1)
        layers.extend(first + layer for layer in table.layer)
    columns = {
        field.name: np.concatenate([getattr(table, field.name) for table in tables])
        for field in fields(Operators)
        if field.name != "layer"
    }
    return Operators(layer=tuple(layers), **columns)


def step_times(
    benches: Sequence[Bench], coefficients: Coefficients, *, update: NDArray[np.bool_]
) -> Floats:
    """Seconds of one step of every training, and whether that includes the update. [training]"""
    found = np.zeros(len(update))
    for bench in benches:
        found[bench.rows] = _passes(bench, coefficients)
        found[bench.rows] += _update(bench, coefficients) * update[bench.rows]
    return found


def _passes(bench: Bench, coefficients: Coefficients) -> Floats:
    """Seconds of both passes; a host that starts kernels too slowly decides. [training]"""
    device, precision, _, gradients, software = bench.kind
    rate = rates(device, precision, coefficients, software=software)
    work = DeviceWork(
        operators=bench.operators,
        share=Share(),
        micro_batch=bench.samples[bench.training[bench.layer], np.newaxis],
        precision=precision,
        added_to=gradients.held_bytes,
    )
    times = operator_times(work, rate)
    exists = bench.operators.attention <= float(Attention.PLAIN)
    host = launches(bench.operators, kinds=len(bench.repeats), rate=rate, pictures=True)
    total = np.zeros(len(bench.rows))
    for device_times, host_times in (
        (times.forward, host.forward),
        (times.backward, host.backward),
    ):
        busy = bench.of_operators(device_times * exists)
        starting = bench.of_layers(host_times[:, Attention.PLAIN])
        total += together(busy, starting)
    return total


def _update(bench: Bench, coefficients: Coefficients) -> Floats:
    """Seconds of the optimizer: gradients read twice and set to zero, state and weights both ways.

    As `foretrain.step.schedule` has it for one device. [training]
    """
    device, precision, optimizer, gradients, software = bench.kind
    rate = rates(device, precision, coefficients, software=software)
    copy = precision.value_bytes if precision.master_bytes else 0.0
    state = 2.0 * (optimizer.state_bytes + (precision.master_bytes or precision.value_bytes))
    gradient = gradients.held_bytes
    moved = 2.0 * gradient + rate.unfused * (gradient + state + copy)
    return bench.parameters * moved / rate.memory + rate.gap + _once(bench, coefficients)


def _once(bench: Bench, coefficients: Coefficients) -> Floats:
    """What a training on pictures does once a step, as `foretrain.step.schedule` has it."""
    software = bench.kind[-1]
    execution = Execution.TUNED if software.whole else software.execution
    if execution is Execution.COMPILED:
        execution = Execution.GRAPH
    own: float = getattr(coefficients.picture_steps, execution.value)
    pictures = bench.of_operators(bench.operators.family) > 0
    found: Floats = np.where(pictures, coefficients.step.factor * own, 0.0)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """The measured side of trainings on one device. [training]

    Attributes:
        benches: the trainings.
        seconds: of a step, as measured.
        groups: what weighs the same as any other, and is left out whole.
        others: what else each is left out with: its publisher, its software, its generation.
        update: whether a measured step includes the optimizer's update.
    """

    benches: tuple[Bench, ...]
    seconds: Floats
    groups: tuple[str, ...]
    update: NDArray[np.bool_]
    others: tuple[AbstractSet[str], ...] = ()

    def predict(self, coefficients: Coefficients) -> Floats:
        """Log seconds of what was measured. [training]"""
        return np.log(step_times(self.benches, coefficients, update=self.update))


def left_out(measured: Measured, free: Sequence[Free], base: Coefficients) -> Floats:
    """Seconds of every training, by coefficients that were fitted to the other groups. [training]

    Args:
        measured: what was measured.
        free: coefficients that the fit moves.
        base: the values of all others.
    """

    def predict(asked: Sequence[tuple[Floats, NDArray[np.bool_]]]) -> Sequence[Floats]:
        return [measured.predict(base.changed(values_of(free, scores))) for scores, _ in asked]

    names = np.asarray(measured.groups)
    counted = weights(measured.groups, tuple(str(place) for place in range(len(names))))
    rows = Rows(
        measured=np.log(measured.seconds), weight=counted, trainer=np.zeros((len(names), 0))
    )
    whole = fit(rows, predict, start=np.zeros(len(free)))
    found = np.zeros(len(names))
    for name in dict.fromkeys(measured.groups):
        others = replace(rows, weight=np.where(names == name, 0.0, counted))
        told = refit(whole, others, predict).predicted
        found = np.where(names == name, np.exp(told), found)
    return found


NOISE = 0.17
"""As `foretrain.evidence.fit` has it, of networks of pictures: 1.48 times the median residual.

The fits without a publisher leave 0.15 to 0.19; algorithms of convolutions are chosen at run time.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pictures:
    """Measured steps on pictures. [row]: those on many devices, then those on one.

    Attributes:
        observations: configurations that differ, on many devices.
        place: which of them each run on many devices had. [run]
        measured: its seconds. [run]
        sources: its source. [run]
        publishers: who published it. [run]
        others: what else it is left out with: its software, its generation of devices. [run]
        trainers: the code that ran, which has a pace of its own. [run]
        alike: runs of a source that share what a model gets wrong: those of one network on one
            kind of device in one precision, whatever their batch and number of devices. [run]
        alone: steps on one device.
    """

    observations: tuple[Observation, ...]
    place: NDArray[np.intp]
    measured: Floats
    sources: tuple[str, ...]
    publishers: tuple[str, ...]
    others: tuple[AbstractSet[str], ...]
    trainers: tuple[str, ...]
    alike: tuple[str, ...]
    alone: Measured

    @property
    def owners(self) -> tuple[AbstractSet[str], ...]:
        """Everything that each row is left out with. [row]"""
        mine = zip(self.publishers, self.others, strict=True)
        many = [{publisher, *others} for publisher, others in mine]
        return (*many, *self.alone.others)

    def of(self, group: str) -> NDArray[np.bool_]:
        """Which rows are left out with a group. [row]"""
        return np.array([group in each for each in self.owners])

    @property
    def rows(self) -> Rows:
        """The measured side of the fit: sources weigh the same, and so do runs that are alike."""
        groups = (*self.sources, *self.alone.groups)
        alone = (f"alone {row}" for row in range(len(self.alone.groups)))
        return Rows(
            measured=np.log(np.concatenate([self.measured, self.alone.seconds])),
            weight=weights(groups, (*self.alike, *alone)),
            trainer=membership((*self.trainers, *self.alone.groups)),
            noise=NOISE,
        )

    def log_seconds(self, coefficients: Coefficients, asked: NDArray[np.bool_]) -> Floats:
        """Log seconds of the rows asked for, 0 for all others. [row]"""
        many = len(self.place)
        found = np.zeros(len(asked))
        each = np.zeros(len(self.observations))
        for place in np.unique(self.place[asked[:many]]):
            each[place] = self.observations[place].log_seconds(coefficients)
        found[:many] = each[self.place]
        if asked[many:].any():
            found[many:] = self.alone.predict(coefficients)
        return np.where(asked, found, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Coefficients of networks on pictures.

    Attributes:
        whole: fitted to everything.
        without: fitted without a publisher or another group, by its name.
    """

    whole: Fit
    without: Mapping[str, Fit]

    def cold(self, pictures: Pictures) -> Floats:
        """Seconds of each run on many devices, predicted without its publisher. [run]"""
        found = np.zeros(len(pictures.place))
        for name, fold in self.without.items():
            mine = np.array([name == publisher for publisher in pictures.publishers])
            found = np.where(mine, np.exp(fold.predicted[: len(found)]), found)
        return found


def fitted(
    pictures: Pictures,
    free: Sequence[Free],
    base: Coefficients,
    *,
    without: Mapping[str, Coefficients],
) -> Fitted:
    """What all runs say, and what they say without each publisher.

    Args:
        pictures: what was measured.
        free: coefficients that the fit moves.
        base: the values of all others.
        without: the same as they are known without a publisher; `base` for who is not named.
    """
    rows = pictures.rows
    whole = fit(rows, _predicting(pictures, free, base), start=np.zeros(len(free)))
    folds = {}
    for name in sorted(frozenset().union(*pictures.owners)):
        others = replace(rows, weight=np.where(pictures.of(name), 0.0, rows.weight))
        ask = _predicting(pictures, free, without.get(name, base))
        folds[name] = refit(whole, others, ask)
    return Fitted(whole=whole, without=folds)


def taught_by(found: Fit, pictures: Pictures, place: int, *, without: str = "") -> NDArray[np.intp]:
    """Rows that made a difference to one coefficient, of all but one publisher. [taught]"""
    touched = np.abs(found.slopes[:, place]) > UNTOUCHED
    return np.flatnonzero(touched & ~pictures.of(without) & (pictures.rows.weight > 0))


def _predicting(pictures: Pictures, free: Sequence[Free], base: Coefficients) -> Predict:
    def predict(asks: Sequence[Ask]) -> Sequence[Floats]:
        return [
            pictures.log_seconds(base.changed(values_of(free, scores)), asked)
            for scores, asked in asks
        ]

    return predict
