"""Held: plans, the way each cuts the model, and what its stages hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Column, PlanTable, Rows, distinct
from foretrain.step.layers import READS, LayerMemory, layer_compute, layer_memory
from foretrain.step.setting import Holding, Setting
from foretrain.step.strategies.pipeline import Cuts, Sizes, Way, balanced, cuts, named

Floats = NDArray[np.float64]
Columns = Sequence[Column] | Floats
Run = int | Rows
"""A run of equal stages; or one for each plan; or every one, which gives [run, plan]."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Loads:
    """What one stage of each run holds. [run, pair of layers and cut]

    Attributes:
        layers: layers of all kinds.
        tensors: tensors of parameters that are trained.
        weights: bytes of parameters, before they are sharded. [holding, run, pair]
        trained: parameters that are trained. [holding, run, pair]
        kept: bytes that every micro-batch in flight keeps.
        met: bytes that one micro-batch keeps whose backward pass follows at once.
        transient: bytes of the largest layer while it is computed again.
        whole: bytes of the parameters of the largest layer and of the largest that can be cut,
            one of which runs while the other comes. [holding, run, pair]
        graded: parameters that have a gradient. [holding, run, pair]
        learnt: those of them in these two layers. [holding, run, pair]
        moving: bytes that the layer which keeps most keeps.
        unpacked: bytes of the largest weights that a product unpacks.
        passing: bytes beside what the largest layer that can be cut keeps, in its backward pass.
        leaving: the same of the layers behind them: logits and their loss.
        around: bytes of the parameters of layers before and behind them. [holding, run, pair]
        learnt_first: those with a gradient of layers before them. [holding, run, pair]
        learnt_last: those of layers behind them. [holding, run, pair]
        whole_layer: bytes of the parameters of the largest that can be cut. [holding, run, pair]
        learnt_layer: those with a gradient of the one that has most. [holding, run, pair]
    """

    layers: Floats
    tensors: Floats
    weights: Floats
    trained: Floats
    kept: Floats
    met: Floats
    transient: Floats
    whole: Floats
    graded: Floats
    learnt: Floats
    moving: Floats
    unpacked: Floats
    passing: Floats
    leaving: Floats
    around: Floats
    learnt_first: Floats
    learnt_last: Floats
    whole_layer: Floats
    learnt_layer: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """Plans, their cuts, and what their layers and stages take.

    Attributes:
        plans: the plans.
        layers: one layer of each kind. [kind, combination]
        layer: combination of each plan. [plan]
        cuts: runs of equal stages. [run, kind, way]
        cut: way of each plan. [plan]
        loads: stages. [run, pair]
        load: pair of each plan. [plan]
    """

    plans: PlanTable
    layers: LayerMemory
    layer: Rows
    cuts: Cuts
    cut: Rows
    loads: Loads
    load: Rows

    @property
    def runs(self) -> range:
        """Positions of the runs of equal stages."""
        return range(len(self.cuts.stages))

    def take(self, rows: Rows, plans: PlanTable) -> Held:
        """The same for other plans, each of which holds what one of these rows holds."""
        return Held(
            plans=plans,
            layers=self.layers,
            layer=self.layer[rows],
            cuts=self.cuts,
            cut=self.cut[rows],
            loads=self.loads,
            load=self.load[rows],
        )

    @property
    def every_run(self) -> Rows:
        """Positions of the runs, so that what is asked of them is [run, plan]."""
        return np.arange(len(self.cuts.stages))[:, np.newaxis]

    def stages(self, run: Run) -> Column:
        """Stages of a run. [plan]"""
        return _at(self.cuts.stages, run, self.cut)

    def first(self, run: Run) -> Column:
        """Position of the first stage of a run. [plan]"""
        return _at(self.cuts.first, run, self.cut)

    def of_stage(self, name: str, run: Run) -> Column:
        """What one stage of a run holds, a field of `loads`. [plan]"""
        return _at(getattr(self.loads, name), run, self.load)

    def of_holding(self, name: str, run: Run, holding: Holding) -> Column:
        """What one stage of a run holds of some parameters, a field of `loads`. [plan]"""
        return _at(getattr(self.loads, name)[holding], run, self.load)

    def weights(self, run: Run, holding: Holding) -> Column:
        """Bytes of parameters on one stage of a run, before they are sharded. [plan]"""
        return self.of_holding("weights", run, holding)

    def trained(self, run: Run, holding: Holding) -> Column:
        """Trained parameters on one stage of a run. [plan]"""
        return self.of_holding("trained", run, holding)

    def graded(self, run: Run, holding: Holding) -> Column:
        """Parameters with a gradient on one stage of a run. [plan]"""
        return self.of_holding("graded", run, holding)


def _at(values: Floats, run: Run, place: Rows) -> Column:
    """Values of a run at some places; `take` is many times as quick as an index of two arrays."""
    chosen: Column
    if isinstance(run, int):
        chosen = values[run].take(place)
    elif run.ndim > 1:
        chosen = values.take(place, axis=1)
    else:
        chosen = values[run, place]
    return chosen


def hold(setting: Setting, plans: PlanTable, *, cut: tuple[Cuts, Rows] | None = None) -> Held:
    """What the layers of each plan take, and how the plan cuts them.

    Args:
        setting: workload, cluster and coefficients.
        plans: the plans.
        cut: ways to cut, and which of them each plan has; None for what the plans say.
    """
    rows, layer = distinct([getattr(plans, name) for name in READS])
    layers = layer_memory(setting, plans.take(rows))
    found, way = cut or cuts_of(setting, plans)
    pairs, load = distinct([layer, way])
    return Held(
        plans=plans,
        layers=layers,
        layer=layer,
        cuts=found,
        cut=way,
        loads=_loads(
            setting, plans.take(pairs), held=(layers, layer[pairs]), cut=(found, way[pairs])
        ),
        load=load,
    )


def weighted(counts: Columns, values: Columns) -> Column:
    """Layers of each kind times what one of them costs, added in order. [plan] or [run, plan]"""
    total: Column = counts[0] * values[0]
    for count, value in zip(counts[1:], values[1:], strict=True):
        total = total + count * value
    return total


def each_weighted(counts: Floats, values: Floats) -> Floats:
    """The same for several values of a layer at once. [value, run, plan]

    Args:
        counts: layers on a stage. [kind, run, plan]
        values: what one of them takes. [value, kind, plan]
    """
    return np.asarray(weighted(counts, values.swapaxes(0, 1)[:, :, np.newaxis]))


def _loads(
    setting: Setting, plans: PlanTable, *, held: tuple[LayerMemory, Rows], cut: tuple[Cuts, Rows]
) -> Loads:
    """What the stages of distinct pairs hold. [run, pair]

    What follows the last layer that can be cut meets its backward pass at once. Tied parameters are
    held once where first and last layer share a stage, twice elsewhere.
    """
    model, body = setting.workload.model, setting.body
    (layers, layer), (ways, way) = held, cut
    counts = ways.layers.take(way, axis=2).swapaxes(0, 1)
    kept, transient = layers.kept.take(layer, axis=1), layers.transient.take(layer, axis=1)
    whole, trained = layers.weights.take(layer, axis=2), layers.trained.take(layer, axis=2)
    apart, gradients = setting.software.flat, trained
    if apart:
        # Frozen parameters beside trained ones have a gradient too.
        gradients = whole / setting.workload.precision.value_bytes * (trained > 0)
    weights, graded = each_weighted(counts, whole), each_weighted(counts, gradients)
    largest = _two(setting, counts, whole, every=weights)
    learnt = _two(setting, counts, gradients, every=graded)
    trained = each_weighted(counts, trained) if apart else graded
    once = (plans.pipeline == 1) / plans.tensor
    weights[0] = weights[0] - model.tied * setting.workload.precision.value_bytes * once
    trained[0] = trained[0] - model.tied_trained * once
    passing = layers.passing.take(layer, axis=1)
    tensors = np.array([[float(sum(o.tensors for o in each.operators))] for each in model.layers])
    return Loads(
        layers=weighted(counts, np.ones_like(kept)),
        tensors=weighted(counts, tensors),
        weights=weights,
        trained=trained,
        kept=weighted(counts[:body], kept[:body]),
        met=_behind(counts, kept, body),
        transient=_most(counts, transient),
        whole=largest,
        graded=graded,
        learnt=learnt,
        moving=_most(counts[:body], kept[:body]),
        unpacked=_most(counts, layers.unpacked.take(layer, axis=1)),
        passing=_most(counts[:body], passing[:body]),
        leaving=_behind(counts, passing, body),
        **_of_ends(setting, counts, whole=whole, gradients=gradients),
    )


def _of_ends(
    setting: Setting, counts: Floats, *, whole: Floats, gradients: Floats
) -> dict[str, Floats]:
    """Parameters and gradients of what stands around the layers, and of one that can be cut.

    By the fields of `Loads`. [holding, run, pair]
    """
    cuttable = np.array([each.cuttable for each in setting.workload.model.layers])
    before = np.arange(len(cuttable)) < cuttable.argmax()

    def only(chosen: NDArray[np.bool_], values: Floats) -> Floats:
        return each_weighted(counts * chosen[:, np.newaxis, np.newaxis], values)

    return {
        "around": only(~cuttable, whole),
        "learnt_first": only(before, gradients),
        "learnt_last": only(~cuttable & ~before, gradients),
        "whole_layer": _most(counts[cuttable], whole[:, cuttable]),
        "learnt_layer": _most(counts[cuttable], gradients[:, cuttable]),
    }


def _behind(counts: Floats, values: Floats, body: int) -> Column:
    """What the layers of a stage behind the last that can be cut take together. [run, pair]"""
    if body < len(values):
        return weighted(counts[body:], values[body:])
    return np.zeros_like(counts[0])


def _most(counts: Floats, values: Floats) -> Floats:
    """The largest of all kinds that a stage has. [..., run, pair]

    Args:
        counts: layers on a stage. [kind, run, pair]
        values: what one of them takes. [..., kind, pair]
    """
    most: Floats = np.maximum.reduce(values[..., np.newaxis, :] * (counts > 0), axis=-3)
    return most


def _two(setting: Setting, counts: Floats, values: Floats, *, every: Floats) -> Floats:
    """The largest of all kinds, and the largest of those that can be cut, if there are two.

    `every` is what all layers of a stage take. [holding, run, pair]
    """
    cuttable = [layer.cuttable for layer in setting.workload.model.layers]
    two = _most(counts, values) + _most(counts[cuttable], values[:, cuttable])
    return np.minimum(two, every)


STEPS = 64.0
"""Parts of the longest layer's seconds to which a balanced cut tells layers apart: the same cut
then does for all plans whose layers hardly differ."""


def cuts_of(setting: Setting, plans: PlanTable) -> tuple[Cuts, Rows]:
    """The distinct ways to cut, and which of them each plan has.

    Only a balanced cut needs to know how long layers compute, so only then are they timed here.
    """
    balance = np.array([cut == "balanced" for cut in plans.cuts])[plans.cut.astype(np.intp)]
    uneven = np.flatnonzero(balance & (plans.pipeline > 1))
    timed = np.zeros(len(plans), np.intp)
    seconds: Sequence[tuple[float, ...]] = [()]
    if len(uneven):
        some = plans.take(uneven)
        rows, place = distinct([getattr(some, name) for name in READS])
        found = layer_compute(setting, some.take(rows))
        steps = np.rint(STEPS * found / np.maximum.reduce(found, axis=0))
        steps, first = np.unique(steps, axis=1, return_inverse=True)
        timed[uneven] = 1 + first.reshape(-1)[place]
        seconds = [(), *(tuple(column) for column in steps.T.tolist())]
    rows, cut = distinct([plans.pipeline, plans.interleaving, plans.cut, timed])
    ways: list[Way] = []
    for row in rows:
        pipeline, chosen = int(plans.pipeline[row]), plans.cuts[int(plans.cut[row])]
        chunks = pipeline * int(plans.interleaving[row])
        if isinstance(chosen, tuple):
            ways.append((pipeline, chosen))
        elif chosen == "balanced" and pipeline > 1:
            ways.append((pipeline, _balanced(setting, seconds[timed[row]], chunks)))
        else:
            sizes = named(setting.workload.model, chosen, pipeline=pipeline, chunks=chunks)
            ways.append((pipeline, sizes))
    several = tuple(dict.fromkeys(ways))
    position = {way: place for place, way in enumerate(several)}
    made = cuts(setting.workload.model, several)
    return made, np.array([position[way] for way in ways], np.intp)[cut]


def _balanced(setting: Setting, seconds: tuple[float, ...], chunks: int) -> Sizes:
    """The chunks whose slowest is as quick as can be; what cannot be cut stays at the ends."""
    model, body = setting.workload.model, setting.body
    first = min(kind for kind, layer in enumerate(model.layers) if layer.cuttable)
    each = tuple(layer.repeats for layer in model.layers)
    return _cut(
        tuple(zip(seconds, each, strict=True))[first:body],
        (
            sum(a * b for a, b in zip(seconds[:first], each[:first], strict=True)),
            sum(a * b for a, b in zip(seconds[body:], each[body:], strict=True)),
        ),
        chunks,
    )


@lru_cache(maxsize=16_384)
def _cut(layers: tuple[tuple[float, int], ...], ends: tuple[float, float], chunks: int) -> Sizes:
    """`layers`: seconds and number of each kind in order; `ends`: seconds that stay there."""
    inner = [seconds for seconds, repeats in layers for _ in range(repeats)]
    return balanced(inner, first=ends[0], last=ends[1], parts=chunks)
