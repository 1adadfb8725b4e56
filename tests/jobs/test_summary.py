"""Summaries: what a run says, also of the odd ones."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job, rigid_trace, trace

from foretrain.cluster.mixed import Fleet, Nodes, fleet
from foretrain.errors import InputError
from foretrain.jobs.run import run
from foretrain.jobs.summary import summary
from foretrain.measured.job import End
from foretrain.throughput import PowerLaw

ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=8
)


def said(jobs, devices=4, *, policy="fifo", **others):
    shared = fleet(devices)
    return summary(run(jobs, shared, policy), shared, **others)


@few(40)
@given(rows=ROWS, policy=st.sampled_from(["fifo", "sjf", "las", "srtf"]))
def test_devices_are_used_for_the_work_of_all_jobs_from_the_first_arrival_to_the_last_end(
    rows, policy
):
    found = said(rigid_trace(*rows), policy=policy)
    work = sum(seconds * devices for _, seconds, devices in rows)
    assert found.utilisation == pytest.approx(work / (4 * found.makespan))
    assert 0 < found.utilisation <= 1 + 1e-12


def test_devices_are_used_also_where_all_jobs_come_at_once():
    assert said(rigid_trace((5, 2, 4), (5, 2, 4))).utilisation == 1.0


def test_one_job_alone_uses_its_devices():
    found = said(rigid_trace((7, 3, 1)))
    assert (found.utilisation, found.makespan, found.responses) == (0.25, 3.0, (3.0,))


def test_devices_of_a_group_with_a_quota_are_devices_of_the_fleet():
    rows = (("a", 10.0, 4), ("b", 1.0, 12), ("b", 1.0, 12))
    jobs = trace(
        job(place, arrival=float(place), work=work, devices=devices, group=group)
        for place, (group, work, devices) in enumerate(rows)
    )
    shared = Fleet(nodes=(Nodes(count=4, devices=4),), quota={"a": 4})
    found = summary(run(jobs, shared, "fifo"), shared)
    assert found.utilisation == (4 * 10 + 12 + 12) / (16 * 10)


def unfinished(*places, rows=((0, 4, 4), (0, 9, 4), (1, 5, 4))):
    """Jobs of which some still ran when their log was written."""
    jobs = rigid_trace(*rows)
    ends = [End.RUNNING if place in places else End.FINISHED for place in range(len(rows))]
    changed = zip(jobs.jobs, ends, strict=True)
    return replace(jobs, jobs=tuple(replace(each, end=end) for each, end in changed))


def test_a_job_that_still_ran_holds_its_devices_and_is_not_counted():
    found = said(unfinished(1))
    assert found.responses == (4.0, 17.0)
    assert (found.counts.running, found.counts.finished, found.counts.submitted) == (1, 2, 3)
    assert found.makespan == 18.0


def test_jobs_of_the_warm_up_and_those_that_still_ran_may_not_be_all():
    with pytest.raises(InputError, match=r"no job is left to count.*smaller simulation\.warm_up"):
        said(unfinished(1, 2), warm_up=0.5)


def test_how_long_a_job_takes_is_learned_of_those_that_ended():
    rows = ((4.0, "u", End.FINISHED), (100.0, "u", End.RUNNING), (10.0, "v", End.FINISHED))
    jobs = trace(
        job(place, work=work, user=user, end=end) for place, (work, user, end) in enumerate(rows)
    )
    # 4 s of user u are shorter than 10 s of user v; 52 s, their mean with the second, are not.
    assert list(run(jobs, fleet(1), "srtf-predicted").begun) == [0.0, 4.0, 104.0]


def test_users_and_groups_are_told_apart_where_there_are_two():
    """First who held most device-seconds: responses 2 and 3 s of one, 4 s of the other."""
    rows = (("ada", "g", 2.0, 1), ("ada", "g", 1.0, 2), ("bob", "g", 1.0, 4))
    jobs = trace(
        job(place, work=work, devices=devices, user=user, group=group)
        for place, (user, group, work, devices) in enumerate(rows)
    )
    found = said(jobs, 2 + 2)
    assert [(part.name, part.jobs, part.device_time) for part in found.users] == [
        ("ada", 2, 4.0),
        ("bob", 1, 4.0),
    ]
    ada, bob = found.users
    assert (ada.mean_response, ada.mean_waiting) == (1.5, 0.0)
    assert (bob.mean_response, bob.mean_waiting) == (3.0, 2.0)
    assert found.groups == ()


@given(seconds=st.lists(st.floats(0.1, 9.0), min_size=2, max_size=6))
@example(seconds=[0.1, 0.2, 0.3])
def test_who_holds_devices_from_its_arrival_to_its_end_waits_for_nothing_however_often_they_change(
    seconds,
):
    """Each hold rounds its seconds, so that their sum misses a response by a few bits."""
    jobs = trace(
        job(place, arrival=0.1 * place, work=work, curve=PowerLaw(exponent=1.0, most=6))
        for place, work in enumerate(seconds)
    )
    assert set(said(jobs, 6, policy="equal-share").waiting) == {0.0}


def test_seconds_without_devices_are_waited_also_where_they_are_fewer_than_those_with_them():
    assert said(rigid_trace((0, 4, 4), (1, 9, 4))).waiting == (0.0, 3.0)
