"""Pipeline parallelism: stages of layers.

The layers that can be cut are divided into pipeline x interleaving chunks; stage s holds the chunks
s, s + p, s + 2p, ... What stands before the first such layer (an embedding) stays with it, what
stands after the last (a head) likewise. Equal neighbours form a run and are priced once.

Source: narayanan2021, sections 2.2 and 2.3.

The balanced cut: a row of layers in parts of which the slowest is as quick as can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.plan.plan import NamedCut, Schedule, cut_into
from foretrain.plan.table import Column, PlanTable
from foretrain.step.schedules import SCHEDULES
from foretrain.workload.graph import Model

Costs = NDArray[np.float64]
ROUNDING = 1e-12
"""Parts that differ by less, relatively, take the same time: sums of layers round differently."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRow:
    """Layers in the model's order, as one kind of device computes them.

    Attributes:
        seconds: time of each layer that may begin a part.
        first: seconds of what stands before them and stays with the first part.
        last: seconds of what stands after them and stays with the last part.
    """

    seconds: Sequence[float]
    first: float
    last: float


def balanced(seconds: Sequence[float], *, first: float, last: float, parts: int) -> tuple[int, ...]:
    """Which cut makes the slowest part as quick as can be?

    Of several such cuts it is the one whose parts differ least in layers (least sum of squares),
    for layers are memory; of several of those, the one whose first differing part has fewer layers,
    for early stages hold most micro-batches.

    Args:
        seconds: time of each layer that may begin a part, in the model's order.
        first: seconds of what stands before them and stays with the first part.
        last: seconds of what stands after them and stays with the last part.
        parts: stages, or chunks of all stages where they are interleaved.

    Returns:
        Layers of each part, at least one.

    Raises:
        InputError: fewer layers than parts, or no part.

    Exact for parts. With interleaving, where a stage takes the sum of its chunks, the slowest chunk
    is as quick as can be, which the slowest stage need not be.

    Source: dynamic programming over the last parts of the row; the recurrence is derived here.
    """
    return balanced_over([LayerRow(seconds=seconds, first=first, last=last)], [0] * parts)


def balanced_over(kinds: Sequence[LayerRow], parts: Sequence[int]) -> tuple[int, ...]:
    """Which cut makes the slowest part as quick as can be, where parts run on different devices?

    Args:
        kinds: the same layers, as each kind of device computes them.
        parts: the kind of each part, as its position in `kinds`.

    Returns:
        Layers of each part, at least one; of several such cuts the one that `balanced` takes.

    Raises:
        InputError: fewer layers than parts, or no part.

    Source: the same.
    """
    layers = len(kinds[0].seconds)
    if not 1 <= len(parts) <= layers:
        raise InputError(
            f"A cut into {len(parts)} parts needs at least 1 part and as many layers, got "
            f"{layers} layers. Choose fewer stages or chunks."
        )
    times = [_times(row.seconds, first=row.first, last=row.last) for row in kinds]
    slowest = _least([times[kind] for kind in parts], join=np.maximum)[-1][0]
    ends = np.arange(layers + 1)
    many = (ends - ends[:, np.newaxis]).astype(float)
    squares = [np.where(t <= slowest * (1 + ROUNDING), many * many, np.inf) for t in times]
    costs = [squares[kind] for kind in parts]
    # Layers of each part: of the cuts of least sum, each part as short as can be.
    least = _least(costs, join=np.add)
    lengths, start = [], 0
    for part, rest in zip(costs, reversed(least[:-1]), strict=True):
        end = int(np.argmin(part[start] + rest))
        lengths.append(end - start)
        start = end
    return tuple(lengths)


def _times(seconds: Sequence[float], *, first: float, last: float) -> Costs:
    """Seconds of the part from one boundary to another; infinite where it has no layer.

    The first layer is always in the first part, the last one in the last.
    """
    own = np.array(seconds, np.float64)
    own[0] += first
    own[-1] += last
    until = np.concatenate([[0.0], np.cumsum(own)])
    times: Costs = until - until[:, np.newaxis]
    times[np.tril_indices(len(until))] = np.inf
    return times


def _least(costs: Sequence[Costs], *, join: np.ufunc) -> list[Costs]:
    """Least cost of cutting the layers after each boundary into the last 0, 1, 2, ... parts.

    Costs of parts are joined by their maximum or their sum. [boundary] per number of parts

    Args:
        costs: of each part from one boundary to another.
        join: of what several parts cost.
    """
    end = np.full(len(costs[0]), np.inf)
    end[-1] = 0.0
    least = [end]
    for part in reversed(costs):
        least.append(join(part, least[-1]).min(axis=1))
    return least


Counts = tuple[int, ...]
Sizes = tuple[int, ...]
Shape = tuple[tuple[int, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cuts:
    """Runs of equal neighbouring stages, of several ways to cut one model.

    The first and the last stage of a pipeline always stand alone. A run that a cut does not have
    has no stages and no layers.

    Attributes:
        layers: layers of each kind on one stage of the run. [run, kind, cut]
        stages: stages of the run. [run, cut]
        first: position of its first stage. [run, cut]
    """

    layers: NDArray[np.float64]
    stages: NDArray[np.float64]
    first: NDArray[np.float64]


Way = tuple[int, Sizes]
"""Stages, and the layers of each chunk in the model's order."""


def named(model: Model, cut: NamedCut, *, pipeline: int, chunks: int) -> Sizes:
    """Layers of every chunk by a rule; even ones where it cuts nothing, which no plan has."""
    sizes = cut_into(cut, model.cuttable_layers, pipeline=pipeline, chunks=chunks)
    return sizes or (model.cuttable_layers // chunks,) * chunks


def stage_layers(model: Model, pipeline: int, sizes: Sizes) -> list[Counts]:
    """Layers of each kind on every stage, in order."""
    return _stage_layers(_shape(model), pipeline, sizes)


def _shape(model: Model) -> Shape:
    return tuple((layer.repeats, layer.cuttable) for layer in model.layers)


def _stage_layers(shape: Shape, pipeline: int, sizes: Sizes) -> list[Counts]:
    every = np.arange(len(shape))
    kinds = np.repeat(every, [repeats for repeats, _ in shape])
    # What follows the last layer that can be cut may be a chunk of its own.
    found = np.flatnonzero([shape[kind][1] for kind in kinds])
    cuttable = np.append(found, found[-1] + 1)
    bounds = cuttable[np.cumsum(sizes, dtype=np.intp)[:-1]]
    before = np.zeros((len(kinds) + 1, len(shape)), int)
    before[1:] = np.cumsum(kinds[:, np.newaxis] == every, axis=0)
    chunk = np.diff(before[[0, *bounds, len(kinds)]], axis=0)
    stages = chunk.reshape(-1, pipeline, len(shape)).sum(axis=0)
    return [tuple(stage) for stage in stages.tolist()]


def cuts(model: Model, ways: Sequence[Way]) -> Cuts:
    """The runs of stages of each way to cut a model."""
    shape = _shape(model)
    return _side_by_side([_runs(shape, (way,)) for way in ways], kinds=len(shape))


def least_cuts(model: Model, several: Sequence[tuple[Way, ...]]) -> Cuts:
    """Runs of stages that have no more layers of any kind than each way to cut leaves them.

    Args:
        model: the network.
        several: ways to cut it into as many stages, and others; no run belongs to a plan.
    """
    shape = _shape(model)
    return _side_by_side([_runs(shape, ways) for ways in several], kinds=len(shape))


def _side_by_side(runs: Sequence[tuple[StageRun, ...]], *, kinds: int) -> Cuts:
    """Runs of several cuts as columns."""
    width = max(len(run) for run in runs)
    layers = np.zeros((width, kinds, len(runs)))
    stages, first = np.zeros((width, len(runs))), np.zeros((width, len(runs)))
    for way, cut in enumerate(runs):
        for position, (counts, start, length) in enumerate(cut):
            layers[position, :, way] = counts
            stages[position, way] = length
            first[position, way] = start
    return Cuts(layers=layers, stages=stages, first=first)


StageRun = tuple[Counts, int, int]
"""Layers of each kind on a stage, position of the first such stage, and how many there are."""


@lru_cache(maxsize=4096)
def _runs(shape: Shape, ways: tuple[Way, ...]) -> tuple[StageRun, ...]:
    """Runs of what every way leaves a stage; the first and the last stage stand alone."""
    every = np.array([_stage_layers(shape, *way) for way in ways])
    stages = [tuple(stage) for stage in every.min(axis=0).tolist()]
    ends = {0, len(stages) - 1}
    keys = [(stage, position if position in ends else -1) for position, stage in enumerate(stages)]
    runs, start = [], 0
    for (counts, _), run in groupby(keys):
        length = len(list(run))
        runs.append((counts, start, length))
        start += length
    return tuple(runs)


def in_flight(plans: PlanTable, *, position: Column, micro_batches: Column) -> Column:
    """Micro-batches whose activations a stage keeps at most, in units of whole stages. [plan]

    A stage that is alone has one micro-batch at a time, whatever the schedule.
    """
    found = SCHEDULES[Schedule.ONE_F_ONE_B].in_flight(plans, position, micro_batches)
    for kind, schedule in SCHEDULES.items():
        mine = (plans.schedule == kind) & (plans.pipeline > 1)
        if kind is not Schedule.ONE_F_ONE_B and mine.any():
            found = np.where(mine, schedule.in_flight(plans, position, micro_batches), found)
    return found


def boundary_bytes(model: Model, plans: PlanTable, *, value_bytes: float) -> Column:
    """Bytes of a micro-batch that one device sends to the next stage. [plan]

    Each member of the tensor and the context axis sends its part of the tokens (narayanan2021,
    section 4.1).
    """
    values = max(layer.output for layer in model.layers)
    return values * value_bytes * plans.micro_batch / (plans.tensor * plans.context)
