"""Two kinds of devices by stage: the first stages lie on one kind, the others on the other.

A stage is priced on the devices that it lies on. The closed form of a pipeline and its simulation
take stages of any times, so that all that is new is the cut, which gives the quicker kind more
layers, and the sends, all of which are taken to be as slow as the slowest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from foretrain.cluster.mixed import Mixed, alike, slower
from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.table import Column, Flags, PlanTable
from foretrain.step import schedule
from foretrain.step.collectives.network import Network, network
from foretrain.step.ends import with_input
from foretrain.step.held import Held, hold
from foretrain.step.memory import stage_memory
from foretrain.step.placements import placements
from foretrain.step.schedules.stages import Passing, Stages
from foretrain.step.setting import Setting, setting
from foretrain.step.simulated_passes import StepTimes
from foretrain.step.step import Factors, factors, order_columns, stage_columns, step_of
from foretrain.step.strategies.pipeline import LayerRow, Sizes, balanced_over
from foretrain.workload.workload import Workload

Floats = NDArray[np.float64]
Layers = tuple[Floats, Floats]
"""Seconds of a layer in both passes, on the kind with the first stages and on the other."""
STEPS = 64.0
"""Parts of the seconds of the longest layer that can be cut to which a cut tells layers apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRange:
    """One kind of devices, on which neighbouring stages lie.

    Attributes:
        setting: the workload on it.
        devices: how many there are.
        joint: the links by which its stages and the other kind's reach one another.
    """

    setting: Setting
    devices: int
    joint: Network


Both = tuple[StageRange, StageRange]


def stretches(workload: Workload, mixed: Mixed, coefficients: Coefficients) -> Both:
    """The kinds of a mixed cluster, in the order of its clusters."""

    def of(place: int) -> StageRange:
        return StageRange(
            setting=setting(workload, alike(mixed, place), coefficients),
            devices=mixed.kinds[place].devices,
            joint=network(slower(mixed, place), coefficients),
        )

    return of(0), of(1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Staged:
    """Plans by stage, priced.

    Attributes:
        plans: the plans, each with an explicit cut.
        held: what their stages hold.
        turn: stages before the first one on the second kind. [plan]
        runs: the pipeline from first to last; equal neighbours together. [plan]
        passing: order of micro-batches and the slowest send. [plan]
    """

    plans: PlanTable
    held: Held
    turn: Column
    runs: list[Stages]
    passing: Passing

    def times(self, row: int = 0) -> StepTimes:
        """Everything that happens in a step of one of the plans."""
        return step_of(self.runs, self.passing, row=row)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outlook:
    """What is known of plans by stage before they are cut.

    Attributes:
        layers: seconds of a layer, whatever the cut.
        seconds: less than what a step takes by any cut. [plan]
        fits: false where no cut fits in the memory of all devices. [plan]
    """

    layers: Layers
    seconds: Column
    fits: Flags


def outlook(both: Both, plans: PlanTable) -> Outlook:
    """What is known of plans by stage before they are cut.

    Args:
        both: the kind with the first stages, and the other.
        plans: whatever their cut. [plan]
    """
    layers = both[0].setting.workload.model.cuttable_layers
    chunks, index = np.unique(plans.pipeline * plans.interleaving, return_inverse=True)
    cuts = tuple((*[1] * (int(many) - 1), layers - int(many) + 1) for many in chunks)
    held = hold(both[0].setting, plans.but(cut=index.reshape(-1).astype(np.float64), cuts=cuts))
    seconds = _layer_seconds(both[0].setting, held), _layer_seconds(both[1].setting, held)
    # Memory of one device of every stage together.
    turn = _turn(both, plans)
    first, second = (kind.setting.cluster.device.memory for kind in both)
    room = turn * first + (plans.pipeline - turn) * second
    return Outlook(
        layers=seconds,
        seconds=_least_seconds(both, plans, seconds),
        fits=_least_memory(both[0].setting, held) <= room,
    )


def _layer_seconds(setting: Setting, held: Held) -> Floats:
    """What a layer of each kind takes in both passes, all told. [kind, plan]"""
    priced = factors(setting, held)
    seconds: Floats = priced.passes.forward + priced.passes.backward
    return seconds.take(priced.passing, axis=1)


def _least_seconds(both: Both, plans: PlanTable, layers: Layers) -> Column:
    """Less than what a step takes by any cut. [plan]

    Were the first kind to do all work, its stages and what the others are worth at best, by the
    layer to which they suit most, would share it evenly.
    """
    workload = both[0].setting.workload
    repeats = np.array([[float(layer.repeats)] for layer in workload.model.layers])
    gain = np.maximum.reduce(layers[0] / layers[1], axis=0)
    turn = _turn(both, plans)
    slowest = np.add.reduce(repeats * layers[0], axis=0) / (turn + (plans.pipeline - turn) * gain)
    least: Column = workload.micro_batches(plans.data, plans.micro_batch) * slowest
    return least


def _least_memory(setting: Setting, held: Held) -> Column:
    """Less than what one device of every stage holds together, by any cut. [plan]

    Layers keep least where fewest micro-batches are in flight, on the last stage; what differs
    with the largest layer of a stage is left out.
    """
    run = held.every_run
    last = held.plans.pipeline - 1.0 - held.first(run)
    found = stage_memory(setting, held, run=run, later=last)
    each = found.weights + found.gradients + found.optimizer + found.activations
    total: Column = np.add.reduce(held.stages(run) * each, axis=0)
    return total + held.plans.pipeline * setting.coefficients.memory.reserve


def staged(both: Both, plans: PlanTable, layers: Layers) -> Staged:
    """Cut and price plans by stage.

    Args:
        both: the kind with the first stages, and the other.
        plans: with a cut of each, which is replaced unless it is listed. [plan]
        layers: their seconds, as `outlook` has them.
    """
    turn = _turn(both, plans)
    plans = _cut(both, plans, layers)
    held = hold(both[0].setting, plans)
    priced = [factors(kind.setting, held) for kind in both]
    # The order of micro-batches, every send over the slower links of both kinds. [plan]
    orders = []
    for kind, own in zip(both, priced, strict=True):
        joint = replace(kind.setting, network=kind.joint)
        placed, group = placements(joint, own.plans)
        orders.append(order_columns(joint, replace(own, placements=placed, group=group)))
    return Staged(
        plans=plans,
        held=held,
        turn=turn,
        runs=_runs(both, priced, turn=turn),
        passing=replace(orders[0], send=np.maximum(orders[0].send, orders[1].send)),
    )


def _turn(both: Both, plans: PlanTable) -> Column:
    """Stages on the first kind. [plan]"""
    stage = plans.tensor * plans.context * plans.data
    return both[0].devices / stage


def stage_seconds(both: Both, found: Staged) -> Column:
    """Seconds of a step, the input of the first stages included. [plan]"""
    computed = np.asarray(schedule.seconds(found.runs, found.passing))
    return with_input(both[0].setting, found.plans, computed)


def stretch_memory(both: Both, found: Staged) -> tuple[Column, Column]:
    """Bytes on a device of the heaviest stage of either kind. [plan]"""
    run = found.held.every_run
    count, first = found.held.stages(run), found.held.first(run)
    before = np.clip(found.turn - first, 0.0, count)

    def heaviest(kind: StageRange, stages: Column, later: Column) -> Column:
        total = stage_memory(kind.setting, found.held, run=run, later=later).total
        most: Column = np.maximum.reduce(total * (stages > 0), axis=0)
        return most

    return heaviest(both[0], before, 0.0 * before), heaviest(both[1], count - before, before)


def _runs(both: Both, priced: list[Factors], *, turn: Column) -> list[Stages]:
    """What lies before the turn as the first kind works, the rest as the second one does.

    A run that has stages on both sides stands in both lists; in one list runs keep their order.
    """
    held = priced[0].held
    runs: tuple[list[Stages], list[Stages]] = ([], [])
    columns = [stage_columns(kind.setting, own) for kind, own in zip(both, priced, strict=True)]
    for run, (first, second) in enumerate(zip(*columns, strict=True)):
        before = np.clip(turn - held.first(run), 0.0, held.stages(run))
        runs[0].append(replace(first, count=before))
        runs[1].append(replace(second, count=held.stages(run) - before))
    return [*runs[0], *runs[1]]


def _cut(both: Both, plans: PlanTable, layers: Layers) -> PlanTable:
    """Plans whose cuts are listed; those that were not suit the speed of the kinds."""
    if not any(isinstance(cut, str) for cut in plans.cuts):
        return plans
    cuttable = [layer.cuttable for layer in both[0].setting.workload.model.layers]
    longest = np.maximum(*(each[cuttable].max(axis=0) for each in layers))
    steps = np.rint(STEPS * np.concatenate(layers) / longest)
    chunks = np.stack([plans.pipeline, plans.interleaving, _turn(both, plans)])
    several, index = np.unique(np.concatenate([steps, chunks]), axis=1, return_inverse=True)
    cuts = [_way(both[0].setting, tuple(column)) for column in several.T.tolist()]
    places = {cut: place for place, cut in enumerate(dict.fromkeys(cuts))}
    column = np.array([float(places[cut]) for cut in cuts])[index.reshape(-1)]
    return plans.but(cut=column, cuts=tuple(places))


def _way(setting: Setting, column: tuple[float, ...]) -> Sizes:
    """Layers of each chunk.

    `column`: seconds of the layers on one kind and the other, stages, chunks of each, turn.
    """
    layers, last = setting.workload.model.layers, setting.body
    first = min(kind for kind, layer in enumerate(layers) if layer.cuttable)
    rows = []
    for seconds in (column[: len(layers)], column[len(layers) : -3]):
        # Layers one by one on one kind of devices; what cannot be cut stays at the ends.
        every = [(each, layer.repeats) for each, layer in zip(seconds, layers, strict=True)]
        rows.append(
            LayerRow(
                seconds=tuple(each for each, many in every[first:last] for _ in range(many)),
                first=sum(each * many for each, many in every[:first]),
                last=sum(each * many for each, many in every[last:]),
            )
        )
    pipeline, interleaving, turn = map(int, column[-3:])
    stages = [int(stage >= turn) for stage in range(pipeline)]
    return _balanced(tuple(rows), tuple(stages * interleaving))


@lru_cache(maxsize=16_384)
def _balanced(kinds: tuple[LayerRow, ...], parts: tuple[int, ...]) -> Sizes:
    """The few cuts that there are come back with every table of plans."""
    return balanced_over(kinds, parts)
