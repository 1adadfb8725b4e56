"""Logs on a smaller fleet: who fits, and what is left of the rest."""

from tests.jobs.runs import job, trace

from foretrain.cluster.mixed import Fleet, Nodes, fleet
from foretrain.jobs.admission import room, that_fit
from foretrain.measured.job import Log

KINDS = Fleet(nodes=(Nodes(count=2, devices=4, kind="v100"), Nodes(count=3, devices=1, kind="k80")))


def log(*jobs):
    return Log(trace=trace(jobs), begun={each.name: each.arrival for each in jobs})


def test_jobs_that_fit_are_kept_with_when_they_began():
    small, large = job(0, devices=4), job(1, arrival=1.0, devices=9)
    found = that_fit(log(small, large), fleet(8))
    assert found.trace.jobs == (small,)
    assert found.begun == {small.name: 0.0}
    (left_out,) = found.left_out
    assert (left_out.count, [each.line for each in left_out.first]) == (1, [1])


def test_log_that_fits_whole_or_not_at_all_is_as_it_was():
    both = log(job(0, devices=4), job(1, devices=8))
    assert that_fit(both, fleet(8)) is both
    assert that_fit(both, fleet(2)) is both


def test_job_has_the_most_devices_of_one_kind_that_counts():
    assert room(KINDS, ()) == 8
    assert room(KINDS, ("k80",)) == 3
    assert room(KINDS, ("k80", "v100")) == 8
    assert room(KINDS, ("tpu",)) == 0
