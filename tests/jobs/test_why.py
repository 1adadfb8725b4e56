"""Why a job waits: what keeps it, in the order in which Slurm looks, and what would help."""

from math import isclose
from random import Random

import pytest
from tests.jobs.runs import job, rigid_trace, trace

from foretrain.cluster.mixed import Fleet, Nodes, Outage, fleet
from foretrain.errors import InputError
from foretrain.jobs.asked import WaitPeriod, WhyWaited, why_section
from foretrain.jobs.policies.table import POLICIES
from foretrain.jobs.run import run
from foretrain.jobs.why import WaitQuestion, reason_of, told, why_waited
from foretrain.measured.job import Dependency, DependsOn, Trace
from foretrain.measured.limit import Party, PartyLimit, QuotaQueue
from foretrain.measured.queue_study import Conditions
from foretrain.measured.site import (
    BackfillRules,
    Closed,
    Partition,
    PreemptBy,
    PreemptMode,
    PreemptRules,
    Qos,
    SiteRules,
)

GANGS = sorted(name for name, each in POLICIES.items() if not each.fluid)


def asked(jobs, name, policy, *, shared=None, **conditions):
    """Why a job of a trace waits on some nodes."""
    under = Conditions(**conditions)

    def simulates(trace, conditions, notes):
        return run(trace, shared or fleet(8), policy, conditions=conditions, why=notes)

    return why_waited(
        WaitQuestion(job=name, policy=policy, trace=jobs, conditions=under), simulates
    )


def reasons(found):
    return [(each.start, each.end, each.reason, each.by, each.count) for each in found.periods]


@pytest.mark.parametrize("policy", GANGS)
def test_what_keeps_a_job_is_told_for_every_second_that_it_waits(policy):
    random = Random(3)
    jobs = trace(
        job(
            place,
            arrival=float(random.randint(0, 60)),
            work=float(random.randint(5, 50)),
            devices=random.choice((1, 2, 4, 8)),
            user=random.choice("uv"),
        )
        for place in range(30)
    )
    limit = PartyLimit(each=Party.USER, devices=8)
    for name in ("j003", "j017", "j029"):
        found = asked(jobs, name, policy, limits=(limit,), period=1.0)
        lasted = sum(each.end - each.start for each in found.periods)
        assert isclose(lasted, found.waited, abs_tol=1e-6)
        ends = [each.end for each in found.periods]
        assert all(a <= b.start for a, b in zip(ends, found.periods[1:], strict=False))


@pytest.mark.parametrize("policy", ["easy", "conservative", "slurm"])
def test_the_first_waits_for_resources_and_those_behind_it_for_priority(policy):
    jobs = rigid_trace((0, 100, 8), (1, 10, 8), (2, 10, 8))
    assert reasons(asked(jobs, "j001", policy)) == [(1.0, 100.0, "Resources", "", 0)]
    behind = asked(jobs, "j002", policy)
    assert reasons(behind)[0] == (2.0, 100.0, "Priority", "", 1)
    assert behind.periods[0].ahead == ("j001",)
    assert sum(end - start for start, end, *_ in reasons(behind)) == behind.waited


def test_whom_licences_keep_waits_for_them_and_more_of_them_would_help():
    held = {"licenses": (("matlab", 2),)}
    jobs = trace([job(0, work=60.0, **held), job(1, **held)])
    limit = PartyLimit(license="matlab", count=3)
    found = asked(jobs, "j001", "slurm", site=SiteRules(limits=(limit,)))
    assert reasons(found) == [(0.0, 60.0, "Licenses", "3 licences of matlab for all", 0)]
    assert [(each.change, each.sooner) for each in found.remedies] == [
        ("no limit of 3 licences of matlab for all", 60.0)
    ]


def test_who_must_be_alone_waits_for_those_of_its_name():
    alone = (Dependency("", DependsOn.SINGLETON),)
    jobs = trace([job(0, work=60.0, label="a"), job(1, label="a", after=alone)])
    assert reasons(asked(jobs, "j001", "fifo")) == [(0.0, 60.0, "Dependency", "j000", 0)]


def test_who_is_suspended_says_so():
    tiers = (Partition(name="lo"), Partition(name="hi", tier=2))
    rules = PreemptRules(by=PreemptBy.TIER, mode=PreemptMode.SUSPEND)
    jobs = trace(
        [
            job(0, work=60.0, devices=8, group="lo"),
            job(1, arrival=10.0, work=30.0, devices=8, group="hi"),
        ]
    )
    found = asked(jobs, "j000", "slurm", site=SiteRules(partitions=tiers, preempt=rules))
    assert reasons(found) == [(10.0, 40.0, "Suspended", "", 0)]


def test_whom_a_limit_keeps_waits_for_it_though_there_is_room():
    jobs = trace([job(0, work=60.0, devices=4, user="u"), job(1, devices=4, user="u")])
    limit = PartyLimit(each=Party.USER, devices=4)
    found = asked(jobs, "j001", "slurm", site=SiteRules(limits=(limit,)))
    assert reasons(found) == [(0.0, 60.0, "QOSMaxGRESPerUser", told(limit), 0)]
    assert found.periods[0].free == 4
    assert [(each.change, each.waiting, each.sooner) for each in found.remedies] == [
        ("no limit of 4 devices for each user", 0.0, 60.0)
    ]


def test_who_depends_on_another_waits_for_it_and_who_is_not_eligible_for_its_time():
    jobs = trace([
        job(0, work=60.0), job(1, after=(Dependency("j000"),)), job(2, eligible=30.0),
    ])  # fmt: skip
    assert reasons(asked(jobs, "j001", "fifo")) == [(0.0, 60.0, "Dependency", "j000", 0)]
    assert reasons(asked(jobs, "j002", "fifo")) == [(0.0, 30.0, "BeginTime", "", 0)]
    opened = Trace(name="cut", jobs=rigid_trace((0, 1, 1)).jobs, opened=50.0)
    [(start, end, reason, by, _)] = reasons(asked(opened, "j000", "fifo"))
    assert (start, end, reason, by) == (0.0, 50.0, "BeginTime", "the log begins later")


def test_maintenance_keeps_who_would_not_be_over_before_it():
    closed = (Closed(start=100.0, end=160.0),)
    jobs = trace([job(0, arrival=10.0, work=100.0), job(1, arrival=10.0, work=90.0)])
    site = SiteRules(closed=closed)
    assert reasons(asked(jobs, "j000", "slurm", site=site)) == [
        (10.0, 160.0, "ReqNodeNotAvail", "", 0)
    ]
    assert not asked(jobs, "j001", "slurm", site=site).periods


def test_a_queue_without_quota_is_a_reason_of_its_own():
    queues = (QuotaQueue(name="a", devices=4.0), QuotaQueue(name="b", devices=4.0))
    jobs = trace([job(0, work=50.0, devices=4, group="a"), job(1, devices=4, group="a")])
    found = asked(jobs, "j001", "kueue", site=SiteRules(queues=queues))
    assert reasons(found) == [(0.0, 50.0, "Quota", "a", 0)]


def test_a_shorter_limit_or_a_higher_quality_is_said_to_help_where_it_does():
    # j2 may pass only if it ends before j1 is planned, at 100: it runs 50 and asks for 200.
    jobs = trace([
        job(0, work=100.0, devices=6), job(1, arrival=1.0, work=100.0, devices=8),
        job(2, arrival=2.0, work=50.0, devices=2, estimate=200.0),
    ])  # fmt: skip
    found = asked(jobs, "j002", "easy")
    assert [(each.change, each.sooner) for each in found.remedies] == [
        ("a time limit of what it ran", 198.0)
    ]
    site = SiteRules(
        qualities=(Qos(name="low"), Qos(name="high", priority=9.0)), backfill=BackfillRules()
    )
    alone = trace([job(0, work=100.0, devices=8, qos="low")])
    assert not asked(alone, "j000", "slurm", site=site).remedies


def test_a_job_that_is_none_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"is called j01\. Did you mean 'j001'"):
        asked(rigid_trace((0, 1, 1), (0, 1, 1)), "j01", "fifo")


@pytest.mark.parametrize(
    ("limit", "word"),
    [
        (PartyLimit(each=Party.USER, jobs=2), "QOSMaxJobsPerUserLimit"),
        (PartyLimit(each=Party.ACCOUNT, devices=2), "QOSMaxGRESPerAccount"),
        (PartyLimit(of=Party.QOS, named="low", devices=2), "QOSGrpGRES"),
        (PartyLimit(of=Party.ACCOUNT, named="a", jobs=2), "AssocGrpJobsLimit"),
        (PartyLimit(of=Party.ARRAY, named="7", jobs=2), "JobArrayTaskLimit"),
    ],
)
def test_limits_have_the_words_of_squeue(limit, word):
    assert reason_of(limit) == word


def test_the_report_says_how_long_for_what_and_behind_whom():
    jobs = rigid_trace((0, 3600, 8), (60, 60, 8), (120, 60, 8))
    first, *_ = why_section(asked(jobs, "j002", "slurm")).body
    assert "j002 asks for 8 devices" in first
    assert "for Priority" in first


def test_nodes_that_are_down_are_told():
    shared = Fleet(nodes=(Nodes(count=2, devices=4),))
    out = Outage(nodes=((1, 1),), start=5.0, end=50.0)
    jobs = trace([job(0, arrival=10.0, devices=8)])
    found = asked(jobs, "j000", "slurm", shared=shared, outages=(out,))
    assert reasons(found)[0][:3] == (10.0, 50.0, "ReqNodeNotAvail")


def test_of_many_periods_the_longest_are_listed_as_they_follow_each_other(monkeypatch):
    monkeypatch.setattr("foretrain.jobs.asked.SHOWN", 2)
    ends = (9.0, 10.0, 30.0)
    periods = tuple(
        WaitPeriod(start=start, end=end, reason="Resources", by="", free=0, ahead=(), count=0)
        for start, end in zip((0.0, *ends), ends, strict=False)
    )
    it = WhyWaited(
        job="j",
        policy="fifo",
        submitted=0.0,
        started=30.0,
        waited=30.0,
        devices=1,
        periods=periods,
        remedies=(),
    )
    _, shown, more, *_ = why_section(it).body
    assert [row[0] for row in shown.rows] == ["0 s", "10 s"]
    assert "1 shorter" in more.text
