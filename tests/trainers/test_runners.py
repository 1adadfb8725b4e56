"""Runners: who may run plans of a table is whoever has nothing against each of them."""

import numpy as np
from tests.small import gpt_study, listed, long_study

from foretrain.plan.plan import Offload, Plan, Schedule
from foretrain.plan.study import Space
from foretrain.plan.table import table_of
from foretrain.study.trainers import trainers
from foretrain.trainers.chosen import runners, that_can


def test_a_plan_of_a_table_can_be_run_where_some_trainer_has_nothing_against_it():
    plans = [*listed(gpt_study())[::97], *listed(long_study())[::13]]
    odd = Plan(data=2, pipeline=2, offload=Offload.BOTH, schedule=Schedule.GPIPE, cut=(3, 5))
    some = [each for each in trainers() if each.family == "Megatron-LM"]
    found = runners(some, Space()).can(table_of([*plans, odd]))
    told = [bool(that_can(some, plan)) for plan in (*plans, odd)]
    assert found.tolist() == told
    assert not np.all(found)


def test_nobody_is_asked_where_a_study_fixes_what_no_trainer_has():
    space = Space(offload=(Offload.ACTIVATIONS,), schedule=(Schedule.GPIPE,), pipeline=(3,))
    able = runners(trainers(), space)
    assert able is None or all(each.able("axes") for each in able.trainers)


def test_who_runs_a_plan_does_not_hang_on_how_a_table_numbers_its_cuts():
    some = [each for each in trainers() if each.able("cuts") == ("even",)]
    able = runners(some, Space())
    even, counted = (Plan(pipeline=4, cut=cut) for cut in ("even", "counted"))
    assert able.can(table_of([even])).tolist() == [True]
    assert able.can(table_of([counted])).tolist() == [False]
    assert able.can(table_of([counted, even])).tolist() == [False, True]
