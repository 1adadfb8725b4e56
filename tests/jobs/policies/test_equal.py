"""Equal share: hand-made cases, and nobody far from anybody."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.jobs.runs import job, shared, trace

from foretrain.cluster.mixed import fleet
from foretrain.jobs.active import Active
from foretrain.jobs.policies.equal import equal_share, processor_sharing
from foretrain.jobs.shared import ClusterState
from foretrain.throughput import PowerLaw, rigid


def widths(curves, devices):
    """What jobs of some curves get that come together."""
    jobs = [job(place, curve=curve, devices=curve.counts[0]) for place, curve in enumerate(curves)]
    state = ClusterState(
        0.0, [Active(each, rank) for rank, each in enumerate(jobs)], fleet(devices)
    )
    grants = equal_share(state)
    return [grants[rank].devices if rank in grants else 0 for rank in range(len(jobs))]


def linear(most):
    return PowerLaw(exponent=1.0, most=most)


@pytest.mark.parametrize(
    ("curves", "devices", "expected"),
    [
        ([linear(8)] * 3, 8, [3, 3, 2]),
        ([linear(8), linear(2), linear(8)], 8, [3, 2, 3]),
        ([linear(8)] * 5, 3, [1, 1, 1, 0, 0]),
        ([linear(8), rigid(6), linear(8)], 8, [1, 6, 1]),
        ([rigid(6), rigid(6), linear(8)], 8, [6, 0, 2]),
    ],
)
def test_devices_are_dealt_out_to_who_holds_fewest(curves, devices, expected):
    assert widths(curves, devices) == expected


@given(most=st.lists(st.integers(1, 9), min_size=1, max_size=8), devices=st.integers(1, 30))
def test_nobody_has_two_devices_more_than_another_who_could_use_them(most, devices):
    got = widths([linear(each) for each in most], devices)
    assert sum(got) == min(devices, sum(most))
    for (mine, _), (other, limit) in product(zip(got, most, strict=True), repeat=2):
        assert other >= limit or mine <= other + 1


def test_two_fluid_shares_make_equal_jobs_end_together():
    jobs = trace(job(place, work=6.0, curve=linear(1)) for place in range(2))
    assert list(shared(jobs, processor_sharing, 1).ended) == pytest.approx([12.0, 12.0])


def test_rigid_jobs_that_share_a_device_as_a_fluid_take_turns():
    jobs = trace(job(place, work=6.0, devices=1 + place) for place in range(2))
    # Half a device each, then a whole one for the second, which asks for two and is half as quick.
    assert list(shared(jobs, processor_sharing, 1).ended) == pytest.approx([12.0, 18.0])


def test_a_fluid_share_that_a_job_cannot_use_goes_to_the_others():
    jobs = trace([job(0, work=6.0, curve=linear(1)), job(1, work=18.0, curve=linear(4))])
    assert list(shared(jobs, processor_sharing, 4).ended) == pytest.approx([6.0, 6.0])
