"""Optimus: marginal gains by hand, and against trying everything."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.policies.states import active, devices_of, state
from tests.jobs.runs import job, shared, trace

from foretrain.jobs.policies.gain import optimus
from foretrain.throughput import Point, PowerLaw, ThroughputCurve

LINEAR = PowerLaw(exponent=1.0, most=4)


def stepped(*points):
    """A curve through (devices, rate)."""
    made = tuple(Point(devices=devices, rate=rate) for devices, rate in points)
    return ThroughputCurve(name="stepped", points=made)


def test_the_third_device_goes_to_the_longer_job():
    # It saves 8 - 4 seconds there, half a second at the other.
    jobs = active(0, LINEAR, work=8.0), active(1, LINEAR, work=1.0)
    assert devices_of(optimus(state(*jobs, devices=3))) == {1: 1, 0: 2}


def test_jobs_with_few_devices_are_placed_first():
    jobs = active(0, LINEAR, work=8.0), active(1, LINEAR, work=1.0)
    assert list(optimus(state(*jobs, devices=4))) == [1, 0]


def test_nobody_gets_devices_that_save_no_time():
    flat = ThroughputCurve(
        name="flat", points=(Point(devices=1, rate=1.0), Point(devices=2, rate=1.0))
    )
    assert devices_of(optimus(state(active(0, flat), devices=2))) == {0: 1}


def test_a_curve_with_gaps_is_climbed_by_whole_steps():
    wide = ThroughputCurve(
        name="wide", points=(Point(devices=1, rate=1.0), Point(devices=4, rate=3.0))
    )
    assert devices_of(optimus(state(active(0, wide), devices=3))) == {0: 1}
    assert devices_of(optimus(state(active(0, wide), devices=4))) == {0: 4}


def test_when_there_are_too_few_devices_the_first_to_come_get_them():
    jobs = [active(place, LINEAR) for place in range(3)]
    assert devices_of(optimus(state(*jobs, devices=2))) == {0: 1, 1: 1}


def test_two_jobs_share_until_one_ends():
    jobs = trace(job(place, work=work, curve=LINEAR) for place, work in enumerate((8.0, 1.0)))
    # With three devices the long one has two of them for a second, then three: 2 + 3 * 2 = 8.
    assert list(shared(jobs, optimus, 3).ended) == pytest.approx([3.0, 1.0])


@few(20)
@given(
    works=st.lists(st.floats(1.0, 100.0), min_size=1, max_size=3),
    exponent=st.floats(0.1, 1.0),
    devices=st.integers(3, 7),
)
def test_no_division_leaves_less_time_where_curves_are_concave(works, exponent, devices):
    curve = PowerLaw(exponent=exponent, most=7)
    jobs = [active(place, curve, work=work) for place, work in enumerate(works)]
    given_ = devices_of(optimus(state(*jobs, devices=devices)))

    def left(counts):
        return sum(work / count**exponent for work, count in zip(works, counts, strict=True))

    best = min(
        left(counts)
        for counts in product(range(1, devices + 1), repeat=len(works))
        if sum(counts) <= devices
    )
    assert left([given_[place] for place in range(len(works))]) == pytest.approx(best)
