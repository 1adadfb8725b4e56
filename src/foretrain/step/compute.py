"""Compute: seconds of operators on one device, and what its host takes to start their kernels.

Matrix products are cut into tiles (`step.tiles`); everything else is limited by memory traffic, and
kernels over pictures stand apart (`step.picture_kernels`).

Kernels wait in a queue, so the host runs ahead where the device is slow. Where it cannot keep up, a
pass takes as long as the host needs for it: the two meet over a stage's pass, not at each kernel.
What costs it time is the call, through modules, dispatch and autograd, more than the kernels that
compiled code then starts.

Source: williams2009 (roofline).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from foretrain.plan.table import Column, PlanTable
from foretrain.step.picture_kernels import (
    CONVOLUTIONS,
    convolution_times,
    kernels_of_pictures,
    moving_times,
    of_family,
)
from foretrain.step.rates import Rates
from foretrain.step.work import (
    FILL,
    TILES,
    DeviceWork,
    OperatorTimes,
    Tiling,
    as_measured,
    tiled_time,
)
from foretrain.workload.graph import Operators
from foretrain.workload.operator import Attention
from foretrain.workload.parts.attention import FLASH_BACKWARD_PRODUCTS

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Launches:
    """Seconds of the host for one micro-batch of a layer. [kind, attention kernel]

    Attributes:
        forward: forward pass.
        backward: backward pass.
        chosen: what selective recomputation starts again.
        weights: gradients of weights, part of the backward pass.
        experts: the same of the kernels that experts have, for all experts; None without any.
    """

    forward: Floats
    backward: Floats
    chosen: Floats
    weights: Floats
    experts: Launches | None = None


def launches(operators: Operators, *, kinds: int, rate: Rates, pictures: bool = False) -> Launches:
    """What the host takes for each kind of layer, whichever kernel attention has.

    An operator is called once in each pass, however many kernels that starts.

    Args:
        operators: of the model.
        kinds: kinds of layers.
        rate: of the device and its host.
        pictures: whether samples are, so that layers that do not attend call each operator once.
    """
    each, kernels = each_expert(operators, rate), kernels_of(operators, rate)
    # What the host calls beside kernels, as many times as long as it starts one.
    kernels = kernels + operators.narrowed * (rate.cast_calls - rate.casts) * each
    # The first kernel of an operator is part of its calls.
    layer = np.asarray(operators.layer, np.intp)
    attends = np.bincount(layer, operators.attention.ravel() >= 0, minlength=kinds)[layer] > 0
    calls = np.where(attends[:, np.newaxis] | (not pictures), rate.calls, 1.0)
    called = called_of(operators, rate) * (calls * rate.launch - rate.kernel)
    started, second = kernels * rate.kernel, each * rate.kernel
    mine = each > 1
    hooks = rate.hook * operators.tensors * np.where(mine, operators.experts, 1.0)
    common = _launched(
        operators, called + started * ~mine, (second * ~mine, hooks * ~mine), kinds=kinds
    )
    if not mine.any():
        return common
    own = _launched(operators, started * mine, (second * mine, hooks * mine), kinds=kinds)
    return replace(common, experts=own)


def _launched(
    operators: Operators, forward: Floats, back: tuple[Floats, Floats], *, kinds: int
) -> Launches:
    """What the host takes for each kind of layer.

    What was measured has been started: its seconds are from one operator to the next.

    Args:
        operators: of the model.
        forward: seconds of the host in the forward pass. [operator, 1]
        back: seconds in which the other product of a backward pass is started, and in which
            gradients of weights are added up apart. [operator, 1]
        kinds: kinds of layers.
    """
    returns, learns = backward_kernels(operators)
    forward = forward * ~operators.measured
    second = back[0] * learns * ~operators.measured
    hooks = back[1] * ~operators.measured
    # Nothing comes back to samples: only the gradient of its weights is left of a first product.
    backward = forward * (returns & ~operators.first) + second + hooks
    layer = np.asarray(operators.layer, np.intp)
    exists = np.hstack(
        [(operators.attention < 0) | (operators.attention == kernel) for kernel in Attention]
    )
    quantities = (
        forward,
        backward,
        forward * operators.selective,
        second * (operators.trained > 0) + hooks,
    )
    found = np.zeros((len(quantities), kinds, len(Attention)))
    for total, seconds in zip(found, quantities, strict=True):
        np.add.at(total, layer, seconds * exists)
    return Launches(forward=found[0], backward=found[1], chosen=found[2], weights=found[3])


TINY = 1e-300
"""Stands for 0 where nothing is divided by it."""


def together(device: Column, host: Column) -> Column:
    """Seconds of a pass in which a device and its host keep each other waiting. [any shape]

    Kernels wait in a queue, so whichever is slower decides; where both are as slow, each waits for
    the other now and then, a fifth of the pass in all: the fourth root of the sum of fourth powers.
    """
    longer = np.maximum(device, host)
    ratio = np.minimum(device, host) / np.maximum(longer, TINY)
    square = ratio * ratio
    found: Column = longer * np.sqrt(np.sqrt(1.0 + square * square))
    return found


def slowest(plans: PlanTable, spread: float) -> NDArray[np.float64]:
    """Seconds of the slowest host among those that exchange in a layer, over their mean. [plan]

    Every device has a process of its own that calls its operators, and members that exchange
    something go on when the slowest has come.

    The largest of n normal values lies about sqrt(2 log n) standard deviations above their mean.

    Args:
        plans: the plans.
        spread: standard deviation of what one host takes, over its mean.

    Source: cramer1946, section 28.6.
    """
    members = np.maximum(plans.tensor * plans.context, plans.expert * plans.expert_tensor)
    found: NDArray[np.float64] = 1.0 + spread * np.sqrt(2.0 * np.log(members))
    return found


USUAL = 512.0
"""FLOP for each exponential of heads of 128, at which shares of attention's rate were measured."""


def waited(exponentials: Column, flop: Column, one: float, *, products: float = 1.0) -> Column:
    """Time of attention over that of as many FLOP in heads of 128. [operator, 1]

    A fused kernel takes an exponential for every pair of a query and a key, and the narrower a
    head, the fewer products go with it.

    Args:
        exponentials: that it takes; 0 for what takes none beside its products.
        flop: of the same pass.
        one: FLOP in the time of one.
        products: of the pass, over those of a forward pass.

    Source: shah2024, section 2.2 (512 FLOP for each exponential of a head of 128).
    """
    each, usual = exponentials / np.maximum(flop, 1.0), 1.0 / (USUAL * products)
    found: Column = np.where(exponentials > 0, (1.0 + one * each) / (1.0 + one * usual), 1.0)
    return found


def backward_kernels(operators: Operators) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which operators have a backward pass, and which a product more than in the forward pass."""
    moved = operators.backward_values + operators.backward_fixed
    returns: NDArray[np.bool_] = (operators.backward_flop > 0) | (moved > 0)
    learns: NDArray[np.bool_] = (operators.trained > 0) | (operators.weights == 0)
    return returns, operators.matmul & learns


def called_of(operators: Operators, rate: Rates) -> Floats:
    """Operators that are called in the forward pass, as the software fuses them. [operator, 1]"""
    # Over those that each operator has by itself.
    fused = np.where(operators.matmul | operators.fused | operators.single, 1.0, rate.unfused)
    if operators.family.any():
        over_pictures = kernels_of_pictures(operators, rate.pictures)
        fused = np.where(operators.family > 0, over_pictures, fused)
    called: Floats = operators.kernels * fused
    return called


def kernels_of(operators: Operators, rate: Rates) -> Floats:
    """Kernels that are started in the forward pass, as the software fuses them. [operator, 1]"""
    kernels = called_of(operators, rate) + operators.narrowed * rate.casts
    return kernels * each_expert(operators, rate)


def each_expert(operators: Operators, rate: Rates) -> Floats:
    """Times that a product's kernels are started: once for each expert, of all. [operator, 1]

    Source: transformer-engine, multi_stream.cpp: four streams take products in turn.
    """
    return np.where(operators.matmul & (operators.experts > 0) & rate.each, operators.experts, 1.0)


def operator_times(work: DeviceWork, rate: Rates) -> OperatorTimes:
    """Seconds of every operator, each kernel where it exists. [operator, plan]"""
    operators = work.operators
    forward, backward = _moving_times(work, rate)
    fused = operators.fused * work.micro_batch / (work.share.rows * work.share.batch)
    fused = fused / _reached(operators, rate)
    there, back = _attended(operators, rate)
    forward = np.maximum(forward, there * fused)
    backward = np.maximum(backward, back * fused)
    product, left, right = _product_times(work, rate)
    if operators.family.any():
        product, left, right = _convolved(work, rate, (product, left, right))
        forward, backward = _over_pictures(work, rate, (forward, backward))
    # Bytes moved to widen weights that are stored in fewer bits, once a pass.
    stored = work.operators.stored
    moved = np.where(stored > 0, stored + work.precision.value_bytes, 0.0)
    unpacking = work.operators.weights * moved / work.share.weights
    unpacked = unpacking / rate.memory
    forward = np.where(operators.matmul, product, forward) + unpacked
    backward = np.where(operators.matmul, left + right, backward) + unpacked
    lost = kernels_of(operators, rate) * rate.gap / _each_divided(work, rate)
    returns, _ = backward_kernels(operators)
    by_formula = OperatorTimes(
        forward=forward + lost,
        backward=(backward + lost * ~operators.first) * returns + _dense(work, rate),
        weights=np.where(operators.matmul & (operators.trained > 0), right, 0.0),
    )
    if not operators.measured.any():
        return by_formula
    return as_measured(work, by_formula, returns, unshrunk=rate.pictures.unshrunk)


def _dense(work: DeviceWork, rate: Rates) -> Column:
    """Seconds for gradients of what no product multiplies by, tables above all. [operator, plan]

    They are as large as the table, however few rows have one: written whole, then added to what is
    there.
    """
    operators, wide = work.operators, work.precision.value_bytes
    moved = 2.0 * wide + 2.0 * (work.added_to or wide)
    mine = ~operators.matmul & ~operators.measured & (operators.family == 0)
    return np.where(mine, operators.trained, 0.0) / work.share.weights * moved / rate.memory


def _attended(operators: Operators, rate: Rates) -> tuple[Column, Column]:
    """Seconds of fused attention in both passes, of one sample. [operator, 1]"""
    taken, one = operators.exponentials, rate.exponential
    there, back = operators.flop, operators.backward_flop
    wait = waited(taken, there, one)
    wait_back = waited(taken, back, one, products=FLASH_BACKWARD_PRODUCTS)
    return there * wait / rate.flash_forward, back * wait_back / rate.flash_backward


def _each_divided(work: DeviceWork, rate: Rates) -> Column:
    """Devices that share the kernels of an operator, one for each expert. [operator, plan]"""
    return np.where(each_expert(work.operators, rate) > 1, work.share.batch, 1.0)


def _reached(operators: Operators, rate: Rates) -> Column:
    """What kernels reach of what limits them. [operator, 1]"""
    return np.take(rate.reached, operators.reach.astype(np.intp))


def _moving_times(work: DeviceWork, rate: Rates) -> tuple[Column, Column]:
    """Operators that only move data. [operator, plan]"""
    operators, part = work.operators, work.micro_batch / work.share.moved
    one = operators.fused | operators.single
    part = part * np.where(one, 1.0, rate.unfused)
    part = part * np.where(operators.routed > 0, rate.sorts, 1.0) / _reached(operators, rate)
    value_bytes = work.precision.value_bytes * np.where(one, 1.0, rate.widened)
    forward = operators.forward_values * value_bytes + operators.forward_fixed
    backward = operators.backward_values * value_bytes + operators.backward_fixed
    return forward * part / rate.memory, backward * part / rate.memory


def _convolved(
    work: DeviceWork, rate: Rates, products: tuple[Column, Column, Column]
) -> tuple[Column, Column, Column]:
    """Convolutions in the place of the products that they are. [operator, plan]"""
    convolved = convolution_times(
        work.operators,
        work.micro_batch,
        value_bytes=work.precision.value_bytes,
        rate=rate.pictures,
        share=work.share,
    )
    result, left, right = convolved
    learns = (work.operators.trained > 0) * rate.gap
    mine = of_family(work.operators, *CONVOLUTIONS)
    return (
        np.where(mine, result, products[0]),
        np.where(mine, left, products[1]),
        np.where(mine, right + learns, products[2]),
    )


def _over_pictures(
    work: DeviceWork, rate: Rates, passes: tuple[Column, Column]
) -> tuple[Column, Column]:
    """Other kernels over pictures in the place of what only moves data. [operator, plan]"""
    moved = moving_times(
        work.operators,
        work.micro_batch,
        value_bytes=work.precision.value_bytes,
        rate=rate.pictures,
        share=work.share,
    )
    mine = work.operators.family > 0
    return np.where(mine, moved[0], passes[0]), np.where(mine, moved[1], passes[1])


def _product_times(work: DeviceWork, rate: Rates) -> tuple[Column, Column, Column]:
    """Matrix products: forward, and the gradients of either factor. [operator, plan]

    A frozen weight has no gradient.
    """
    operators, share = work.operators, work.share
    stacked, narrowed = operators.weights > 0, operators.narrowed
    rows = operators.rows * np.where(stacked, work.micro_batch, 1.0) / share.rows
    batch = operators.batch * np.where(stacked, 1.0, work.micro_batch) / share.batch
    columns, depth = operators.columns / share.columns, operators.depth / share.depth
    left, out, right = rows * depth / operators.reuse, rows * columns, depth * columns
    wide = work.precision.value_bytes
    read = np.where(narrowed, work.precision.product_bytes, wide)
    cast = np.where(narrowed, work.precision.cast_bytes, 0.0) / rate.memory
    held, later = 2.0 * work.added_to, stacked & rate.apart
    added = np.where(stacked & ~later, held or wide, wide)
    # What a kernel of its own reads, and adds to what is there.
    apart = later * right * (wide + held) / rate.memory
    forward = batch * ((left + right) * read + out * wide) / rate.memory
    returned = batch * ((out + right) * read + left * wide) / rate.memory
    learned = batch * ((left + out) * read + right * added) / rate.memory
    # Side by side: output, gradient of the left factor, gradient of the right factor.
    rows, columns, depth, batch = np.broadcast_arrays(rows, columns, depth, batch)
    quicker = np.where(narrowed, rate.narrow, 1.0) * np.where(
        operators.experts > 0, rate.experts, 1.0
    )
    output, first, second = (
        product_time(
            np.stack([rows, rows, depth]),
            np.stack([columns, depth, columns]),
            np.stack([depth, columns, rows]),
            batch=batch,
            rate=rate,
            # A fill is so many bytes, however many values these are.
            fill=FILL * wide / read,
        )
        / quicker
    )
    learns = (operators.trained > 0) | ~stacked
    gap = (1.0 + later) * rate.gap * each_expert(operators, rate) / _each_divided(work, rate)
    return (
        np.maximum(output, forward) + batch * left * cast,
        np.maximum(first, returned) + batch * out * cast,
        (np.maximum(second, learned) + batch * apart + gap) * learns,
    )


def product_time(
    rows: Column,
    columns: Column,
    depth: Column,
    *,
    batch: Column,
    rate: Rates,
    fill: Column | float = FILL,
) -> Column:
    """Seconds of `batch` products (rows x depth) by (depth x columns), compute alone.

    The library picks the tile that ends first. [any shape]
    """
    tiling = Tiling(tiles=TILES, fill=fill, units=rate.units, rate=rate.matmul)
    return tiled_time(rows, columns, depth, batch=batch, tiling=tiling)
