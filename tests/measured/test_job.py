"""Jobs and traces: what cannot be is refused, and the order of a trace is its own."""

from math import nan

import pytest

from foretrain.errors import InputError
from foretrain.measured.job import End, Job, Trace
from foretrain.throughput import rigid


def job(name="a", **others):
    return Job(
        **{"name": name, "arrival": 0.0, "work": 4.0, "curve": rigid(2), "devices": 2} | others
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"arrival": -1.0}, "arrival"),
        ({"work": nan}, "work"),
        ({"ends_after": 5.0}, "ends_after"),
        ({"devices": 3}, "one of the counts"),
        ({"restart": -1.0}, "restart"),
        ({"priority": 0.0}, "priority"),
        ({"estimate": -1.0}, "estimate"),
    ],
)
def test_a_job_that_cannot_be_is_refused_by_name(wrong, message):
    with pytest.raises(InputError, match=f"job a: .*{message}"):
        job(**wrong)


def test_a_job_ends_when_its_work_is_done_unless_it_says_otherwise():
    assert job().ends_after == 4.0
    assert job(end=End.KILLED, ends_after=1.0).ends_after == 1.0


def names(*jobs):
    return [each.name for each in Trace(name="t", jobs=jobs).jobs]


def test_a_trace_is_in_the_order_of_arrival_and_then_of_submission():
    late, early = job("9", arrival=1.0, sequence=10), job("10", arrival=1.0, sequence=9)
    assert names(late, early, job("11", sequence=12)) == ["11", "10", "9"]


def test_names_say_nothing_of_the_order_in_which_jobs_came():
    assert names(job("9"), job("10"), job("8")) == ["9", "10", "8"]


def test_a_trace_names_jobs_that_are_called_alike():
    with pytest.raises(InputError, match="two jobs called a"):
        Trace(name="t", jobs=(job(), job()))


def test_a_trace_without_jobs_is_refused():
    with pytest.raises(InputError, match="no job"):
        Trace(name="t", jobs=())
