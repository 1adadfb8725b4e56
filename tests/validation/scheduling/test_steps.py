"""Steps: the model by hand and by its laws, measurements on lines between their rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.validation.scheduling.profiles import SMALL, step
from validation.scheduling.steps import MeasuredSteps, StepModel, turned

from foretrain.errors import InputError

MODEL = StepModel(
    compute=0.1, sample=0.01, near=0.2, near_more=0.05, far=0.4, far_more=0.1, overlap=1.0
)


def test_a_single_device_exchanges_nothing():
    assert MODEL.times((1,), 10) == pytest.approx((0.2, 0.0))


def test_without_overlap_computing_and_exchanging_add_up():
    assert MODEL.times((4,), 10) == pytest.approx((0.2 + 0.3, 0.3))
    assert MODEL.times((2, 2), 10) == pytest.approx((0.2 + 0.6, 0.6))


def test_with_much_overlap_the_longer_one_is_what_takes_time():
    hidden = StepModel(
        compute=0.1, sample=0.01, near=0.2, near_more=0.0, far=0.4, far_more=0.0, overlap=64.0
    )
    assert hidden.times((1, 1), 10)[0] == pytest.approx(0.4, rel=1e-6)


@given(factor=st.floats(0.01, 100.0), devices=st.integers(1, 16), batch=st.integers(1, 100))
def test_all_rates_times_a_factor_divide_every_time(factor, devices, batch):
    quick = StepModel(
        compute=0.1 / factor,
        sample=0.01 / factor,
        near=0.2 / factor,
        near_more=0.05 / factor,
        far=0.4 / factor,
        far_more=0.1 / factor,
        overlap=1.0,
    )
    assert quick.times((devices,), batch)[0] * factor == pytest.approx(
        MODEL.times((devices,), batch)[0]
    )


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
