from dataclasses import fields, replace
from random import Random

import numpy as np
import pytest
from benchmarks.closed_form_against_simulation import (
    SEED,
    blocking_sends,
    compare,
    equal_chunks,
    equal_stages,
    heavy_ends,
    with_schedule,
)
from hypothesis import given
from hypothesis import strategies as st
from tests.pipelines import positive, stage_times, step_times, steps

from foretrain.plan.plan import Schedule, Sends
from foretrain.step.schedule import Step, exposed_reduction, seconds, step
from foretrain.step.schedules.stages import Passing, Stages
from foretrain.step.simulated_step import simulate
from foretrain.step.timeline import closed_form, closed_step


@st.composite
def kinds_of_stages(draw, *, count):
    forward, backward, gradients, update, parameters = draw(st.tuples(*[positive] * 5))
    buckets, weights = float(draw(st.integers(1, 12))), draw(st.floats(0, 1)) * backward
    return count, forward, backward, gradients, buckets, update, parameters, weights


@st.composite
def rows(draw):
    """First, inner and last stages of one plan, and its schedule, as numbers."""
    degree = draw(st.integers(1, 64))
    counts = [1.0, max(degree - 2.0, 0.0), min(degree - 1.0, 1.0)]
    kinds = [draw(kinds_of_stages(count=count)) for count in counts]
    schedule = draw(st.sampled_from(Schedule))
    interleaves = degree > 1 and schedule is Schedule.ONE_F_ONE_B
    interleaving = float(draw(st.integers(1, 8)) if interleaves else 1)
    micro_batches = float(degree * draw(st.integers(1, 20)))
    sends = draw(st.floats(0, 10)), draw(st.sampled_from([0.0, 1.0]))
    return kinds, (micro_batches, interleaving, *sends, draw(st.floats(0, 1)), float(schedule))


def pipeline(kinds, passing):
    stages = [named(Stages, kind) for kind in kinds]
    return stages, named(Passing, passing)


def named(noun, values):
    return noun(**dict(zip([field.name for field in fields(noun)], values, strict=True)))


@given(table=st.lists(rows(), min_size=1, max_size=20))
def test_row_of_a_table_equals_the_plan_priced_alone(table):
    alone = [(seconds(*pipeline(*row)), step(*pipeline(*row))) for row in table]
    kinds = [np.array([row[0][place] for row in table]).T for place in range(3)]
    together = pipeline(kinds, np.array([row[1] for row in table]).T)
    np.testing.assert_array_equal(seconds(*together), [total for total, _ in alone])
    for field in fields(Step):
        column = getattr(step(*together), field.name)
        np.testing.assert_array_equal(column, [getattr(one, field.name) for _, one in alone])


@given(times=steps())
def test_parts_add_up_to_the_step(times):
    parts = closed_step(times)
    total = sum(getattr(parts, field.name) for field in fields(Step)[1:])
    assert total == pytest.approx(float(parts.seconds))
    assert closed_form(times) == float(parts.seconds)


@given(times=steps())
def test_no_part_is_negative(times):
    parts = closed_step(times)
    assert min(getattr(parts, field.name) for field in fields(Step)) >= -1e-9 * parts.seconds


@given(times=steps())
def test_more_micro_batches_never_take_less_time(times):
    more = replace(times, micro_batches=times.micro_batches + len(times.stages))
    assert closed_form(more) >= closed_form(times) * (1 - 1e-12)


@given(times=steps())
def test_quicker_sends_never_make_a_step_longer(times):
    assert closed_form(replace(times, send=times.send / 2)) <= closed_form(times) * (1 + 1e-12)


@given(times=steps(equal=True, schedules=[Schedule.ONE_F_ONE_B, Schedule.GPIPE]))
def test_without_sends_equal_stages_wait_as_long_as_the_textbook_says(times):
    one, degree = times.stages[0], len(times.stages)
    parts = closed_step(replace(times, send=0.0))
    bubble = (degree - 1) * (one.forward + one.backward) / times.interleaving
    assert float(parts.bubble) == pytest.approx(bubble, abs=1e-9 * float(parts.seconds))
    assert parts.sends == 0


@given(times=steps(equal=True))
def test_equal_stages_whose_sends_do_not_block_take_what_the_simulation_takes(times):
    times = replace(times, sends=Sends.OVERLAPPED)
    parts, step = closed_step(times), simulate(times)
    assert closed_form(times) == pytest.approx(step.seconds, rel=1e-9)
    first, tolerance = step.stages[0], {"rel": 1e-9, "abs": 1e-9 * step.seconds}
    assert float(parts.bubble) == pytest.approx(first.bubble, **tolerance)
    assert float(parts.sends) == pytest.approx(first.pipeline, **tolerance)
    assert float(parts.gradients) == pytest.approx(first.gradients, **tolerance)


@pytest.mark.parametrize(
    ("draw", "limit"),
    [(equal_chunks, 1e-9), (equal_stages, 0.01), (heavy_ends, 0.02), (blocking_sends, 0.03)],
)
def test_random_plans_take_what_the_simulation_takes(draw, limit):
    random = Random(SEED)
    drawn = (draw(random) for _ in range(1000))
    small = (times for times in drawn if times.micro_batches * len(times.stages) <= 1000)
    pairs = [compare(next(small)) for _ in range(60)]
    assert max(abs(closed / simulated - 1) for closed, simulated in pairs) <= limit


@pytest.mark.parametrize("schedule", [Schedule.GPIPE, Schedule.ZERO_BUBBLE])
@pytest.mark.parametrize(("draw", "limit"), [(equal_stages, 0.01), (heavy_ends, 0.03)])
def test_random_plans_of_other_schedules_take_what_the_simulation_takes(schedule, draw, limit):
    random = Random(SEED)
    drawn = (with_schedule(random, schedule=schedule, draw=draw) for _ in range(1000))
    small = (times for times in drawn if times.micro_batches * len(times.stages) <= 1000)
    pairs = [compare(next(small)) for _ in range(60)]
    assert max(abs(closed / simulated - 1) for closed, simulated in pairs) <= limit


def test_one_stage_computes_reduces_updates_and_gathers():
    stage = stage_times(1, 2, gradients=4, buckets=4, update=0.5, parameters=0.25)
    assert closed_form(step_times(stage, micro_batches=4)) == 15.25


def test_two_stages_and_three_micro_batches():
    times = step_times(*[stage_times(1, 2)] * 2, micro_batches=3)
    assert closed_form(times) == 12
    assert closed_form(replace(times, send=0.5)) == 14


def test_two_stages_that_stand_still_while_they_send():
    times = step_times(*[stage_times(1, 2)] * 2, micro_batches=2, send=0.5, sends=Sends.BLOCKING)
    assert closed_form(times) == 10.5


@pytest.mark.parametrize("stages", [2, 3, 4, 6])
@pytest.mark.parametrize("micro_batches", [3, 4, 12])
def test_zero_bubble_whose_sends_block_counts_one_message_more_than_is_played(
    stages, micro_batches
):
    """The last one down to the last stage, as 1F1B does."""
    times = step_times(
        *[stage_times(2, 5, weights=2)] * stages,
        micro_batches=micro_batches,
        send=0.5,
        sends=Sends.BLOCKING,
        schedule=Schedule.ZERO_BUBBLE,
    )
    assert closed_form(times) == pytest.approx(simulate(times).seconds + 0.5)


@pytest.mark.parametrize("heavy", range(4))
def test_zero_bubble_whose_heavy_stage_blocks_misses_fewer_messages_than_it_has_stages(heavy):
    """An end sends once with each micro-batch and others twice, however many there are."""
    stages = [stage_times(2, 5, weights=2)] * 4
    stages[heavy] = stage_times(6, 15, weights=6)
    times = step_times(
        *stages,
        micro_batches=24,
        send=0.5,
        sends=Sends.BLOCKING,
        schedule=Schedule.ZERO_BUBBLE,
    )
    assert abs(closed_form(times) - simulate(times).seconds) < len(stages) * 0.5


def test_four_stages_and_eight_micro_batches_wait_three_turns():
    times = step_times(*[stage_times(1, 2)] * 4, micro_batches=8)
    assert closed_step(times).bubble == 9
    assert closed_form(times) == 33
    # Six hops for the first micro-batch, and seven further ones in two round trips: 2 (7 - 2).
    assert closed_form(replace(times, send=0.25)) == 33 + 16 * 0.25


def test_two_stages_of_two_chunks_wait_half_a_turn():
    times = step_times(*[stage_times(2, 4)] * 2, micro_batches=4, interleaving=2)
    assert closed_form(times) == 27
    assert closed_form(replace(times, send=0.25)) == 27 + 6 * 0.25


def test_a_heavy_last_stage_sets_the_pace():
    stages = [*[stage_times(1, 2)] * 3, stage_times(2, 4)]
    assert closed_form(step_times(*stages, micro_batches=8)) == 3 * 3 + 8 * 6


def reduction(*, turn=0.0, **others):
    stage = {"count": 1, "forward": 1, "backward": 4, "update": 0, "parameters": 0} | others
    passing = Passing(micro_batches=8, interleaving=2, send=0, blocking=0, overlap=1)
    return exposed_reduction(Stages(**stage), passing, turn=turn)


def test_a_reduction_hides_behind_the_backward_passes_of_later_chunks():
    # Ready 11, 10, 1 and 0 s before the end: the last bucket waits for nothing but itself.
    assert reduction(gradients=4, buckets=4, turn=10) == 1
    # With 4 s a bucket the first two are done 2 s before the end, so that the third comes on time.
    assert reduction(gradients=16, buckets=4, turn=10) == 4 + 3
    assert reduction(gradients=48, buckets=4, turn=10) == 48 - 11


def test_a_single_bucket_is_ready_at_the_end_and_hides_nowhere():
    assert reduction(gradients=16, buckets=1, turn=10) == 16
