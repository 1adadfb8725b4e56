"""Profiles: what they add up to, and what none can say."""

from dataclasses import replace
from math import inf, nan

import pytest
from tests.recorded_steps import FORWARD, PROFILE, PULL, STEP

from foretrain.errors import InputError
from foretrain.measured.scale_study import RecordedStep, StepResource


def test_a_step_lasts_from_its_first_start_to_its_last_end():
    assert STEP.seconds == 4.0 - 0.5
    assert STEP.taken(StepResource.COMPUTE) == 2.5
    assert STEP.carried(StepResource.DOWNLINK) == 8.0
    assert STEP.carried(StepResource.UPLINK) == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": -1.0}, r"start must be from 0 to 1e\+30 s, got -1.0 for 'forward'"),
        ({"start": nan}, r"start must be from 0 to 1e\+30 s"),
        ({"end": 1.0}, r"end must be from its start, 1.5 s, to 1e\+30 s, got 1.0"),
        ({"end": inf}, "end must be from its start"),
        ({"size": -1.0}, r"size must be from 0 to 1e\+30 B, got -1.0"),
        ({"size": 1.0}, "size must be 0 B but on downlink and uplink, got 1 for 'forward'"),
    ],
)
def test_an_operation_that_cannot_have_been_is_refused(change, message):
    with pytest.raises(InputError, match=f"RecordedOperation.{message}"):
        replace(FORWARD, **change)


@pytest.mark.parametrize(
    ("operations", "message"),
    [
        ((), "needs at least one operation"),
        ((PULL, PULL), "must each have a name of its own: 'pull' is there twice"),
        ((FORWARD,), "hold 'forward', which waits for 'pull': that is not recorded"),
        (
            (replace(PULL, after=("forward",)), FORWARD),
            "must not wait for one another: (pull before forward|forward before pull)",
        ),
    ],
)
def test_a_step_with_a_gap_or_a_circle_is_refused(operations, message):
    with pytest.raises(InputError, match=f"RecordedStep.operations {message}"):
        RecordedStep(number=0, operations=operations)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": 0}, "nodes must be 1 or 2, got 0"),
        ({"samples": 0.0}, r"samples must be above 0, at most 1e\+30, got 0.0"),
        ({"link": 0.0}, r"link must be above 0 B/s, at most 1e\+30, got 0.0"),
        ({"link": None}, "link is the bytes per second between two nodes"),
        ({"nodes": 1}, "link is the bytes per second between two nodes"),
        ({"latency": -1.0}, r"latency must be from 0 to 1e\+30 s, got -1.0"),
        ({"steps": ()}, "steps needs at least one step"),
        (
            {"steps": (STEP, replace(STEP, number=5))},
            "steps goes from step 3 to step 5: each must follow the one before",
        ),
    ],
)
def test_a_profile_with_a_hole_or_of_nothing_is_refused(change, message):
    with pytest.raises(InputError, match=f"Profile.{message}"):
        replace(PROFILE, **change)
