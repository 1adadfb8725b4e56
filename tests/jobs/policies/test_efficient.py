"""Efficiency-capped policies: hand-made cases and their two extremes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.runs import job, shared, trace

from foretrain.cluster.mixed import fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.policies.aware import fifo_efficient, fifo_max, srtf_efficient
from foretrain.jobs.progress import efficient
from foretrain.throughput import Amdahl, Point, PowerLaw, ThroughputCurve

ROOT = PowerLaw(exponent=0.5, most=8)


def widest(curve, threshold, devices=64):
    return efficient(
        Active(job(0, curve=curve, devices=curve.counts[0]), 0), threshold, fleet=fleet(devices)
    )


@pytest.mark.parametrize(
    ("threshold", "devices"), [(1.0, 1), (0.75, 1), (0.7, 2), (0.5, 4), (0.36, 7), (0.0, 8)]
)
def test_a_square_root_keeps_its_efficiency_up_to_the_inverse_square(threshold, devices):
    assert widest(ROOT, threshold) == devices


@given(serial=st.floats(0.0, 1.0), threshold=st.floats(0.0, 1.0))
def test_a_higher_threshold_never_makes_a_job_wider(serial, threshold):
    curve = Amdahl(serial=serial, most=16)
    assert widest(curve, threshold) <= widest(curve, 0.9 * threshold)


def test_efficiency_counts_from_the_fewest_devices_that_a_job_can_use():
    points = (Point(devices=4, rate=4.0), Point(devices=8, rate=7.0), Point(devices=16, rate=8.0))
    curve = ThroughputCurve(name="measured", points=points)
    assert (widest(curve, 0.8), widest(curve, 0.5), widest(curve, 0.5, devices=12)) == (8, 16, 8)


def test_the_first_job_gets_all_that_it_can_use():
    jobs = trace(job(place, work=4.0, curve=ROOT) for place in range(2))
    ended = shared(jobs, fifo_max(), 4).ended
    assert list(ended) == pytest.approx([2.0, 4.0])


def test_jobs_that_stay_efficient_run_side_by_side():
    jobs = trace(job(place, work=4.0, curve=ROOT) for place in range(4))
    ended = shared(jobs, fifo_efficient(1.0), 4).ended
    assert list(ended) == pytest.approx([4.0] * 4)


def test_the_second_job_takes_what_is_left_and_grows_when_the_first_has_ended():
    jobs = trace(job(place, work=6.0, curve=ROOT) for place in range(2))
    ended = shared(jobs, fifo_efficient(0.55), 4).ended
    first = 6.0 / 3**0.5
    assert list(ended) == pytest.approx([first, first + (6.0 - first) / 3**0.5])


def test_the_shortest_remaining_job_is_first_in_line():
    jobs = trace([job(0, work=9.0, curve=ROOT), job(1, arrival=1.0, work=1.0, curve=ROOT)])
    ended = shared(jobs, srtf_efficient(0.0), 4).ended
    assert list(ended) == pytest.approx([5.0, 1.5])


def test_a_threshold_above_one_is_refused():
    with pytest.raises(InputError, match="from 0 to 1"):
        fifo_efficient(1.5)
