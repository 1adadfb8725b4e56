"""Logs on a smaller fleet: who fits, and what is left of the rest."""

import pytest
from tests.jobs.runs import job, trace

from foretrain.cluster.mixed import Fleet, Nodes, fleet
from foretrain.errors import InputError
from foretrain.jobs.limits import LIMITED, OF_SITE, that_fit
from foretrain.jobs.run import check, run, site_room
from foretrain.measured.job import Log
from foretrain.measured.limit import FlavorQuota, Party, PartyLimit, QuotaQueue
from foretrain.measured.queue_study import Conditions
from foretrain.measured.site import Partition, SiteRules

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
    assert KINDS.most(()) == 8
    assert KINDS.most(("k80",)) == 3
    assert KINDS.most(("k80", "v100")) == 8
    assert KINDS.most(("tpu",)) == 0


def test_jobs_that_a_limit_never_lets_run_are_left_out():
    small, large = job(0, devices=4, user="u"), job(1, arrival=1.0, devices=5, user="u")
    limits = (PartyLimit(each=Party.USER, devices=4),)
    found = that_fit(log(small, large), fleet(8), limits)
    assert found.trace.jobs == (small,)
    assert [each.reason for each in found.left_out] == [LIMITED]
    assert that_fit(log(large), fleet(8), limits).trace.jobs == (large,)


def test_a_run_of_jobs_that_a_limit_never_lets_run_is_refused():
    with pytest.raises(InputError, match=r"1 jobs ask for more devices or.*a limit.*j000 \(5\)"):
        check(trace([job(0, devices=5)]), fleet(8), (PartyLimit(devices=4),))
    check(trace([job(0, devices=5)]), fleet(8), (PartyLimit(devices=5),))


PARTED = SiteRules(
    partitions=(Partition(name="all"), Partition(name="some", nodes=((1, 3),))),
    queues=(
        QuotaQueue(name="some", cohort="c", devices=2.0, borrows=3.0),
        QuotaQueue(name="lender", cohort="c", devices=9.0, lends=2.0),
    ),
)


@pytest.mark.parametrize(
    ("policies", "group", "kinds", "most"),
    [
        ({"slurm"}, "some", (), 4),  # one node of 4 and two of 1
        ({"slurm"}, "some", ("k80",), 2),
        ({"slurm"}, "", (), 8),
        ({"slurm"}, "none such", (), 8),
        ({"kueue"}, "some", (), 4),  # 2, and the 2 that are lent
        ({"kueue"}, "lender", (), 11),
        ({"kueue", "slurm"}, "lender", (), 8),
        ({"fifo"}, "some", (), float("inf")),
    ],
)
def test_a_site_has_a_most_for_each_job(policies, group, kinds, most):
    asked = job(0, group=group, kinds=kinds)
    assert site_room(PARTED, KINDS, policies)(asked) == most


def test_a_job_wider_than_any_flavor_of_its_queue_never_starts():
    flavors = (FlavorQuota(name="v100", devices=3.0), FlavorQuota(name="k80", devices=2.0))
    site = SiteRules(queues=(QuotaQueue(name="q", flavors=flavors),))
    assert site_room(site, KINDS, ["kueue"])(job(0, group="q")) == 3


def test_jobs_larger_than_their_partition_are_left_out_of_a_log_and_refused_by_a_run():
    small, large = job(0, devices=4, group="some"), job(1, arrival=1.0, devices=5, group="some")
    most = site_room(PARTED, KINDS, ["slurm"])
    found = that_fit(log(small, large), KINDS, of_site=most)
    assert found.trace.jobs == (small,)
    assert [(each.reason, each.first[0].told) for each in found.left_out] == [
        (OF_SITE, "job j001 asks for 5 of 4.")
    ]
    with pytest.raises(InputError, match=r"1 jobs ask .* partition or queue ever has: j001 \(5\)"):
        run(trace([small, large]), KINDS, "slurm", conditions=Conditions(site=PARTED))
    # Under a policy that has no partitions it starts.
    assert run(trace([large]), KINDS, "fifo", conditions=Conditions(site=PARTED)).begun[0] == 1.0
