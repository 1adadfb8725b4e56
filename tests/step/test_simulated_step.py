from dataclasses import asdict, astuple, replace
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from tests.pipelines import stage_times, step_times, steps

from foretrain.plan.plan import Schedule, Sends
from foretrain.step.simulated_step import DeviceStream, simulate, timeline
from foretrain.step.timeline import StageTimes


@given(times=steps())
def test_parts_of_every_stage_add_up_to_the_step(times):
    step = simulate(times)
    for stage in step.stages:
        assert sum(astuple(stage)) == pytest.approx(step.seconds, rel=1e-9, abs=1e-9)


@given(times=steps())
def test_no_stage_waits_a_negative_time(times):
    step = simulate(times)
    assert min(stage.bubble for stage in step.stages) >= -1e-9 * step.seconds


def twice(stage):
    seconds = {name: 2 * value for name, value in asdict(stage).items()}
    return StageTimes(**(seconds | {"buckets": stage.buckets}))


@given(times=steps())
def test_twice_the_seconds_of_everything_make_twice_the_step(times):
    doubled = replace(times, stages=tuple(map(twice, times.stages)), send=2 * times.send)
    assert simulate(doubled).seconds == 2 * simulate(times).seconds


@given(times=steps())
def test_more_micro_batches_never_take_less_time(times):
    more = replace(times, micro_batches=times.micro_batches + len(times.stages))
    assert simulate(more).seconds >= simulate(times).seconds * (1 - 1e-12)


@given(times=steps(equal=True, schedules=[Schedule.ONE_F_ONE_B, Schedule.GPIPE]))
def test_without_sends_equal_stages_wait_as_long_as_the_textbook_says(times):
    step = simulate(replace(times, send=0.0))
    one = times.stages[0]
    bubble = (len(times.stages) - 1) * (one.forward + one.backward) / times.interleaving
    assert step.stages[0].bubble == pytest.approx(bubble, abs=1e-9 * step.seconds)
    assert step.stages[0].pipeline == 0


@given(times=steps())
def test_a_stream_does_one_thing_at_a_time_and_compute_is_conserved(times):
    # What takes no time may stand anywhere, to rounding.
    intervals = [interval for interval in timeline(times) if interval.end > interval.start]
    by_stream = sorted(intervals, key=lambda i: (i.stage, i.stream, i.start, i.end))
    for (stage, stream), group in groupby(by_stream, key=lambda i: (i.stage, i.stream)):
        own = list(group)
        assert all(a.end <= b.start + 1e-9 * b.end for a, b in pairwise(own))
        if stream is DeviceStream.COMPUTE:
            work = times.stages[stage]
            passes = times.micro_batches * (work.forward + work.backward)
            assert sum(i.end - i.start for i in own) == pytest.approx(passes + work.update)


@given(times=steps())
def test_every_inner_chunk_boundary_is_crossed_twice_by_every_micro_batch(times):
    sends = [i for i in timeline(times) if i.stream is DeviceStream.SEND]
    crossings = len(times.stages) * times.interleaving - 1
    moved = times.send > 0 and len(times.stages) > 1
    assert len(sends) == (2 * crossings * times.micro_batches if moved else 0)


def test_one_stage_computes_reduces_updates_and_gathers():
    stage = stage_times(1, 2, gradients=4, buckets=4, update=0.5, parameters=0.25)
    step = simulate(step_times(stage, micro_batches=4))
    # The buckets are ready at 10.5, 11, 11.5 and 12 s and take a second each: done at 14.5 s.
    assert step.seconds == 12 + 2.5 + 0.5 + 0.25
    assert astuple(step.stages[0]) == (4, 8, 0, 0, 2.5, 0.5, 0.25)


def test_the_share_that_does_not_overlap_follows_the_last_backward_pass():
    stage = stage_times(1, 2, gradients=4, buckets=4)
    assert simulate(step_times(stage, micro_batches=4, overlap=0.5)).seconds == 12 + 0.5 + 2


def test_what_does_not_overlap_is_a_bucket_that_follows_the_last_backward_pass():
    times = step_times(stage_times(1, 2, gradients=4, buckets=2), micro_batches=4, overlap=0.5)
    data = [
        (i.start, i.end)
        for i in timeline(times)
        if i.stream is DeviceStream.DATA and i.end > i.start
    ]
    # Buckets of a second each are ready at 11 and 12 s; the rest leaves behind them.
    assert data == [(11, 12), (12, 13), (13, 15)]


def test_two_stages_and_three_micro_batches():
    stages = [stage_times(1, 2)] * 2
    assert simulate(step_times(*stages, micro_batches=3)).seconds == 12
    step = simulate(step_times(*stages, micro_batches=3, send=0.5))
    # The first stage starts its backward passes at 5, 8 and 12 s.
    assert step.seconds == 14
    assert (step.stages[0].bubble, step.stages[0].pipeline) == (3, 2)


def test_two_stages_that_stand_still_while_they_send():
    stages = [stage_times(1, 2)] * 2
    times = step_times(*stages, micro_batches=2, send=0.5, sends=Sends.BLOCKING)
    # The second stage works from 1.5 to 4.5 s, sends until 5 s, and works again until 8 s.
    assert simulate(times).seconds == 10.5


def test_four_stages_and_eight_micro_batches_wait_three_turns():
    step = simulate(step_times(*[stage_times(1, 2)] * 4, micro_batches=8))
    assert step.seconds == 33
    assert [stage.bubble for stage in step.stages] == [9, 9, 9, 9]


def test_two_stages_of_two_chunks_wait_half_a_turn():
    stages = [stage_times(2, 4)] * 2
    times = step_times(*stages, micro_batches=4, interleaving=2)
    assert simulate(times).seconds == 24 + 3
    # Three hops to fill the pipeline and three to drain it; the rest hides behind other chunks.
    assert simulate(replace(times, send=0.25)).seconds == 24 + 3 + 6 * 0.25


def test_forward_and_backward_sends_of_a_stage_share_its_link():
    times = step_times(*[stage_times(1, 1)] * 3, micro_batches=8, send=2)
    inner = [i for i in timeline(times) if i.stage == 1 and i.stream is DeviceStream.SEND]
    assert max(i.end for i in inner) - min(i.start for i in inner) >= 16 * 2
