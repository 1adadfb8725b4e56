"""Suspended jobs: worked cases by hand, in minutes, from the documented rules of preemption."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job, trace
from tests.jobs.test_slurm import MINUTE, rows

from foretrain.cluster.mixed import Fleet, NodeFailures, Nodes
from foretrain.errors import InputError
from foretrain.jobs.run import run
from foretrain.measured.job import Dependency, DependsOn
from foretrain.measured.limit import PartyLimit
from foretrain.measured.queue_study import Conditions
from foretrain.measured.site import (
    BackfillRules,
    Partition,
    PreemptBy,
    PreemptMode,
    PreemptRules,
    SiteRules,
)

RULES = SiteRules(
    partitions=(Partition(name="lo"), Partition(name="mid", tier=5), Partition(name="hi", tier=9)),
    preempt=PreemptRules(by=PreemptBy.TIER, mode=PreemptMode.SUSPEND),
    backfill=BackfillRules(interval=MINUTE),
)


def jobs_of(*groups, **others):
    """Jobs of each partition in turn, by (partition, submission, devices, limit[, run])."""
    made = rows(*(each[1:] for each in groups))
    return [replace(one, group=each[0], **others) for one, each in zip(made, groups, strict=True)]


def ran(jobs, *, nodes=4, devices=1, site=RULES, **conditions):
    """Minutes at which jobs began and ended."""
    fleet = Fleet(nodes=(Nodes(count=nodes, devices=devices),))
    asked = Conditions(site=site, grace=0.0, **conditions)
    outcomes = run(trace(jobs), fleet, "slurm", conditions=asked)
    outcomes.check()
    return [
        [round(each / MINUTE, 6) for each in found] for found in (outcomes.begun, outcomes.ended)
    ]


def test_who_is_suspended_goes_on_where_it_was_and_its_limit_stands_still():
    """It ran 10 of its 60 minutes, waits 30, and goes on for 50: it is not ended at its limit."""
    assert ran(jobs_of(("lo", 0, 4, 60), ("hi", 10, 4, 30))) == [[0.0, 10.0], [90.0, 40.0]]


def test_nobody_of_its_tier_gets_what_a_suspended_job_keeps():
    """Two of its four nodes are not needed: the other job of its tier waits for all of it."""
    begun, ended = ran(jobs_of(("lo", 0, 4, 60), ("lo", 5, 2, 5), ("hi", 10, 2, 30)))
    assert (begun, ended) == ([0.0, 90.0, 10.0], [90.0, 95.0, 40.0])


def test_another_of_a_higher_tier_may_use_what_a_suspended_job_keeps():
    """The job goes on when both are gone."""
    begun, ended = ran(jobs_of(("lo", 0, 4, 60), ("hi", 10, 2, 30), ("mid", 11, 2, 50)))
    assert (begun, ended) == ([0.0, 10.0, 11.0], [111.0, 40.0, 61.0])


def test_of_several_on_the_same_nodes_the_last_to_be_suspended_goes_on_first():
    begun, ended = ran(jobs_of(("lo", 0, 4, 60), ("mid", 10, 4, 30), ("hi", 20, 4, 5)))
    assert (begun, ended) == ([0.0, 10.0, 20.0], [95.0, 45.0, 25.0])


def test_devices_of_a_node_are_lent_one_by_one():
    """Of eight devices the job has six: it lends four, and keeps two from the job of its tier."""
    groups = [("lo", 0, 6, 60), ("hi", 10, 6, 30), ("lo", 11, 2, 5)]
    begun, ended = ran(jobs_of(*groups), nodes=1, devices=8)
    assert (begun, ended) == ([0.0, 10.0, 40.0], [90.0, 40.0, 45.0])


def test_licences_stay_with_a_suspended_job():
    """One licence: the job of the other that needs it waits until the suspended one has ended."""
    held = jobs_of(("lo", 0, 2, 60), licenses=(("matlab", 1),))
    others = jobs_of(("x", 0, 1, 1), ("hi", 10, 4, 30), ("hi", 11, 1, 5))[1:]
    others[1] = replace(others[1], licenses=(("matlab", 1),))
    limits = (PartyLimit(license="matlab", count=1),)
    begun, _ = ran([*held, *others], limits=limits)
    assert begun == [0.0, 10.0, 90.0]


def test_a_singleton_waits_for_who_is_suspended():
    """Slurm: only one of that name is running or suspended."""
    first = jobs_of(("lo", 0, 4, 60), label="a")
    hi = jobs_of(("x", 0, 1, 1), ("hi", 10, 2, 30))[1:]
    alone = replace(
        job(2, arrival=11 * MINUTE, work=MINUTE, group="hi", label="a"),
        after=(Dependency("", DependsOn.SINGLETON),),
    )
    begun, _ = ran([*first, *hi, alone])
    assert begun[2] == 90.0


def test_nodes_that_fail_and_jobs_that_keep_their_places_are_not_simulated_together():
    failing = NodeFailures(between=1e6, repair=1.0, checkpoint=1.0)
    with pytest.raises(InputError, match="keep their places on nodes"):
        Conditions(site=RULES, failures=failing)


@few(40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["lo", "mid", "hi"]), st.integers(0, 60), st.integers(1, 9),
            st.integers(1, 40),
        ),
        min_size=1,
        max_size=12,
    )
)  # fmt: skip
def test_every_job_does_all_of_its_work_and_the_highest_tier_is_never_kept_by_a_lower(groups):
    """Conservation is asserted in the run; those of the highest tier start as if alone.

    On nodes of one device: else where the others lie decides how they fit together. Without
    backfilling: plans do not count on preemption, as others of the highest tier then may pass.
    """
    strict = replace(RULES, backfill=None)
    every = jobs_of(*groups)
    begun, ended = ran(every, nodes=9, site=strict)
    alone = [each for each in every if each.group == "hi"]
    if alone:
        mine = [place for place, each in enumerate(trace(every).jobs) if each.group == "hi"]
        assert [begun[place] for place in mine] == ran(alone, nodes=9, site=strict)[0]
    for each, start, end in zip(trace(every).jobs, begun, ended, strict=True):
        assert end - start >= each.work / MINUTE - 1e-6
