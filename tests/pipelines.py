"""Pipelines for the tests of both resolutions of a step."""

from hypothesis import strategies as st

from foretrain.cost.timeline import StageTimes, StepTimes
from foretrain.plan.plan import Sends

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
    return stage_times(
        draw(positive),
        draw(positive),
        gradients=draw(seconds),
        buckets=chunks * draw(st.integers(1, 12)),
        update=draw(seconds),
        parameters=draw(seconds),
    )


@st.composite
def steps(draw, *, equal=False):
    """Any pipeline of up to six stages; `equal` makes all stages the same."""
    degree = draw(st.integers(1, 6))
    interleaving = draw(st.integers(1, 3)) if degree > 1 else 1
    groups = degree if interleaving > 1 else 1
    one = draw(stages(chunks=interleaving))
    return step_times(
        *([one] * degree if equal else [draw(stages(chunks=interleaving)) for _ in range(degree)]),
        micro_batches=groups * draw(st.integers(1, 6)),
        interleaving=interleaving,
        send=draw(st.floats(0, 1)) * min(one.forward, one.backward) / interleaving,
        sends=draw(st.sampled_from(Sends)),
        overlap=draw(st.floats(0, 1)),
    )
