"""What holds for every schedule, played and priced."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipelines import stage_times, step_times, steps

from foretrain.errors import InputError
from foretrain.plan.plan import Schedule, Sends
from foretrain.step.schedules import SCHEDULES
from foretrain.step.schedules.stages import PassSequence
from foretrain.step.simulated_passes import order, passes_of, play
from foretrain.step.simulated_step import simulate
from foretrain.step.timeline import closed_form, closed_step

every_schedule = pytest.mark.parametrize("schedule", Schedule)
pipelines = st.tuples(st.integers(1, 8), st.integers(1, 20))


def of(times, schedule):
    """The same step by another schedule, each stage of one chunk."""
    return replace(times, interleaving=1, schedule=schedule)


def passes_only(times):
    """The same step without anything after its passes."""
    rest = {"gradients": 0.0, "update": 0.0, "parameters": 0.0}
    return replace(times, stages=tuple(replace(stage, **rest) for stage in times.stages))


def in_flight(stage, passes):
    """Micro-batches of which a stage keeps anything at most, and those before their backward."""
    alive, unused, most, most_unused = 0, 0, 0, 0
    for number in order(stage, passes):
        kind = number // passes.half
        unused += {0: 1, 1: -1, 2: 0}[kind]
        alive += {0: 1, 1: 0 if passes.split else -1, 2: -1}[kind]
        most, most_unused = max(most, alive), max(most_unused, unused)
    return most, most_unused


def test_every_schedule_is_played_and_priced():
    assert set(SCHEDULES) == set(Schedule)


@every_schedule
@given(pipeline=pipelines)
def test_every_stage_makes_each_of_its_passes_once(schedule, pipeline):
    passes = PassSequence(pipeline[0], *pipeline, schedule)
    worked = [number for stage in range(passes.stages) for number in order(stage, passes)]
    assert sorted(worked) == list(range(passes.count))


@every_schedule
@given(pipeline=pipelines)
def test_the_last_pass_of_a_stage_completes_its_gradients(schedule, pipeline):
    passes = PassSequence(pipeline[0], *pipeline, schedule)
    for stage in range(passes.stages):
        assert order(stage, passes)[-1] == passes.last(stage)


@every_schedule
@given(times=steps())
def test_a_single_stage_waits_for_nobody(schedule, times):
    alone = of(replace(times, stages=times.stages[:1]), schedule)
    limit = 1e-9 * closed_form(alone)
    for parts in (closed_step(alone), simulate(alone).stages[0]):
        assert parts.bubble == pytest.approx(0, abs=limit)


@every_schedule
@given(times=steps(equal=True))
def test_stages_of_equal_time_take_what_the_simulation_takes(schedule, times):
    times = replace(of(times, schedule), sends=Sends.OVERLAPPED)
    assert closed_form(times) == pytest.approx(simulate(times).seconds, rel=1e-9)


@given(times=steps())
def test_gpipe_is_priced_as_it_is_played_whatever_the_stages_and_sends(times):
    times = of(times, Schedule.GPIPE)
    assert closed_form(times) == pytest.approx(simulate(times).seconds, rel=1e-9)


@every_schedule
@given(times=steps(equal=True))
def test_more_micro_batches_wait_a_smaller_share(schedule, times):
    times, shares = passes_only(of(replace(times, send=0), schedule)), []
    for micro_batches in (times.micro_batches, times.micro_batches + 1):
        parts = closed_step(replace(times, micro_batches=micro_batches))
        shares.append(float(parts.bubble / parts.compute))
    assert shares[1] <= shares[0] + 1e-12


@every_schedule
@given(times=steps())
def test_twice_the_seconds_of_everything_make_twice_the_step(schedule, times):
    one = of(times, schedule)
    names = ("forward", "backward", "gradients", "update", "parameters", "weights")
    twice = tuple(replace(s, **{name: 2 * getattr(s, name) for name in names}) for s in one.stages)
    assert closed_form(replace(one, stages=twice, send=2 * one.send)) == 2 * closed_form(one)


@given(times=steps(equal=True))
def test_gpipe_waits_as_long_as_1f1b_where_stages_are_equal_and_sends_take_no_time(times):
    bubbles = [closed_step(of(replace(times, send=0), each)).bubble for each in Schedule]
    gpipe = float(bubbles[Schedule.GPIPE])
    limit = 1e-9 * closed_form(times)
    assert gpipe == pytest.approx(float(bubbles[Schedule.ONE_F_ONE_B]), abs=limit)


@given(times=steps())
def test_no_backward_pass_of_zero_bubble_ends_later_than_that_of_1f1b(times):
    plain, zero = [play(of(times, each)) for each in (Schedule.ONE_F_ONE_B, Schedule.ZERO_BUBBLE)]
    backward = slice(plain.passes.half, plain.passes.count)
    pairs = zip(zero.ended[backward], plain.ended[backward], strict=True)
    assert all(sooner <= later * (1 + 1e-12) for sooner, later in pairs)


@given(times=steps(equal=True))
def test_zero_bubble_of_equal_stages_never_takes_longer_than_1f1b(times):
    plain = passes_only(of(times, Schedule.ONE_F_ONE_B))
    zero = replace(plain, schedule=Schedule.ZERO_BUBBLE)
    assert closed_form(zero) <= closed_form(plain) * (1 + 1e-12)
    assert simulate(zero).seconds <= simulate(plain).seconds * (1 + 1e-12)


@given(times=steps(equal=True))
def test_zero_bubble_of_no_gradients_of_weights_is_1f1b(times):
    stages = tuple(replace(stage, weights=0.0) for stage in times.stages)
    times = passes_only(replace(times, stages=stages))
    plain = closed_form(of(times, Schedule.ONE_F_ONE_B))
    assert closed_form(of(times, Schedule.ZERO_BUBBLE)) == pytest.approx(plain, rel=1e-9)


@given(
    degree=st.integers(1, 8),
    further=st.integers(0, 20),
    passes=st.tuples(*[st.floats(1, 10)] * 2, st.floats(0, 1)),
)
def test_zero_bubble_waits_as_long_as_its_paper_says(degree, further, passes):
    forward, inputs, share = passes
    weights = share * min(forward, inputs)
    stage = stage_times(forward, inputs + weights, weights=weights)
    times = step_times(
        *[stage] * degree, micro_batches=degree + further, schedule=Schedule.ZERO_BUBBLE
    )
    bubble = (degree - 1) * (forward + inputs - weights)
    limit = 1e-9 * closed_form(times)
    assert float(closed_step(times).bubble) == pytest.approx(bubble, abs=limit)
    assert simulate(times).stages[0].bubble == pytest.approx(bubble, abs=limit)


def test_zero_bubble_waits_a_third_of_1f1b_where_all_passes_take_the_same():
    times = step_times(*[stage_times(1, 2, weights=1)] * 4, micro_batches=8)
    zero = replace(times, schedule=Schedule.ZERO_BUBBLE)
    assert (closed_form(times), closed_form(zero)) == (24 + 9, 24 + 3)
    assert simulate(zero).seconds == 24 + 3


def test_zero_bubble_reduces_gradients_beside_the_last_gradients_of_weights():
    stage = stage_times(1, 3, weights=1, gradients=4, buckets=4)
    zero = step_times(stage, micro_batches=4, schedule=Schedule.ZERO_BUBBLE)
    # The buckets are ready at 15.25, 15.5, 15.75 and 16 s and take a second each.
    assert simulate(zero).seconds == closed_form(zero) == 15.25 + 4


def test_gpipe_takes_the_slowest_forward_and_the_slowest_backward_pass_per_micro_batch():
    stages = [stage_times(1, 5), stage_times(3, 2)]
    times = step_times(*stages, micro_batches=3, schedule=Schedule.GPIPE)
    assert simulate(times).seconds == closed_form(times) == (4 + 2 * 3) + (7 + 2 * 5)


@given(pipeline=pipelines)
def test_1f1b_keeps_a_micro_batch_for_each_stage_from_here_on(pipeline):
    stages, micro_batches = pipeline
    passes = PassSequence(stages, stages, micro_batches)
    for stage in range(stages):
        assert in_flight(stage, passes)[0] == min(stages - stage, micro_batches)


@given(pipeline=pipelines)
def test_gpipe_keeps_all_micro_batches(pipeline):
    stages, micro_batches = pipeline
    passes = PassSequence(stages, stages, micro_batches, Schedule.GPIPE)
    assert {in_flight(stage, passes)[0] for stage in range(stages)} == {micro_batches}


@given(pipeline=pipelines)
def test_zero_bubble_keeps_on_every_stage_what_1f1b_keeps_on_the_first(pipeline):
    stages, micro_batches = pipeline
    passes = PassSequence(stages, stages, micro_batches, Schedule.ZERO_BUBBLE)
    for stage in range(stages):
        kept, before_backward = in_flight(stage, passes)
        assert kept == min(stages, micro_batches)
        assert before_backward == min(stages - stage, micro_batches)


def test_zero_bubble_of_two_stages_and_three_micro_batches():
    passes = PassSequence(2, 2, 3, Schedule.ZERO_BUBBLE)
    f, b, w = passes.forward, passes.backward, passes.weights
    first = [f(0, 0), f(0, 1), b(0, 0), w(0, 0), f(0, 2), b(0, 1), w(0, 1), b(0, 2), w(0, 2)]
    last = [f(1, 0), b(1, 0), f(1, 1), b(1, 1), w(1, 0), f(1, 2), b(1, 2), w(1, 1), w(1, 2)]
    assert [order(0, passes), order(1, passes)] == [first, last]


def test_gpipe_goes_back_from_the_last_micro_batch_to_the_first():
    passes = PassSequence(2, 2, 3, Schedule.GPIPE)
    f, b = passes.forward, passes.backward
    assert order(0, passes) == [f(0, 0), f(0, 1), f(0, 2), b(0, 2), b(0, 1), b(0, 0)]


@pytest.mark.parametrize("schedule", [Schedule.GPIPE, Schedule.ZERO_BUBBLE])
def test_only_1f1b_interleaves(schedule):
    times = step_times(*[stage_times(1, 2)] * 2, micro_batches=4, interleaving=2, schedule=schedule)
    with pytest.raises(InputError, match=f"Only the schedule one_f_one_b.*{schedule.name.lower()}"):
        passes_of(times)
