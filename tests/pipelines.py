"""Pipelines for the tests of both resolutions of a step."""

from hypothesis import strategies as st

from foretrain.plan.plan import Schedule, Sends
from foretrain.step.simulated_passes import StageTimes, StepTimes
from tests.examples import among

seconds = st.floats(min_value=0, max_value=100)
positive = st.floats(min_value=1e-3, max_value=100)


def stage_times(forward, backward, **others):
    rest = {"gradients": 0.0, "buckets": 1, "update": 0.0, "parameters": 0.0}
    return StageTimes(forward=forward, backward=backward, **(rest | others))


def step_times(*stages, micro_batches, **others):
    rest = {
        "interleaving": 1,
        "send": 0.0,
        "sends": Sends.OVERLAPPED,
        "overlap": 1.0,
    }
    return StepTimes(stages=stages, micro_batches=micro_batches, **(rest | others))


@st.composite
def stages(draw, *, chunks=1):
    backward = draw(positive)
    return stage_times(
        draw(positive),
        backward,
        weights=draw(st.floats(0, 0.75)) * backward,
        gradients=draw(seconds),
        buckets=chunks * draw(st.integers(1, 12)),
        update=draw(seconds),
        parameters=draw(seconds),
    )


@st.composite
def steps(draw, *, equal=False, schedules=tuple(Schedule)):
    """Any pipeline of up to six stages; `equal` makes all stages the same."""
    degree = draw(st.integers(1, 6))
    schedule = draw(among(schedules))
    interleaves = degree > 1 and schedule is Schedule.ONE_F_ONE_B
    interleaving = draw(st.integers(1, 3)) if interleaves else 1
    groups = degree if interleaving > 1 else 1
    one = draw(stages(chunks=interleaving))
    shorter = min(one.forward, one.backward - one.weights)
    return step_times(
        *([one] * degree if equal else [draw(stages(chunks=interleaving)) for _ in range(degree)]),
        micro_batches=groups * draw(st.integers(1, 6)),
        interleaving=interleaving,
        send=draw(st.floats(0, 1)) * shorter / interleaving,
        sends=draw(among(Sends)),
        overlap=draw(st.floats(0, 1)),
        schedule=schedule,
    )
