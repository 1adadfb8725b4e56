"""Slurm's rules: worked cases, by hand from its documented rules, in minutes unless said."""

from dataclasses import replace

import pytest
from tests.jobs.runs import job, trace

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.errors import InputError
from foretrain.jobs.limits import Limits
from foretrain.jobs.nodes import NodePool, packed
from foretrain.jobs.simulation import Simulation
from foretrain.jobs.slurm import SlurmDispatcher
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.site import (
    BackfillRules,
    Closed,
    Partition,
    PreemptBy,
    PreemptMode,
    PreemptRules,
    PriorityWeights,
    Qos,
    SiteRules,
)

MINUTE = 60.0
EASY = BackfillRules(reserves=1)
FOUR = ((0, 70, 100), (1, 80, 100), (2, 90, 100), (50, 20, 250))
"""Minute of submission, nodes and minutes."""


def rows(*jobs, **others):
    """Jobs by (submission, devices, limit) or (submission, devices, limit, run), in minutes."""
    return [
        job(place, arrival=MINUTE * each[0], devices=each[1], work=MINUTE * each[-1],
            estimate=MINUTE * each[2], **others)
        for place, each in enumerate(jobs)
    ]  # fmt: skip


def simulated(jobs, site, *, nodes=4, devices=1, grace=float("inf")):
    fleet = Fleet(nodes=(Nodes(count=nodes, devices=devices),))
    dispatcher = SlurmDispatcher(site, fleet)
    return Simulation(
        trace(jobs),
        NodePool(fleet, packed),
        dispatcher,
        limits=Limits(site.limits),
        grace=grace,
    ), dispatcher


def starts(jobs, site=None, **setting):
    """Minutes at which jobs last started."""
    simulation, _ = simulated(jobs, site or SiteRules(), **setting)
    outcomes = simulation.run()
    ran = zip(outcomes.ended, outcomes.trace.jobs, strict=True)
    return [round((end - each.work) / MINUTE, 6) for end, each in ran]


@pytest.mark.parametrize(
    ("backfill", "last", "expected"),
    [
        (BackfillRules(), 20, [0, 100, 200, 300]),
        (EASY, 20, [0, 100, 300, 50]),
        (BackfillRules(), 30, [0, 100, 200, 300]),
        (BackfillRules(window=30 * MINUTE), 30, [0, 300, 400, 50]),
        (None, 20, [0, 100, 200, 300]),
    ],
)
def test_who_passes_depends_on_how_many_hold_a_slot(backfill, last, expected):
    jobs = rows(*FOUR[:3], (50, last, 250))
    assert starts(jobs, SiteRules(backfill=backfill), nodes=100) == expected


@pytest.mark.parametrize(("resolution", "last"), [(1.0, 69), (60.0, 59)])
def test_a_job_passes_only_if_it_ends_before_the_minute_in_which_the_first_is_planned(
    resolution, last
):
    """Exact EASY would let it start at 70 s."""
    site = SiteRules(backfill=BackfillRules(interval=1.0, resolution=resolution))
    for moment, passes in ((last, True), (last + 1, False)):
        jobs = [
            job(0, work=130.0, devices=1),
            job(1, arrival=1.0, work=60.0, devices=2),
            job(2, arrival=float(moment), work=60.0, devices=1),
        ]
        simulation, _ = simulated(jobs, site, nodes=2)
        assert (simulation.run().begun[2] == moment) == passes


def test_plans_are_whole_nodes_and_starts_are_free_devices():
    jobs = rows((0, 8, 60), (1, 1, 600), (2, 1, 60))
    simulation, dispatcher = simulated(jobs, SiteRules(), nodes=1, devices=8)
    planned = {}
    simulation.at(30 * MINUTE, lambda: planned.update(dispatcher.plan(simulation)))
    outcomes = simulation.run()
    assert planned == {1: 60 * MINUTE, 2: 660 * MINUTE}
    assert list(outcomes.begun) == [0.0, 60 * MINUTE, 60 * MINUTE]


def test_a_job_may_end_when_maintenance_begins_and_nobody_is_kept_by_who_may_not():
    site = SiteRules(closed=(Closed(start=120 * MINUTE, end=180 * MINUTE),))
    assert starts(rows((30, 1, 120), (30, 1, 90)), site, nodes=2) == [180, 30]


@pytest.mark.parametrize("backfill", [BackfillRules(), None])
def test_a_job_too_long_for_the_time_until_maintenance_of_all_nodes_begins_after_it(backfill):
    site = SiteRules(closed=(Closed(start=120 * MINUTE, end=180 * MINUTE),), backfill=backfill)
    assert starts(rows((30, 1, 600)), site, nodes=2) == [180]


def test_of_an_array_at_most_two_tasks_run_at_once():
    site = SiteRules(limits=(PartyLimit(of=Party.ARRAY, named="a", jobs=2),))
    jobs = rows(*[(0, 1, 60)] * 4, array="a")
    assert starts(jobs, site) == [0, 0, 60, 60]


LOW_HIGH = (Qos(name="low"), Qos(name="high", priority=10.0, preempts=("low",)))


def preempting(*sizes, wants, nodes=4, at=10, **rules):
    """Low jobs of some sizes from 0 on, and a high one that wants nodes."""
    low = rows(*((0, size, 100) for size in sizes), qos="low")
    high = job(len(low), arrival=at * MINUTE, devices=wants, work=60 * MINUTE, qos="high")
    site = SiteRules(qualities=LOW_HIGH, preempt=PreemptRules(by=PreemptBy.QOS, **rules))
    return starts([*low, high], site, nodes=nodes)


def test_the_fewest_nodes_of_the_lowest_quality_are_stopped_first_and_start_from_scratch():
    assert preempting(2, 1, 1, wants=2) == [0, 70, 70, 10]


def test_nobody_is_preempted_before_it_has_run_as_long_as_it_is_exempt():
    assert preempting(2, 1, 1, wants=2, exempt=30 * MINUTE) == [0, 90, 90, 30]


def test_the_youngest_is_stopped_first_where_the_site_says_so():
    low = [
        job(0, devices=1, work=6000.0, qos="low"),
        job(1, devices=1, work=6000.0, qos="low"),
        job(2, arrival=60.0, devices=2, work=6000.0, qos="low"),
        job(3, arrival=600.0, devices=2, work=3600.0, qos="high"),
    ]
    rules = PreemptRules(by=PreemptBy.QOS, youngest_first=True)
    found, _ = simulated(low, SiteRules(qualities=LOW_HIGH, preempt=rules))
    assert list(found.run().stops) == [0, 0, 1, 0]


def test_the_job_that_decides_is_stopped_alone():
    assert preempting(2, 4, 8, wants=8, nodes=14) == [0, 0, 70, 10]


def test_who_is_cancelled_does_not_come_again():
    jobs = rows((0, 4, 100), qos="low")
    high = job(1, arrival=600.0, devices=4, work=3600.0, qos="high")
    rules = PreemptRules(by=PreemptBy.QOS, mode=PreemptMode.CANCEL)
    simulation, _ = simulated([*jobs, high], SiteRules(qualities=LOW_HIGH, preempt=rules))
    outcomes = simulation.run()
    assert (list(outcomes.ended), outcomes.killed) == ([600.0, 4200.0], {0})


def test_a_limit_of_a_user_stands_in_nobodys_way():
    site = SiteRules(
        qualities=(Qos(name="normal"),),
        limits=(PartyLimit(each=Party.USER, of=Party.QOS, named="normal", devices=8),),
    )
    jobs = [
        *(replace(each, user="u", qos="normal") for each in rows(*[(0, 4, 60)] * 3)),
        job(3, devices=8, work=60 * MINUTE, user="v", qos="normal"),
    ]
    assert starts(jobs, site, nodes=2, devices=8) == [0, 0, 60, 0]


def test_a_higher_tier_beats_any_priority():
    site = SiteRules(
        partitions=(Partition(name="hi", tier=10), Partition(name="lo", tier=1, factor=1e9)),
        priority=PriorityWeights(partition=1e6),
    )
    jobs = [
        job(0, devices=4, work=60 * MINUTE, group="lo"),
        job(1, arrival=300.0, devices=4, work=60 * MINUTE, group="lo"),
        job(2, arrival=600.0, devices=4, work=60 * MINUTE, group="hi"),
    ]
    assert starts(jobs, site) == [0, 120, 60]


@pytest.mark.parametrize(("over", "end"), [(0.0, 60.0), (5.0, 65.0)])
def test_a_time_limit_ends_a_job(over, end):
    [late] = rows((0, 1, 60, 100))
    simulation, _ = simulated([late], SiteRules(), grace=over * MINUTE)
    outcomes = simulation.run()
    assert (outcomes.ended[0], outcomes.killed) == (end * MINUTE, {0})


def test_an_exclusive_job_has_its_nodes_to_itself():
    site = SiteRules(partitions=(Partition(name="own", exclusive=True), Partition(name="shared")))
    jobs = [
        job(0, devices=1, work=60.0, group="own"),
        job(1, devices=8, work=60.0, group="shared"),
        job(2, devices=1, work=60.0, group="shared"),
    ]
    simulation, _ = simulated(jobs, site, nodes=2, devices=8)
    assert list(simulation.run().begun) == [0.0, 0.0, 60.0]


def test_a_partition_keeps_to_its_nodes_and_one_that_is_blocked_leaves_the_others_theirs():
    site = SiteRules(
        partitions=(Partition(name="a", nodes=((0, 1),)), Partition(name="b", nodes=((2, 3),)))
    )
    jobs = [
        job(0, devices=2, work=60.0, group="a"),
        job(1, devices=2, work=60.0, group="a"),
        job(2, devices=2, work=60.0, group="b"),
    ]
    simulation, _ = simulated(jobs, site)
    assert list(simulation.run().begun) == [0.0, 60.0, 0.0]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"group": "nowhere"}, "partition 'nowhere', which the site has not. Known: a"),
        ({"qos": "gold"}, "quality of service 'gold', which the site has not. Known: low, high"),
    ],
)
def test_what_a_site_has_not_is_refused(what, message):
    site = SiteRules(partitions=(Partition(name="a"),), qualities=LOW_HIGH)
    simulation, _ = simulated([job(0, **what)], site)
    with pytest.raises(InputError, match=message):
        simulation.run()
