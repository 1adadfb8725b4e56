"""Confidence: intervals of a mean that is never below 0, held against queueing theory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.jobs.summary import LEAST, PARTS, independent, of_one_run, of_runs
from foretrain.statistics import batch_means, student_interval

POSITIVE = st.floats(1e-6, 1e9)


def test_two_runs_tell_no_interval():
    assert of_runs([1.0, 9.0]) is None
    assert of_runs([1.0, 9.0, 4.0]) is not None


@given(means=st.lists(POSITIVE, min_size=3, max_size=12))
def test_an_interval_of_runs_lies_above_0_around_their_mean(means):
    low, high = of_runs(means)
    assert 0 < low <= np.mean(means) * (1 + 1e-12)
    assert high >= np.mean(means) * (1 - 1e-12)


LONG = st.lists(POSITIVE, min_size=2 * PARTS, max_size=2 * PARTS + 15)


@given(values=LONG)
def test_an_interval_of_one_run_lies_above_0_around_the_mean_of_all_its_values(values):
    found = of_one_run(values)
    if found is not None:
        assert found[0] > 0
        assert found[0] * found[1] == pytest.approx(np.mean(values) ** 2)


@given(values=LONG, factor=st.sampled_from([0.25, 1024.0]))
def test_another_unit_of_time_changes_no_interval(values, factor):
    once, again = of_one_run(values), of_one_run([factor * value for value in values])
    assert (once is None) == (again is None)
    if once is not None:
        assert again == pytest.approx([factor * end for end in once])


def test_means_that_are_close_have_the_interval_of_student():
    values = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2]
    assert of_runs(values) == pytest.approx(student_interval(values), rel=1e-4)


def test_one_mean_tells_nothing_of_chance_and_neither_does_a_short_run():
    assert of_runs([3.0]) is None
    assert of_one_run([float(place % 3 + 1) for place in range(2 * PARTS - 1)]) is None


def test_a_run_that_only_rises_is_too_short_to_tell():
    rising = [1.0 + 0.1 * place for place in range(100)]
    assert independent(rising) < LEAST
    assert of_one_run(rising) is None


def test_equal_values_leave_nothing_open():
    assert independent([2.0] * 20) == 20.0
    assert of_one_run([2.0] * 50) == (2.0, 2.0)


def test_the_interval_is_that_of_the_mean_of_all_values_also_of_the_very_first():
    random = np.random.default_rng(3)
    values = [1e4, *random.exponential(1.0, 2_000 + 18)]
    low, high = of_one_run(values)
    assert low < np.mean(values) < high


@pytest.mark.parametrize("depends", [0.0, 0.3, 0.6])
def test_as_many_values_are_independent_as_tell_as_much(depends):
    """A series of which each value keeps a share of the one before: the exact variance."""
    random, count = np.random.default_rng(4), 400
    values = random.standard_normal(count)
    for place in range(1, count):
        values[place] += depends * values[place - 1]
    expected = count * (1 - depends) / (1 + depends)
    assert independent(list(values)) == pytest.approx(expected, rel=0.2)


def single_server(load, *, jobs, runs):
    """Responses of an M/M/1 queue, whose jobs take 1 s on average: Lindley's recursion."""
    random = np.random.default_rng(18)
    takes = random.exponential(1.0, (runs, jobs))
    gaps = random.exponential(1.0 / load, (runs, jobs))
    waits = np.zeros((runs, jobs))
    for job in range(1, jobs):
        waits[:, job] = np.maximum(0.0, waits[:, job - 1] + takes[:, job - 1] - gaps[:, job])
    return waits + takes


def held_by(intervals, theory):
    """How often an interval holds what theory says."""
    return np.mean([low <= theory <= high for low, high in intervals])


def test_an_interval_of_one_run_holds_the_mean_as_often_as_it_says():
    found = [of_one_run(list(run)) for run in single_server(0.6, jobs=6_000, runs=500)]
    assert None not in found
    assert 0.92 <= held_by(found, 1.0 / (1.0 - 0.6)) <= 0.98


def test_parts_of_a_run_are_not_taken_for_independent():
    """At load 0.9 and 2,000 jobs: 4 times in 5, where Student's holds the mean 3 times."""
    runs = [list(run) for run in single_server(0.9, jobs=2_000, runs=500)]
    found = [ends for ends in map(of_one_run, runs) if ends is not None]
    plain = [student_interval(batch_means(run, batches=PARTS)) for run in runs]
    theory = 1.0 / (1.0 - 0.9)
    assert len(found) > 0.7 * len(runs)
    assert held_by(found, theory) > held_by(plain, theory) + 0.12


def test_an_interval_of_few_runs_holds_the_mean_at_least_as_often_as_one_that_goes_below_0():
    theory = 1.0 / (1.0 - 0.8)
    means = single_server(0.8, jobs=1_000, runs=1_200).mean(axis=1).reshape(-1, 3)
    ours = [of_runs(list(some)) for some in means]
    plain = [student_interval(list(some)) for some in means]
    assert any(low < 0 for low, _ in plain)
    assert held_by(ours, theory) >= max(0.90, held_by(plain, theory))


def test_of_three_values_nobody_sees_whether_they_depend_and_of_four_that_only_rise_one_does():
    """kendall1954, by hand: 1.25 of 5 is shown of four, and (4 * 0.25 + 1) / (4 - 3) is all."""
    assert independent([1.0, 2.0, 3.0]) == 3.0
    assert independent([1.0, 2.0, 3.0, 4.0]) == 0.0
