"""Pipeline schedules: closed form, order of passes and memory, one file each.

A new one is a member of `plan.plan.Schedule`, its file and a line in this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from foretrain.plan.plan import Schedule
from foretrain.plan.table import Column as Column
from foretrain.plan.table import PlanTable as PlanTable
from foretrain.step.schedules import one_f_one_b, stages, zero_bubble
from foretrain.step.schedules.stages import Number as Number
from foretrain.step.schedules.stages import PipelineSchedule

SCHEDULES: Mapping[Schedule, PipelineSchedule] = MappingProxyType(
    {
        Schedule.ONE_F_ONE_B: one_f_one_b.ONE_F_ONE_B,
        Schedule.GPIPE: stages.GPIPE,
        Schedule.ZERO_BUBBLE: zero_bubble.ZERO_BUBBLE,
    }
)
