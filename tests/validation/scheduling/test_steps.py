"""Measured steps: on lines between their rows."""

import pytest
from tests.validation.scheduling.profiles import SMALL, step
from validation.scheduling.steps import MeasuredSteps, turned

from foretrain.errors import InputError


def test_a_measured_placement_is_read_off_its_own_rows():
    assert MeasuredSteps(SMALL).times((2, 2), 3) == pytest.approx((step(2, 4, 3), 0.25))


def test_an_unmeasured_one_lies_among_all_rows():
    assert MeasuredSteps(SMALL).times((2, 2, 1), 2)[0] == pytest.approx(step(3, 5, 2))


def test_a_ring_of_nodes_has_no_beginning():
    assert turned((4, 1, 2)) == (1, 2, 4)
    assert turned(()) == ()


def test_what_was_never_measured_is_refused():
    with pytest.raises(InputError, match="small was not measured around 5 samples"):
        MeasuredSteps(SMALL).times((2,), 5)
    with pytest.raises(InputError, match="each of 9 devices on 5 nodes"):
        MeasuredSteps(SMALL).times((2, 2, 2, 2, 1), 2)
