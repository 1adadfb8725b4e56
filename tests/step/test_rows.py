"""A row of a table equals the plan priced alone, to the last bit."""

from dataclasses import fields

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from tests.examples import few
from tests.pipelines import stage_times, step_times, steps
from tests.random_nouns import questions
from tests.step.prices import prices, prices_of

from foretrain.plan.legality import problems
from foretrain.plan.plan import SAID
from foretrain.plan.study import Space, Study
from foretrain.plan.table import table_of
from foretrain.search.search import search
from foretrain.step.estimate import estimate
from foretrain.step.held import hold
from foretrain.step.memory import MemoryColumns, stage_memory
from foretrain.step.schedule import seconds
from foretrain.step.schedules.stages import Passing, Stages
from foretrain.study.catalogue import cluster
from foretrain.workload.library.entries import build
from foretrain.workload.workload import Workload


def assert_equal(table, other):
    for name, column in table.items():
        np.testing.assert_array_equal(column, other[name], err_msg=name)


def first_stage(setting, table):
    return stage_memory(setting, hold(setting, table), run=0)


@few(40)
@given(question=questions(least=1, most=5))
def test_random_plans_are_legal(question):
    setting, plans = question
    for plan in plans:
        assert problems(setting.workload, setting.cluster, plan) == []


@few(15, slow=250)
@given(question=questions(least=2, most=12))
def test_row_of_a_table_equals_the_plan_priced_alone(question):
    setting, plans = question
    alone = [prices(setting, [plan]) for plan in plans]
    joined = {name: np.concatenate([one[name] for one in alone]) for name in alone[0]}
    assert_equal(prices(setting, plans), joined)


@few(15, slow=250)
@given(question=questions(least=2, most=12))
def test_memory_of_a_first_stage_is_a_row_s_own(question):
    setting, plans = question
    table = first_stage(setting, table_of(plans))
    alone = [first_stage(setting, table_of([plan])) for plan in plans]
    for field in fields(MemoryColumns):
        rows = [getattr(one, field.name)[0] for one in alone]
        np.testing.assert_array_equal(getattr(table, field.name), rows, err_msg=field.name)


@few(15, slow=250)
@given(question=questions(least=2, most=12), data=st.data())
def test_order_of_a_table_does_not_matter(question, data):
    setting, plans = question
    order = data.draw(st.permutations(range(len(plans))))
    table = prices(setting, plans)
    shuffled = prices(setting, [plans[row] for row in order])
    assert_equal({name: column[order] for name, column in table.items()}, shuffled)


@few(15, slow=250)
@given(question=questions(least=2, most=12), data=st.data())
def test_taking_rows_moves_prices_and_changes_none(question, data):
    setting, plans = question
    rows = np.array(data.draw(st.lists(st.integers(0, len(plans) - 1), min_size=1, max_size=20)))
    held = hold(setting, table_of(plans))
    whole = prices_of(setting, held)
    taken = prices_of(setting, held.take(rows, held.plans.take(rows)))
    assert_equal({name: column[rows] for name, column in whole.items()}, taken)


NO_STAGE = Stages(
    count=0.0, forward=0.0, backward=0.0, gradients=0.0, buckets=1.0, update=0.0, parameters=0.0
)


HEAVY_ENDS = step_times(stage_times(4, 4), stage_times(1, 6), micro_batches=6, interleaving=2)


@given(times=steps(), others=st.integers(1, 3))
@example(times=HEAVY_ENDS, others=1)
def test_kinds_of_stages_that_only_other_plans_have_change_nothing(times, others):
    stages = [
        Stages(
            count=1.0,
            forward=stage.forward,
            backward=stage.backward,
            gradients=stage.gradients,
            buckets=float(stage.buckets),
            update=stage.update,
            parameters=stage.parameters,
            weights=stage.weights,
        )
        for stage in times.stages
    ]
    schedule = Passing(
        micro_batches=float(times.micro_batches),
        interleaving=float(times.interleaving),
        send=times.send,
        blocking=float(times.sends),
        overlap=times.overlap,
        kind=float(times.schedule),
    )
    assert seconds([*stages, *[NO_STAGE] * others], schedule) == seconds(stages, schedule)


@few(15, slow=250)
@given(question=questions(least=1, most=20))
def test_table_gives_back_its_plans(question):
    _, plans = question
    table = table_of(plans)
    assert [table.plan(row) for row in range(len(table))] == plans


LLAMA = Study(
    workload=Workload(model=build("llama-2-7b", sequence=4096), global_batch=64),
    cluster=cluster("dgx-a100", nodes=2),
    space=Space(),
)


def study_of(plan):
    choices = {name: (getattr(plan, name),) for name in SAID}
    return Study(workload=LLAMA.workload, cluster=LLAMA.cluster, space=Space(**choices))


def test_plan_that_search_found_is_estimated_the_same_alone():
    found = search(LLAMA, keep=10)
    for ranked in found.ranking:
        assert estimate(study_of(ranked.plan)) == ranked.estimate


def test_search_prices_the_pareto_front_as_estimate_does():
    for point in search(LLAMA).pareto:
        alone = estimate(study_of(point.plan), played=False)
        assert (point.step_time, point.memory) == (alone.closed_form, alone.memory.total)
