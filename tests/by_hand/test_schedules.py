"""What stages wait for, by hand: every schedule, in the closed form and played pass by pass."""

from dataclasses import replace

import pytest

from foretrain.plan.plan import Schedule, Sends
from foretrain.step.simulated_step import simulate
from foretrain.step.timeline import StageTimes, StepTimes, closed_step

# A forward pass of 2 s and a backward pass of 5 s, of which gradients of weights take 2; three
# stages, six micro-batches. Then gradients in 8 s, half of them beside the last backward pass, in
# two parts; 3 s of update, 1 s of gathering.
PASSES = StageTimes(
    forward=2.0, backward=5.0, gradients=8.0, buckets=2, update=3.0, parameters=1.0, weights=2.0
)
COMPUTE = 6 * (2 + 5)


def step(schedule=Schedule.ONE_F_ONE_B, *, stages=3, send=0.0, interleaving=1, **others):
    return StepTimes(
        stages=(PASSES,) * stages,
        micro_batches=6,
        interleaving=interleaving,
        send=send,
        sends=others.pop("sends", Sends.OVERLAPPED),
        overlap=others.pop("overlap", 0.5),
        schedule=schedule,
    )


BUBBLES = {
    # narayanan2021, section 2.2.1: (p - 1) (f + b).
    (Schedule.ONE_F_ONE_B, 1): 2 * (2 + 5),
    # Section 2.2.2: a v-th of it.
    (Schedule.ONE_F_ONE_B, 2): 2 * (2 + 5) / 2,
    # huang2019, section 2.3: the same as 1F1B.
    (Schedule.GPIPE, 1): 2 * (2 + 5),
    # qi2023, table 1: (p - 1) (f + b - 2 w), b being gradients of inputs and of weights.
    (Schedule.ZERO_BUBBLE, 1): 2 * (2 + 5 - 2 * 2),
}


def test_every_schedule_is_written_out():
    assert {schedule for schedule, _ in BUBBLES} == set(Schedule)


@pytest.mark.parametrize(("schedule", "interleaving"), BUBBLES)
def test_stages_wait_for_what_is_written(schedule, interleaving):
    times = step(schedule, interleaving=interleaving)
    bubble = BUBBLES[schedule, interleaving]
    assert closed_step(times).bubble == pytest.approx(bubble)
    assert simulate(times).stages[0].bubble == pytest.approx(bubble)


@pytest.mark.parametrize(
    ("schedule", "hidden"),
    # The first of two parts is ready half way through the last backward pass, 2.5 s before its end
    # (gradients of weights: 1 s), and takes 2 s; so does the other.
    [(Schedule.ONE_F_ONE_B, 2.0), (Schedule.GPIPE, 2.0), (Schedule.ZERO_BUBBLE, 1.0)],
)
def test_step_ends_with_what_is_left_of_gradients_update_and_gathering(schedule, hidden):
    times = step(schedule)
    tail = 8 - hidden + 3 + 1
    seconds = COMPUTE + BUBBLES[schedule, 1] + tail
    assert closed_step(times).seconds == pytest.approx(seconds)
    assert simulate(times).seconds == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("schedule", "sends"),
    [
        # Down with the first and up with the last, 4 hops, and twice a round trip for each further
        # three micro-batches: 2 x 2 hops of each of 5, but for 2 of each trip.
        (Schedule.ONE_F_ONE_B, 2 * (2 + 5 - 2)),
        # Down once, up once.
        (Schedule.GPIPE, 2 * 2),
    ],
)
def test_sends_that_nothing_hides_are_hops_of_the_longest_path(schedule, sends):
    times = step(schedule, send=0.5)
    assert closed_step(times).sends == pytest.approx(0.5 * sends)
    assert simulate(times).stages[0].pipeline == pytest.approx(0.5 * sends)


def test_send_that_blocks_holds_its_stage_until_it_has_arrived():
    # narayanan2021, section 2.2, three micro-batches, a send of half a second:
    #   stage 0   F -2, send -2.5, F -4.5, send -5    B 10-15  F -17, send -17.5, B -22.5, B 25-30
    #   stage 1   F 2.5-4.5, B -9.5, send -10, F -12, B -17, send -17.5, F -19.5, B -24.5, send -25
    alone = replace(PASSES, gradients=0.0, update=0.0, parameters=0.0)
    times = replace(step(send=0.5, sends=Sends.BLOCKING), stages=(alone, alone), micro_batches=3)
    assert simulate(times).seconds == pytest.approx(30)
    # The closed form counts the last message down to the last stage once more.
    assert closed_step(times).seconds == pytest.approx(30 + 0.5)


def test_one_stage_waits_for_nobody():
    for schedule in (Schedule.ONE_F_ONE_B, Schedule.GPIPE):
        found = closed_step(step(schedule, stages=1))
        assert (found.bubble, found.sends) == (0, 0)
        assert found.seconds == pytest.approx(COMPUTE + 8 - 2 + 3 + 1)
