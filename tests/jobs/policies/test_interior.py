"""Interior points: by hand, against a solver of linear programs, and by what makes a centre."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize_scalar
from tests import examples

from foretrain.jobs.policies.interior import centred, most_even


def test_in_the_middle_between_the_least_and_all_of_the_time():
    """With devices beyond number: the product of both slacks is largest half-way."""
    assert centred([0.2, 1.0], [1, 2], devices=1e12) == pytest.approx([0.6, 1.0])


def test_where_the_least_uses_all_devices_nothing_is_added():
    assert centred([0.5, 0.25], [2, 4], devices=2.0) == [0.5, 0.25]


def test_one_job_and_one_device_by_trying():
    """The product of more, 0.75 - more and 0.75 - more, for a job that must have a quarter."""
    best = minimize_scalar(
        lambda more: -np.log(more * (0.75 - more) ** 2), bounds=(0.01, 0.74), method="bounded"
    ).x
    assert centred([0.25], [1], devices=1.0) == pytest.approx([0.25 + best], rel=1e-4)


@examples.few(30)
@given(
    rows=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 8)), min_size=1, max_size=6),
    devices=st.floats(0.1, 40.0),
)
def test_centred_shares_lie_within_their_bounds(rows, devices):
    least, wide = [share for share, _ in rows], [each for _, each in rows]
    found = centred(least, wide, devices=devices)
    assert all(low <= share <= 1.0 + 1e-12 for low, share in zip(least, found, strict=True))
    taken = sum(low * each for low, each in zip(least, wide, strict=True))
    used = sum(share * each for share, each in zip(found, wide, strict=True))
    assert used <= max(taken, devices) * (1 + 1e-9)


def drawn(seed):
    """A program of a few jobs and kinds; some jobs cannot use some kinds, or nobody uses one."""
    draw = np.random.default_rng(seed)
    jobs, kinds = draw.integers(1, 30), draw.integers(1, 5)
    gain = draw.uniform(0.1, 5.0, (jobs, kinds)) * (draw.random((jobs, kinds)) > 0.3)
    gain[gain.sum(axis=1) == 0.0, 0] = 1.0
    return gain, draw.choice([1.0, 2.0, 4.0], jobs), draw.integers(4, 40, kinds).astype(float)


def best(gain, devices, capacity):
    """Largest least throughput, by a solver."""
    jobs, kinds = gain.shape
    rows = np.zeros((2 * jobs + kinds, jobs * kinds + 1))
    for job in range(jobs):
        own = slice(job * kinds, (job + 1) * kinds)
        rows[job, own], rows[job, -1] = -gain[job], 1.0
        rows[jobs + job, own] = 1.0
        rows[range(2 * jobs, 2 * jobs + kinds), range(own.start, own.stop)] = devices[job]
    limits = np.concatenate([np.zeros(jobs), np.ones(jobs), capacity])
    wanted = np.append(np.zeros(jobs * kinds), -1.0)
    return -linprog(wanted, A_ub=rows, b_ub=limits, method="highs").fun


@examples.few(30)
@given(seed=st.integers(0, 10_000))
def test_the_least_throughput_is_a_solvers_and_no_bound_is_broken(seed):
    gain, devices, capacity = drawn(seed)
    shares = most_even(gain, devices, capacity)
    least = float((gain * shares).sum(axis=1).min())
    assert least == pytest.approx(best(gain, devices, capacity), rel=1e-4)
    assert (shares[gain == 0.0] == 0.0).all()
    assert (shares[gain > 0.0] > 0.0).all()
    assert (shares.sum(axis=1) <= 1.0).all()
    assert (devices @ shares <= capacity).all()


def test_who_is_alike_has_the_same_shares():
    gain = np.array([[3.0, 1.0, 2.0]] * 3 + [[1.0, 1.0, 1.0]] * 2)
    shares = most_even(gain, np.ones(5), np.array([1.0, 2.0, 1.0]))
    assert shares[:3] == pytest.approx(np.tile(shares[0], (3, 1)), abs=1e-9)
    assert shares[3] == pytest.approx(shares[4], abs=1e-9)


def test_no_other_answer_has_a_larger_product_of_slacks():
    """Three jobs that all have their whole time: which kinds they have it on is open."""
    gain, devices = np.full((3, 2), 1.0), np.ones(3)
    capacity = np.array([2.0, 6.0])
    shares = most_even(gain, devices, capacity)

    def product(first):
        """Of shares on the first kind, the rest of the time on the second."""
        left = capacity - [3 * first, 3 * (1 - first)]
        return 3 * np.log(first) + 3 * np.log(1 - first) + np.log(left).sum()

    found = minimize_scalar(lambda x: -product(x), bounds=(0.01, 0.66), method="bounded").x
    assert shares[:, 0] == pytest.approx([found] * 3, abs=1e-3)


def test_a_kind_of_which_nothing_is_there_changes_nothing():
    gain = np.array([[2.0, 0.0], [1.0, 0.0]])
    shares = most_even(gain, np.ones(2), np.array([1.0, 0.0]))
    alone = most_even(gain[:, :1], np.ones(2), np.array([1.0]))
    assert shares[:, 1].tolist() == [0.0, 0.0]
    assert shares[:, 0] == pytest.approx(alone[:, 0], abs=1e-4)
