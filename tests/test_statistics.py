"""Order statistics: laws, tables of other people, and direct simulation."""

from random import Random
from statistics import NormalDist, fmean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from foretrain.errors import InputError
from foretrain.statistics import (
    batch_means,
    exponential_order,
    harmonic,
    largest_normal,
    mean_interval,
    order_weights,
    paired,
    student_interval,
    student_quantile,
)
from tests.examples import few

COUNTS = st.integers(1, 100_000)
TIMES = st.floats(1e-3, 1e3)


@few(30)
@given(count=COUNTS, mean=TIMES)
def test_slowest_is_at_least_the_mean_and_grows_with_the_number(count, mean):
    fewer, more = (
        largest_normal(each, mean=mean, deviation=0.2 * mean) for each in (count, 2 * count)
    )
    assert mean * (1 - 1e-12) <= fewer < more


def test_slowest_of_one_is_the_mean():
    assert largest_normal(1, mean=1.0, deviation=0.2) == pytest.approx(1.0, rel=1e-12)


@given(count=COUNTS, factor=TIMES)
def test_times_that_are_longer_by_a_factor_have_a_slowest_longer_by_it(count, factor):
    longer = largest_normal(count, mean=factor, deviation=0.2 * factor)
    assert longer == pytest.approx(
        factor * largest_normal(count, mean=1.0, deviation=0.2), rel=1e-9
    )


@pytest.mark.parametrize(
    ("count", "deviations"),
    [(2, 0.56419), (3, 0.84628), (5, 1.16296), (10, 1.53875), (100, 2.50759), (1000, 3.24144)],
)
def test_slowest_of_normal_times_stands_in_the_tables(count, deviations):
    """Tippett 1925 and Harter 1961, expected values of normal order statistics."""
    assert largest_normal(count, mean=0.0, deviation=1.0) == pytest.approx(deviations, abs=1e-5)


@pytest.mark.parametrize("count", [10, 100, 1000, 100_000])
def test_slowest_of_normal_times_is_near_bloms_formula(count):
    """Blom 1958: the quantile at (n - 3/8) / (n + 1/4)."""
    blom = NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
    assert largest_normal(count, mean=0.0, deviation=1.0) == pytest.approx(blom, rel=0.01)


def test_harmonic_numbers_are_their_sums_on_both_sides_of_the_series():
    for count in (1, 2, 100, 101, 5000):
        assert harmonic(count) == pytest.approx(sum(1 / n for n in range(1, count + 1)), rel=1e-12)


def test_harmonic_numbers_of_a_column_are_those_of_its_rows():
    counts = np.array([1.0, 2.0, 7.0, 4000.0])
    assert harmonic(counts).tolist() == [harmonic(count) for count in counts.tolist()]
    with pytest.raises(InputError, match=r"0\.0 values"):
        harmonic(np.array([3.0, 0.0]))


@few(30)
@given(count=st.integers(1, 2000), data=st.data())
def test_exponential_values_by_integration_are_sums_of_gaps(count, data):
    rank = data.draw(st.integers(1, count))
    sums, (points, weights) = exponential_order(rank, count), order_weights(rank, count)
    mean = float(weights @ points)
    assert mean == pytest.approx(sums.mean, rel=1e-11)
    assert float(weights @ (points - mean) ** 2) == pytest.approx(sums.variance, rel=1e-10)


def test_largest_exponential_value_is_a_harmonic_number():
    for count in (1, 2, 100, 5000):
        assert exponential_order(count, count).mean == pytest.approx(harmonic(count), rel=1e-12)


def test_interval_holds_the_mean_about_as_often_as_it_says():
    random = Random(5)
    draws = [[random.gauss(2.0, 1.0) for _ in range(50)] for _ in range(400)]
    holding = [low <= 2.0 <= high for low, high in (mean_interval(values) for values in draws)]
    assert 0.92 <= fmean(holding) <= 0.98


def test_what_has_no_answer_is_refused():
    with pytest.raises(InputError, match="0 values"):
        harmonic(0)
    with pytest.raises(InputError, match="0 values"):
        largest_normal(0, mean=1.0, deviation=0.1)
    for rank in (0, 4):
        with pytest.raises(InputError, match=f"rank must lie from 1 to 3.* got {rank}"):
            exponential_order(rank, 3)
    with pytest.raises(InputError, match="at least two values"):
        mean_interval([1.0])


@given(freedom=st.integers(1, 60), confidence=st.floats(0.01, 0.9999))
def test_quantiles_of_students_law_are_those_of_scipy(freedom, confidence):
    expected = stats.t.ppf(0.5 + 0.5 * confidence, freedom)
    assert student_quantile(confidence, freedom=freedom) == pytest.approx(expected, rel=1e-9)


def test_interval_of_ten_values_is_wider_than_for_many():
    values = [Random(seed).gauss(0.0, 1.0) for seed in range(10)]
    low, high = student_interval(values)
    narrow_low, narrow_high = mean_interval(values)
    assert (high - low) / (narrow_high - narrow_low) == pytest.approx(2.262157 / 1.959964, rel=1e-6)


def test_batches_leave_out_the_warm_up_and_what_does_not_fill_them():
    assert batch_means([9.0, 9.0, 1.0, 3.0, 5.0, 7.0], batches=2, skip=0.3) == [2.0, 6.0]


def test_too_few_values_for_the_batches_are_refused():
    with pytest.raises(InputError, match="do not fill"):
        batch_means([1.0, 2.0], batches=3)


def test_students_sleep_data_give_his_chance():
    """Two sleeping drugs on ten patients, student1908: t = 4.06, two-sided p = 0.0028."""
    first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    result = paired(first, second)
    assert result.difference == pytest.approx(1.58)
    assert result.chance == pytest.approx(0.002833, rel=1e-3)
    assert (result.low, result.high) == pytest.approx((0.70, 2.46), abs=0.01)


def test_what_is_the_same_on_every_case_does_not_differ():
    assert paired([1.0, 2.0], [1.0, 2.0]) == (0.0, 0.0, 0.0, 1.0)
