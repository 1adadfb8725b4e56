"""The bottleneck is the stage behind a full queue and before an empty one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.ensemble.run.looks import SATURATED, Pressure, bottleneck
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import Stage

shares = st.floats(0.0, 1.0)


def stage_of(*, reading=0.0, decoding=0.0, storing=0.0, waiting=0.0, fill=0.5):
    pressure = Pressure(
        reading=reading, decoding=decoding, storing=storing, waiting=waiting, fill=fill
    )
    return bottleneck(pressure).stage


@pytest.mark.parametrize(
    ("stage", "seen"),
    [
        (Stage.READER, {"reading": 0.9, "decoding": 0.05, "waiting": 0.8, "fill": 0.0}),
        (Stage.DECODER, {"reading": 0.1, "decoding": 0.85, "waiting": 0.8, "fill": 0.0}),
        (Stage.TRANSPORT, {"storing": 0.9, "decoding": 0.05, "waiting": 0.8, "fill": 0.0}),
        (Stage.TRANSPORT, {"decoding": 0.1, "waiting": 0.9, "fill": 1.0}),
        (Stage.TRAINER, {"reading": 0.05, "decoding": 0.1, "waiting": 0.02, "fill": 1.0}),
    ],
)
def test_stage_that_works_while_the_others_wait_is_the_bottleneck(stage, seen):
    assert stage_of(**seen) is stage


def test_workers_and_members_that_wait_in_turn_blame_what_lies_between_them():
    assert stage_of(decoding=0.5, waiting=0.5) is Stage.TRANSPORT


def test_where_both_ends_are_busy_the_queue_between_them_tells():
    assert stage_of(decoding=0.95, waiting=0.1, fill=0.9) is Stage.TRAINER
    assert stage_of(decoding=0.95, waiting=0.1, fill=0.1) is Stage.DECODER


@given(shares, shares, shares)
def test_members_that_never_wait_are_the_bottleneck_unless_their_queue_is_empty(
    reading, decoding, fill
):
    stage = stage_of(reading=reading, decoding=decoding, fill=fill)
    if reading + decoding < SATURATED or fill >= 0.5:
        assert stage is Stage.TRAINER


@given(shares, shares, shares, shares, shares)
def test_finding_says_a_share_and_what_to_do(reading, decoding, storing, waiting, fill):
    found = bottleneck(
        Pressure(reading=reading, decoding=decoding, storing=storing, waiting=waiting, fill=fill)
    )
    assert 0 <= found.share <= 1
    assert found.remedy
    assert "of the slots are full" in found.evidence


def test_what_is_no_share_is_refused():
    with pytest.raises(InputError, match=r"Pressure\.waiting must be a share, got 1\.5"):
        stage_of(waiting=1.5)
