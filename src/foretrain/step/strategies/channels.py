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

from foretrain.plan.table import PlanTable
from foretrain.step.strategies.spatial import by_channel, channel_members, grouped, pixels_shared
from foretrain.step.strategies.strategy import Axis, Pattern, Phase, Share, Strategy, Transfer
from foretrain.workload.graph import Floats, Operators


def share(operators: Operators, plans: PlanTable) -> Share:
    """Filters, channels or groups of every convolution; pictures are whole. [operator, plan]"""
    if not (plans.tensor > 1).any():
        return Share()
    members, channel = channel_members(operators, plans), by_channel(plans)
    groups = grouped(operators)
    return Share(
        columns=np.where(groups | channel, 1.0, members),
        depth=np.where(~groups & channel, members, 1.0),
        batch=np.where(groups, members, 1.0),
        moved=np.where(groups, members, 1.0),
        weights=np.where(~groups & channel, _without_biases(operators, members), members),
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
    mine, groups = channel_members(operators, plans) > 1.0, grouped(operators)
    adds = {
        Phase.FORWARD: by_channel(plans) & ~groups,
        Phase.BACKWARD: ~by_channel(plans) & ~groups,
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
