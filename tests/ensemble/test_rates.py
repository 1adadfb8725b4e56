"""Rates of members on many devices: FLEET's formula, by hand."""

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.ensemble.costs import extrapolated, profile_counts, rates_on
from foretrain.measured.members import Member


def member(*rates, name="a"):
    return Member(name=name, batch=32, epochs=1, rates=rates)


def test_rates_are_measured_until_the_slowest_can_keep_up_with_the_quickest():
    assert profile_counts([member(176.0), member(21.0, name="b")], 4) == range(1, 10)
    assert profile_counts([member(100.0), member(50.0, name="b")], 4) == range(1, 9)
    assert profile_counts([member(100.0)], 1) == range(1, 3)


def test_beyond_the_base_every_device_lowers_what_each_does_by_one_factor():
    # Each of 2 devices does 9/10 of one alone, so each of 3 does 81/100 and each of 4 729/1000.
    assert extrapolated([100.0, 180.0], 3, base=2) == pytest.approx(243.0, rel=1e-15)
    assert extrapolated([100.0, 180.0], 4, base=2) == pytest.approx(291.6, rel=1e-15)
    # Nodes of 2: Mb = 4, r(4)/4 = 80, r(3)/3 = 100, so r(6) = 6 * 80 * 0.8^2.
    assert extrapolated([90.0, 190.0, 300.0, 320.0], 6, base=4) == pytest.approx(307.2, rel=1e-15)


@given(rates=st.lists(st.floats(1.0, 1e3), min_size=2, max_size=12), further=st.integers(1, 20))
def test_the_formula_is_that_of_the_paper(rates, further):
    m_b, m = len(rates), len(rates) + further
    r = dict(enumerate(rates, start=1))
    paper = m * (r[m_b] / m_b) * ((r[m_b] / r[m_b - 1]) * ((m_b - 1) / m_b)) ** (m - m_b)
    assert isclose(extrapolated(rates, m, base=m_b), paper, rel_tol=1e-12)


@given(rate=st.floats(1.0, 1e3), devices=st.integers(3, 100))
def test_a_member_that_scales_perfectly_goes_on_to_do_so(rate, devices):
    assert isclose(extrapolated([rate, 2 * rate], devices, base=2), devices * rate, rel_tol=1e-12)


def test_measured_rates_are_kept_and_the_formula_takes_over_after_them():
    three = member(100.0, 180.0, 200.0)
    assert rates_on(three, 4, devices_per_node=1) == (
        100.0, 180.0, 200.0, pytest.approx(291.6),  # from the base of 2, not from the last
    )  # fmt: skip


def test_a_member_that_was_measured_on_too_few_devices_runs_on_no_more():
    assert rates_on(member(100.0, 180.0), 8, devices_per_node=2) == (100.0, 180.0)
    assert rates_on(member(100.0, 180.0), 1, devices_per_node=2) == (100.0,)
