"""Room: the percentiles that are given come out, and more room never fits less."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.coefficients.memory import MemoryErrors
from foretrain.errors import InputError
from foretrain.step.memory import interval, probability

ERRORS = MemoryErrors(p02=-0.2, p10=-0.1, p50=0.02, p90=0.1, p98=0.3)
bytes_ = st.floats(1e9, 1e11)


@pytest.mark.parametrize(
    ("margin", "share"), [(-0.2, 0.02), (-0.1, 0.1), (0.02, 0.5), (0.1, 0.9), (0.3, 0.98)]
)
def test_percentiles_are_met(margin, share):
    assert probability(1e10, 1e10 * exp(margin), ERRORS) == pytest.approx(share, abs=1e-4)


def test_half_as_much_room_is_hopeless_and_twice_is_plenty():
    assert probability(2e10, 1e10, ERRORS) < 1e-6
    assert probability(1e10, 2e10, ERRORS) > 0.999


@few(50)
@given(total=bytes_, room=bytes_, more=st.floats(1.0, 2.0))
def test_more_room_never_fits_less(total, room, more):
    likely = probability(total, room, ERRORS)
    assert 0 <= likely <= probability(total, room * more, ERRORS) <= 1


@few(50)
@given(total=bytes_, room=bytes_, times=st.floats(0.01, 100.0))
def test_units_do_not_matter(total, room, times):
    scaled = probability(total * times, room * times, ERRORS)
    assert scaled == pytest.approx(probability(total, room, ERRORS), abs=1e-9)


def test_interval_holds_eight_of_ten_runs():
    low, high = interval(1e10, ERRORS)
    assert probability(1e10, low, ERRORS) == pytest.approx(0.1, abs=1e-4)
    assert probability(1e10, high, ERRORS) == pytest.approx(0.9, abs=1e-4)


def test_model_that_is_hardly_known_has_a_wider_interval():
    (low, high), (lower, higher) = (interval(1e10, ERRORS, spread=s) for s in (1.0, 2.0))
    assert lower < low < high < higher


def test_percentiles_that_do_not_grow_are_refused():
    with pytest.raises(InputError, match="percentiles must grow"):
        MemoryErrors(p02=0.0, p10=0.0, p50=0.1, p90=0.2, p98=0.3)
