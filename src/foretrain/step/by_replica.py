"""Two kinds of devices by replica: how much of the batch each kind works through.

Each kind is priced as if the whole cluster were of that kind, save that replicas exchange what
they share over the slower links of both kinds. A step takes as long as the slower kind; the
batch is shared so that this is as short as whole micro-batches allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from foretrain.cluster.mixed import Mixed, alike, slower
from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.mixed import lockstep
from foretrain.plan.table import Column, Flags, PlanTable
from foretrain.step import schedule
from foretrain.step.collectives.network import network
from foretrain.step.ends import input_seconds
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total
from foretrain.step.setting import Setting, setting
from foretrain.step.step import factors, order_columns, stage_columns
from foretrain.workload.workload import Workload

Settings = tuple[Setting, Setting]
Columns = tuple[Column, Column]
Steps = tuple[Callable[[Column], Column], Callable[[Column], Column]]


def replica_settings(workload: Workload, mixed: Mixed, coefficients: Coefficients) -> Settings:
    """The workload on either kind, whose replicas meet over the slower links of both."""

    def of(place: int) -> Setting:
        own = setting(workload, alike(mixed, place), coefficients)
        return replace(own, between=network(slower(mixed, place), coefficients))

    return of(0), of(1)


def of_share(setting: Setting, samples: int) -> Setting:
    """The setting in which all devices, as if of one kind, pass so many samples in a step."""
    workload = replace(setting.workload, global_batch=samples, ramp=None)
    return replace(setting, workload=workload)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ways:
    """The ways to share a batch, one after the other: the first kind gets more and more. [plan]

    Attributes:
        least: micro-batches of a replica of each kind in the first way.
        more: what the next way adds to them.
        last: number of the last way, from 0; below 0 where no way leaves every replica of both
            kinds a whole micro-batch.
    """

    least: Columns
    more: Columns
    last: Column

    def at(self, way: Column) -> Columns:
        """Micro-batches of a replica of each kind in one way per plan."""
        return self.least[0] + way * self.more[0], self.least[1] + way * self.more[1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """The best way to share the batch. [plan]

    Attributes:
        micro_batches: of a replica of each kind.
        seconds: of a step of each kind.
    """

    micro_batches: Columns
    seconds: Columns


def ways(workload: Workload, plans: PlanTable, *, devices: tuple[int, int]) -> Ways:
    """How may replicas of two kinds share the micro-batches of a step?

    With d replicas of one kind and e of the other, m and n micro-batches for each of them are a
    share if d m + e n is the number of all; where stages are interleaved, m and n are multiples of
    the stages. Replicas that meet in every pass make equally many.

    Args:
        workload: what is learned.
        plans: plans by replica. [plan]
        devices: of each kind.

    Source: the linear congruence d m = all (mod e), solved by the inverse of d.
    """
    shared = gcd(*devices)
    one, two = devices[0] // shared, devices[1] // shared
    unit = np.where(plans.interleaving > 1, plans.pipeline, 1.0)
    units = workload.global_batch * (one + two) / (plans.data * plans.micro_batch * unit)
    whole = units == np.floor(units)
    least = (np.floor(units) * pow(one, -1, two) - 1) % two + 1 if two > 1 else np.ones(len(plans))
    last = np.floor((np.floor((units - two) / one) - least) / two)
    together = lockstep(plans)
    equal = units / (one + two)
    least = np.where(together, equal, least)
    last = np.where(together, np.where(equal == np.floor(equal), 0.0, -1.0), last)
    return Ways(
        least=(unit * least, unit * (units - one * least) / two),
        more=(unit * two, -unit * one),
        last=np.where(whole, last, -1.0),
    )


def shares(settings: Settings, plans: PlanTable, *, devices: tuple[int, int]) -> Shares:
    """Which share of the batch makes the step of the slower kind as short as can be?

    The more micro-batches a kind has the longer it takes, so that the best way is one of the two
    at which the kinds change places.

    Args:
        settings: the workload on either kind. `replica_settings` makes them.
        plans: plans by replica that have a way to share the batch. [plan]
        devices: of each kind.
    """
    possible = ways(settings[0].workload, plans, devices=devices)
    steps = _step(settings[0], plans), _step(settings[1], plans)
    # The first way in which the first kind is no quicker than the second, or the last.
    crossing, high = np.zeros_like(possible.last), np.maximum(possible.last, 0.0)
    while (crossing < high).any():
        middle = np.floor((crossing + high) / 2)
        first, second = possible.at(middle)
        slow = steps[0](first) >= steps[1](second)
        crossing, high = (
            np.where(slow, crossing, np.minimum(middle + 1, high)),
            np.where(slow, middle, high),
        )
    found = [_taken(possible, steps, way=way) for way in (np.maximum(crossing - 1, 0.0), crossing)]
    before, after = found
    chosen = np.maximum(*before.seconds) <= np.maximum(*after.seconds)
    return Shares(
        micro_batches=_either(chosen, before.micro_batches, after.micro_batches),
        seconds=_either(chosen, before.seconds, after.seconds),
    )


def _step(setting: Setting, plans: PlanTable) -> Callable[[Column], Column]:
    """Seconds of a step of one kind, given the micro-batches of a replica. [plan]"""
    priced = factors(setting, hold(setting, plans))
    stages, passing = stage_columns(setting, priced), order_columns(setting, priced)
    needed = np.zeros(len(plans))
    if setting.workload.data is not None:
        needed = input_seconds(setting, plans) / np.asarray(passing.micro_batches)

    def seconds(micro_batches: Column) -> Column:
        computed = schedule.seconds(stages, replace(passing, micro_batches=micro_batches))
        return np.maximum(computed, needed * micro_batches)

    return seconds


def _taken(ways: Ways, steps: Steps, *, way: Column) -> Shares:
    first, second = ways.at(way)
    return Shares(
        micro_batches=(first, second),
        seconds=(steps[0](first), steps[1](second)),
    )


def _either(rows: Flags, one: Columns, other: Columns) -> Columns:
    """Some rows of one pair of columns, the rest of another."""
    return np.where(rows, one[0], other[0]), np.where(rows, one[1], other[1])


def replica_memory(setting: Setting, plans: PlanTable, micro_batches: Column) -> Column:
    """Bytes on a device of the heaviest stage of one kind. [plan]

    Args:
        setting: the workload on that kind.
        plans: plans by replica. [plan]
        micro_batches: of a replica of that kind. [plan]
    """
    memory = np.empty(len(plans))
    samples = micro_batches * plans.data * plans.micro_batch
    for many in np.unique(samples):
        rows = np.flatnonzero(samples == many)
        own = of_share(setting, int(many))
        memory[rows] = heaviest_total(own, hold(own, plans.take(rows)))
    return memory
