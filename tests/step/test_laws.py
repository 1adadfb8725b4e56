"""Laws that every prediction keeps, whatever the model, the cluster and the plan."""

from dataclasses import replace
from functools import partial

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import few
from tests.random_nouns import plans, questions
from tests.random_nouns import settings as random_settings
from tests.step.prices import parts, prices, seconds
from tests.step.resources import MORE, STARTS, changed, quickened, settled

from foretrain.plan.legality import problems
from foretrain.plan.plan import ContextExchange, Offload, Schedule, Sends, Sharding
from foretrain.plan.table import table_of
from foretrain.step.held import hold
from foretrain.step.memory import heaviest_total
from foretrain.step.price import price_plan
from foretrain.step.result import Parts
from foretrain.step.setting import recalibrated, setting
from foretrain.step.step import factors, step_times

ROUNDING = 1e-12


def priced_closed(question):
    setting, [plan] = question
    return price_plan(setting, plan, played=False)


@few(10, slow=250)
@given(question=questions())
def test_parts_add_up_to_the_step_exactly(question):
    setting, [plan] = question
    found = parts(setting, plan)
    assert Parts(**found).total == seconds(setting, plan)[0]
    # What is left is what the device waits for the host, if anything.
    assert found["other"] >= -ROUNDING * seconds(setting, plan)[0]


HOST = tuple(
    f"host.{name}" for name in ("launch", "graph_launch", "kernel", "exchange", "checkpoint")
)


@few(10, slow=250)
@given(question=questions())
def test_nothing_is_left_beside_the_parts_where_the_host_is_quick(question):
    known, [plan] = question
    quick = dict.fromkeys(HOST, 0.0)
    setting = recalibrated(known, known.coefficients.changed(quick))
    found = parts(setting, plan)
    assert abs(found["other"]) <= ROUNDING * seconds(setting, plan)[0]
    assert found["host"] == 0.0


@few(10, slow=250)
@given(question=questions(most=6, cuts=("even", "uneven")), factor=st.floats(1, 100))
def test_quicker_devices_make_no_gradients_of_inputs_longer(question, factor):
    """What hid behind gradients of weights shows where these come later, at any speed."""
    setting, plans = question
    plans = [replace(settled(each), schedule=Schedule.ZERO_BUBBLE, interleaving=1, cut="even")
             for each in plans]  # fmt: skip
    for plan in plans:
        assume(not problems(setting.workload, setting.cluster, plan))

    def inputs(setting, plan):
        priced = factors(setting, hold(setting, table_of([plan])))
        return [each.backward - each.weights for each in step_times(setting, priced).stages]

    for plan in plans:
        quick = inputs(MORE["FLOP/s"](setting, factor), plan)
        for fast, slow in zip(quick, inputs(setting, plan), strict=True):
            assert fast <= slow * (1 + ROUNDING)


@few(10, slow=250)
@given(question=questions())
def test_estimate_is_the_sum_of_its_parts(question):
    estimate = priced_closed(question)
    assert estimate.parts.total == estimate.step_time == estimate.closed_form


@few(8, slow=200)
@given(question=questions())
def test_parts_add_up_at_the_resolution_that_counts(question):
    setting, [plan] = question
    passes = setting.workload.global_batch // (plan.data * plan.micro_batch)
    assume(passes * plan.pipeline * plan.interleaving <= 10_000)
    estimate = price_plan(setting, plan)
    assert estimate.parts.total == estimate.step_time
    if estimate.simulated is not None:
        nearer = min(
            abs(estimate.step_time - seconds)
            for seconds in (estimate.simulated, estimate.closed_form)
        )
        assert nearer <= ROUNDING * estimate.step_time


@few(10, slow=250)
@given(question=questions())
def test_no_part_is_negative(question):
    setting, [plan] = question
    found = parts(setting, plan)
    del found["other"]
    assert {name: value for name, value in found.items() if value < 0} == {}


@few(10, slow=250)
@given(question=questions())
def test_memory_of_every_stage_is_the_sum_of_its_parts_and_the_heaviest_counts(question):
    setting, [plan] = question
    memory = priced_closed(question).memory
    assert len(memory.stages) == plan.pipeline
    for stage in (*memory.stages, memory):
        held = [stage.weights, stage.gradients, stage.optimizer, stage.activations, stage.buffers]
        assert min(held) >= 0
        assert sum(held) == stage.total
    assert memory.total == max(stage.total for stage in memory.stages)
    assert memory.total == heaviest_total(setting, hold(setting, table_of([plan])))[0]


@few(10, slow=250)
@given(question=questions(), factor=st.floats(1e-3, 1e3))
def test_everything_so_many_times_quicker_makes_a_step_as_many_times_shorter(question, factor):
    setting, [plan] = question
    quick = seconds(quickened(setting, factor), plan) * factor
    np.testing.assert_allclose(quick, seconds(setting, plan), rtol=1e-9)


@few(10, slow=250)
@given(question=questions(), power=st.integers(-20, 20))
def test_powers_of_two_scale_every_part_exactly(question, power):
    setting, [plan] = question
    quick = prices(quickened(setting, 2.0**power), [plan])
    for name, column in prices(setting, [plan]).items():
        factor = 1.0 if name == "memory" else 2.0**power
        np.testing.assert_array_equal(quick[name] * factor, column, err_msg=name)


@few(10, slow=250)
@given(question=questions(), power=st.integers(-6, 6))
def test_powers_of_two_scale_everything_that_happens_in_a_step(question, power):
    setting, [plan] = question

    def happens(setting):
        return step_times(setting, factors(setting, hold(setting, table_of([plan]))))

    slow, quick = happens(setting), happens(quickened(setting, 2.0**power))
    assert quick.send * 2.0**power == slow.send
    for one, other in zip(slow.stages, quick.stages, strict=True):
        assert other.forward * 2.0**power == one.forward
        assert other.backward * 2.0**power == one.backward
        assert other.update * 2.0**power == one.update


@few(16, slow=400)
@given(question=questions(most=6, cuts=("even", "uneven")), factor=st.floats(1, 100))
def test_more_of_a_resource_never_makes_a_step_longer(question, factor):
    """A balanced cut apart, which is another one on a device whose layers take other times."""
    setting, plans = question
    plans = [settled(plan) for plan in plans]
    before = seconds(setting, *plans)
    for resource, more in MORE.items():
        after = seconds(more(setting, factor), *plans)
        assert (after <= before * (1 + ROUNDING)).all(), resource


@few(10, slow=250)
@given(question=questions())
def test_axis_of_degree_one_is_free(question):
    setting, [plan] = question
    found = parts(setting, plan)
    if plan.tensor == 1:
        assert found["tensor"] == 0
    if plan.context == 1:
        assert found["context"] == 0
    if plan.expert == plan.expert_tensor == 1:
        assert found["expert"] == 0
    if plan.data == plan.context == 1 and plan.tensor == plan.expert * plan.expert_tensor:
        assert found["parameters"] == 0
        # A table that the first and the last stage have is added up whatever else there is; parts
        # of a step tell of it where one of these computes longest.
        shared = plan.pipeline > 1 and setting.workload.model.tied > 0
        stages = step_times(setting, factors(setting, hold(setting, table_of([plan])))).stages
        assert [stage.parameters > 0 for stage in (stages[0], stages[-1])] == [shared] * 2
        busy = [stage.forward + stage.backward for stage in stages]
        ends = busy.index(max(busy)) in (0, len(busy) - 1)
        assert (found["gradients"] > 0) == (shared and ends)
    if plan.offload is Offload.NONE:
        assert found["offload"] == 0
    if plan.pipeline == 1:
        assert found["bubble"] == found["pipeline"] == 0


@few(10, slow=250)
@given(question=questions())
def test_nothing_is_sharded_among_one_device(question):
    setting, [plan] = question
    alone = replace(plan, data=1, context=1, grid=(), expert=1, expert_tensor=plan.tensor)
    kinds = [replace(alone, sharding=sharding) for sharding in Sharding]
    assert_alike(setting, *kinds, *(replace(kind, reshard=not plan.reshard) for kind in kinds))


@few(10, slow=250)
@given(question=questions())
def test_tokens_of_a_member_that_is_alone_are_not_divided(question):
    setting, [plan] = question
    alone = replace(plan, tensor=1, expert_tensor=1)
    neutral, other = [replace(alone, sequence_parallel=divided) for divided in (False, True)]
    assert_alike(setting, neutral, other)


@few(10, slow=250)
@given(question=questions())
def test_stage_that_is_alone_sends_nothing(question):
    setting, [plan] = question
    alone = replace(plan, pipeline=1, interleaving=1, cut="even")
    assert_alike(setting, *(replace(alone, sends=sends) for sends in Sends))


@few(10, slow=250)
@given(question=questions())
def test_tokens_that_nobody_shares_are_not_exchanged(question):
    setting, [plan] = question
    alone = replace(plan, context=1, grid=())
    assert_alike(setting, *(replace(alone, exchange=exchange) for exchange in ContextExchange))


def assert_alike(setting, *plans):
    for name, column in prices(setting, plans).items():
        assert set(column) == {column[0]}, name


@given(data=st.data())
def test_one_device_spends_its_step_on_compute_and_update(data):
    old = data.draw(random_settings())
    levels = tuple(replace(level, members=1) for level in old.cluster.levels)
    lonely = setting(old.workload, replace(old.cluster, levels=levels), old.coefficients)
    found = parts(lonely, data.draw(plans(lonely)))
    rest = {"forward", "backward", "recompute", "update", "offload", "host", "other"}
    assert [name for name, value in found.items() if value and name not in rest] == []


@few(10, slow=250)
@given(question=questions())
def test_infinitely_quick_links_leave_compute_bubble_and_update(question):
    old, [plan] = question
    instant = partial(changed, old, coefficients=dict.fromkeys(STARTS, 0.0))
    quick = instant(link=lambda _: {"latency": 0.0, "bandwidth": 1e300, "capacity": None})
    found = parts(quick, plan)
    moved = ("tensor", "expert", "pipeline", "gradients", "parameters")
    assert sum(found[name] for name in moved) <= ROUNDING * Parts(**found).total
