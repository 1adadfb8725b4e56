"""What the cost model says that one member sends in a step, in bytes by purpose.

A transfer of the cost model says what a group does with how many bytes; what a member sends for
them is known from the pattern.
"""

from collections import Counter

from foretrain.plan.table import table_of
from foretrain.step.collectives.exchanges import distinct_share
from foretrain.step.placements import replicas_of
from foretrain.step.setting import Holding
from foretrain.step.strategies import parameter_transfers_of, share_of, transfers_of
from foretrain.step.strategies.data import among
from foretrain.step.strategies.pipeline import boundary_bytes
from foretrain.step.strategies.strategy import Axis, ParameterGroup, Pattern, When
from foretrain.workload.graph import operators_of
from foretrain.workload.workload import Precision, Workload

WIDTH = 8 / Precision.FP32.value_bytes
"""The executor counts in float64: every value has twice the bytes of the cost model's fp32."""

GRID = (Axis.GRID, Axis.GRID_1, Axis.GRID_2, Axis.GRID_3)


def asked(model, plan, *, batch):
    """Bytes that one member sends in a step of a plan, by purpose."""
    workload = Workload(model=model, global_batch=batch, precision=Precision.FP32)
    found = Counter()
    found.update(_of_operators(workload, plan))
    found.update(_of_parameters(workload, plan))
    found.update(_of_stages(workload, plan))
    return {purpose: WIDTH * size for purpose, size in found.items() if size}


def _sent(pattern, members, *, copies=1):
    """Of the bytes of a transfer, what one member sends."""
    away = (members - 1) / members
    return {
        Pattern.ALL_REDUCE: 2 * away,
        Pattern.ALL_GATHER: away,
        Pattern.ALL_TO_ALL: away,
        Pattern.SEND: 1.0,
        Pattern.DISPATCH: away * distinct_share(members, copies),
    }[pattern]


def _of_operators(workload, plan):
    plans, operators = table_of([plan]), operators_of(workload.model)
    found = Counter()
    for each in transfers_of(operators, plans):
        members = plan.context if each.axis in GRID else getattr(plan, each.axis)
        values = sum(
            float(row[0]) * workload.model.layers[layer].repeats
            for layer, row in zip(operators.layer, each.values, strict=True)
        )
        size = values * each.times * _samples(workload, plan) * workload.precision.value_bytes
        found[f"{each.axis} {each.phase}"] += size * _sent(
            each.pattern, members, copies=each.copies
        )
    return found


def _samples(workload, plan):
    """Samples that one member works on."""
    return workload.global_batch / plan.data


def _passes(workload, plan):
    return workload.micro_batches(plan.data, plan.micro_batch)


def _of_parameters(workload, plan):
    plans, operators = table_of([plan]), operators_of(workload.model)
    held = operators.trained / share_of(operators, plans).weights
    experts = operators.experts > 0
    times = {When.STEP: 1.0, When.FIRST: 1.0}
    found = Counter()
    for holding, mine in ((Holding.COMMON, ~experts), (Holding.EXPERTS, experts)):
        amount = sum(
            float(row[0]) * workload.model.layers[layer].repeats
            for layer, row in zip(operators.layer, held * mine, strict=True)
        )
        replicas = replicas_of(plans, holding)
        shard = among(plans, replicas)
        members = {
            ParameterGroup.REPLICAS: replicas,
            ParameterGroup.SHARD: shard,
            ParameterGroup.ACROSS: replicas / shard,
        }
        for each in parameter_transfers_of(workload, plans, replicas):
            often = times.get(each.when, _passes(workload, plan))
            sent = _sent(each.pattern, float(members[each.group][0]))
            found[f"{each.part} {each.group}"] += amount * float(each.size[0]) * often * sent
    return found


def _of_stages(workload, plan):
    """What an inner stage sends on, and back, of all micro-batches."""
    plans = table_of([plan])
    size = boundary_bytes(workload.model, plans, value_bytes=workload.precision.value_bytes)
    sent = float(size[0]) * _passes(workload, plan) * (plan.pipeline > 1)
    return {"pipeline forward": sent, "pipeline backward": sent}
