"""Laws of service times: moments, and shares of the jobs up to a size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from validation.scheduling.sized import Exponentials, exponential, hyperexponential

from foretrain.errors import InputError

variations = st.floats(1.0, 100.0)


@given(mean=st.floats(1e-3, 1e6), variation=variations)
def test_a_mixture_has_the_mean_and_variation_that_were_asked_for(mean, variation):
    law = hyperexponential(mean, variation=variation)
    assert law.mean == pytest.approx(mean, rel=1e-9)
    assert law.square == pytest.approx((1.0 + variation) * mean * mean, rel=1e-9)


@given(variation=variations, size=st.floats(0.0, 50.0))
def test_jobs_below_a_size_and_above_it_are_all_jobs(variation, size):
    law = hyperexponential(1.0, variation=variation)
    steps = np.linspace(0.0, size, 4001)
    below = float(np.trapezoid(law.density(steps), steps))
    assert below + float(law.above(np.array(size))) == pytest.approx(1.0, abs=1e-2)


def test_moments_up_to_a_size_are_integrals_of_the_density():
    law = hyperexponential(2.0, variation=5.0)
    steps = np.linspace(0.0, 3.0, 200_001)
    for power, moment in ((1, law.mean_up_to), (2, law.square_up_to)):
        integral = np.trapezoid(steps**power * law.density(steps), steps)
        assert float(moment(np.array(3.0))) == pytest.approx(float(integral), rel=1e-8)


def test_without_variation_beyond_its_own_a_mixture_is_exponential():
    law, plain = hyperexponential(3.0, variation=1.0), exponential(3.0)
    size = np.array([0.1, 1.0, 10.0])
    np.testing.assert_allclose(law.above(size), plain.above(size), rtol=1e-12)


@pytest.mark.parametrize(
    ("shares", "means"), [((0.5, 0.6), (1.0, 1.0)), ((1.0,), (0.0,)), ((1.0,), ()), ((), ())]
)
def test_a_mixture_that_cannot_be_is_refused(shares, means):
    with pytest.raises(InputError):
        Exponentials(shares=shares, means=means)
