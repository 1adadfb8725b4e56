"""Filter and channel parallelism: members of the tensor axis share the channels of convolutions.

- filter: each member has some of the filters, all channels of each. It needs the whole input and
  makes some channels of the result, which all gather; on the way back each has a partial sum of the
  gradient of the input, which all add up.
- channel: each member has all filters, some channels of each. It needs those channels of the input
  and makes a partial sum of the result, which all add up; on the way back each has some channels of
  the gradient of the input, which all gather. Biases stay whole.

Gradients of weights need no exchange. Between convolutions every member has whole pictures and
repeats what is done with them. Groups of channels that know nothing of one another (depthwise and
grouped convolutions) are divided as they are: results and gradients are gathered.

Source: kahira2021, sections 3.4 and 3.5, table III.
"""

from __future__ import annotations

import numpy as np

from foretrain.plan.plan import ChannelSplit
from foretrain.plan.table import PlanTable
from foretrain.step.strategies.spatial import covered, pixels_shared
from foretrain.step.strategies.strategy import Axis, Pattern, Phase, Share, Strategy, Transfer
from foretrain.workload.graph import Flags, Floats, Operators
from foretrain.workload.operator import KernelFamily


def _by_channel(plans: PlanTable) -> Flags:
    """Plans that divide channels of the input. [plan]"""
    mine: Flags = plans.convolutions == ChannelSplit.CHANNEL
    return mine


def _members(operators: Operators, plans: PlanTable) -> Floats:
    """All filters or channels over those of the member that has most. [operator, plan]"""
    units = np.where(_by_channel(plans), operators.channels, operators.filters)
    mine = (units > 0) & covered(operators, plans)
    divided: Floats = np.where(mine, units / np.maximum(1.0, np.ceil(units / plans.tensor)), 1.0)
    return divided


def _grouped(operators: Operators) -> Flags:
    """Convolutions of groups of channels. [operator, 1]"""
    grouped: Flags = np.isin(operators.family, (KernelFamily.GROUPED, KernelFamily.DEPTHWISE))
    return grouped


def share(operators: Operators, plans: PlanTable) -> Share:
    """Filters, channels or groups of every convolution; pictures are whole. [operator, plan]"""
    if not (plans.tensor > 1).any():
        return Share()
    members, grouped, channel = _members(operators, plans), _grouped(operators), _by_channel(plans)
    return Share(
        columns=np.where(grouped | channel, 1.0, members),
        depth=np.where(~grouped & channel, members, 1.0),
        batch=np.where(grouped, members, 1.0),
        moved=np.where(grouped, members, 1.0),
        weights=np.where(~grouped & channel, _without_biases(operators, members), members),
    )


def _without_biases(operators: Operators, members: Floats) -> Floats:
    """By how much weights are smaller where biases, one per filter, stay whole. [operator, plan]"""
    slices = operators.batch * operators.columns * operators.depth
    bias = np.maximum(operators.weights - slices, 0.0) * operators.matmul
    held = (operators.weights - bias) / members + bias
    divided: Floats = np.where(held > 0, operators.weights / np.where(held > 0, held, 1.0), members)
    return divided


def transfers(operators: Operators, plans: PlanTable) -> tuple[Transfer, ...]:
    """Gathered or added-up results, and the other way around their gradients."""
    if not (plans.tensor > 1).any():
        return ()
    mine, grouped = _members(operators, plans) > 1.0, _grouped(operators)
    adds = {
        Phase.FORWARD: _by_channel(plans) & ~grouped,
        Phase.BACKWARD: ~_by_channel(plans) & ~grouped,
    }
    read, written = pixels_shared(operators, plans)
    returns = (operators.backward_flop > 0) & ~operators.first
    values = {
        Phase.FORWARD: _results(operators) / written * mine,
        Phase.BACKWARD: _inputs(operators) / read * (mine & returns),
    }
    return tuple(
        Transfer(axis=Axis.TENSOR, phase=phase, pattern=pattern, values=values[phase] * which)
        for phase in Phase
        for pattern, which in (
            (Pattern.ALL_REDUCE, adds[phase]),
            (Pattern.ALL_GATHER, ~adds[phase]),
        )
    )


def _results(operators: Operators) -> Floats:
    """Values that a convolution writes for a sample. [operator, 1]"""
    product = operators.batch * operators.rows * operators.columns
    written: Floats = np.where(operators.matmul, product, operators.flop / (2.0 * operators.window))
    return written


def _inputs(operators: Operators) -> Floats:
    """Values that a convolution reads of a sample, weights apart. [operator, 1]"""
    product = operators.batch * operators.rows * operators.depth / operators.reuse
    moved = operators.forward_values - _results(operators)
    read: Floats = np.where(operators.matmul, product, moved)
    return read


CHANNELS = Strategy(
    reads=("tensor", "context", "grid", "convolutions", "split"),
    divides=lambda operators: bool(operators.filters.any()),
    share=share,
    transfers=transfers,
)
