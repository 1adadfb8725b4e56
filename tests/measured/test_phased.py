"""Jobs that change on the way."""

from math import inf

import pytest

from foretrain.errors import InputError
from foretrain.throughput import (
    JobPhase,
    Phased,
    rigid,
)

CURVE = Phased(
    (JobPhase(begins=0.0, curve=rigid(2)), JobPhase(begins=8.0, curve=rigid(2), scale=4.0))
)


def rate(done):
    return CURVE.rate(2, nodes=1, kind="", done=done)


def test_a_phase_begins_with_its_first_unit_of_work():
    assert [rate(done) for done in (0.0, 7.9, 8.0, 99.0)] == [1.0, 1.0, 4.0, 4.0]


def test_a_rate_changes_where_the_next_phase_begins():
    assert [CURVE.until(done) for done in (0.0, 7.9, 8.0)] == [8.0, 8.0, inf]


def test_it_runs_on_the_devices_of_its_first_phase():
    assert CURVE.counts == (2,)


@pytest.mark.parametrize("begins", [(), (1.0,), (0.0, 5.0, 5.0), (0.0, 5.0, 4.0)])
def test_phases_that_do_not_ascend_from_0_are_refused(begins):
    with pytest.raises(InputError, match="begin at 0 and ascend"):
        Phased(tuple(JobPhase(begins=each, curve=rigid(1)) for each in begins))


def test_a_step_that_counts_nothing_is_refused():
    with pytest.raises(InputError, match="scale must be above 0"):
        JobPhase(begins=0.0, curve=rigid(1), scale=0.0)
