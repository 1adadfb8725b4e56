"""Nodes that come when jobs wait for them, and leave when idle: cases by hand, and books."""

from dataclasses import replace
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng
from tests.examples import few
from tests.jobs.runs import job, rigid_trace, trace

from foretrain.cluster.mixed import Autoscaling, Fleet, NodeFailures, Nodes, Outage, fleet
from foretrain.errors import InputError
from foretrain.jobs.policies.table import POLICIES
from foretrain.jobs.run import run
from foretrain.jobs.summary import policy_result, summary
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.queue_study import Conditions

FOUR = Fleet(nodes=(Nodes(count=4, devices=2, price=0.5),))
QUICK = Autoscaling(scan=10.0, boot=50.0, idle=100.0, after_add=0.0)
ON_NODES = sorted(name for name, each in POLICIES.items() if not each.fluid)


def under(jobs, scaling=QUICK, *, policy="fifo", nodes=FOUR, seed=0, **others):
    asked = Conditions(scaling=scaling, **others)
    return run(jobs, nodes, policy, conditions=asked, random=default_rng(seed))


def test_the_first_job_waits_until_somebody_looks_and_nodes_have_booted():
    outcomes = under(rigid_trace((0, 30, 4)))
    assert list(outcomes.begun) == [60.0]
    # Two nodes of two devices, from when they were asked for at 10 until the job left at 90.
    assert outcomes.rented == {"": 4 * 80.0}


def test_nodes_that_are_always_there_need_not_be_waited_for():
    outcomes = under(rigid_trace((0, 30, 2), (0, 30, 2)), replace(QUICK, least=1))
    assert list(outcomes.begun) == [0.0, 30.0]
    # The second node came at 60, when nobody needed it any more; the job left at 60.
    assert outcomes.rented == {"": 2 * 60.0 + 2 * 50.0}


def test_a_node_that_is_idle_leaves_and_another_job_waits_for_it_anew():
    rows = ((0, 30, 2), (150, 30, 2), (400, 30, 2))
    assert list(under(rigid_trace(*rows)).begun) == [60.0, 150.0, 460.0]
    # Idle from 90 and from 180; it left at 280, had it been idle for longer it would be there.
    assert list(under(rigid_trace(*rows), replace(QUICK, idle=230.0)).begun) == [60, 150, 400]


def test_no_node_leaves_soon_after_one_has_come():
    rows = ((0, 30, 2), (195, 5, 2))
    assert list(under(rigid_trace(*rows)).begun) == [60.0, 255.0]
    assert list(under(rigid_trace(*rows), replace(QUICK, after_add=140.0)).begun) == [60, 195]


def test_small_jobs_share_the_nodes_that_are_asked_for():
    outcomes = under(rigid_trace(*[(0, 40, 1)] * 4))
    assert list(outcomes.begun) == [60.0] * 4
    assert outcomes.rented == {"": 2 * 2 * 90.0}


def test_nodes_on_their_way_are_not_asked_for_twice():
    outcomes = under(rigid_trace((0, 40, 2), (20, 40, 2)))
    assert list(outcomes.begun) == [60.0, 80.0]
    assert outcomes.rented == {"": 2 * (120 - 10) + 2 * (120 - 30)}


def test_no_node_is_asked_for_a_job_that_does_not_fit_on_all_of_them_now():
    """The long job holds a node; that of 8 devices needs all four."""
    outcomes = under(rigid_trace((0, 500, 2), (5, 10, 8)))
    assert list(outcomes.begun) == [60.0, 620.0]
    # One node for the first, until it left; three more, and the one, from 570 on.
    assert outcomes.rented == {"": 2 * (630 - 10) + 3 * 2 * (630 - 570)}


def test_no_node_is_asked_for_a_job_that_a_limit_keeps():
    jobs = trace(job(place, user="u", work=100.0, devices=2) for place in range(2))
    limits = (PartyLimit(each=Party.USER, jobs=1),)
    outcomes = under(jobs, limits=limits)
    assert list(outcomes.begun) == [60.0, 160.0]
    assert outcomes.rented == {"": 2 * 250.0}


def test_nodes_of_the_kind_that_a_job_needs_come():
    nodes = Fleet(
        nodes=(
            Nodes(count=2, devices=2, kind="a", price=1.0),
            Nodes(count=2, devices=4, kind="b", price=3.0),
        )
    )
    jobs = trace([job(0, work=40.0, devices=3, kinds=("b",))])
    outcomes = under(jobs, nodes=nodes)
    assert outcomes.rented == {"a": 0.0, "b": 4 * 90.0}
    result = policy_result(nodes, [summary(outcomes, nodes)])
    assert result.rented == pytest.approx(4 * 90 / (100 * 12))
    assert result.cost == pytest.approx(3.0 * 4 * 90)


def test_what_was_rented_is_paid_for():
    outcomes = under(rigid_trace((0, 30, 4)))
    result = policy_result(FOUR, [summary(outcomes, FOUR)])
    assert (result.rented, result.cost) == (pytest.approx(320 / (8 * 90)), pytest.approx(160.0))


def test_who_has_come_stays_until_the_last_has_come_that_a_job_waits_for():
    jobs, varies = rigid_trace((0, 1, 8)), replace(QUICK, varies=1.0, give_up=1e9)
    for seed in range(20):
        patient = under(jobs, replace(varies, idle=1e6), seed=seed)
        assert list(under(jobs, replace(varies, idle=1.0), seed=seed).begun) == list(patient.begun)


def test_boots_vary_about_their_mean_and_late_ones_are_given_up():
    """Of a thousand first nodes; a fifth of a lognormal of mean 50 and deviation 50 is above 77."""
    varies = replace(QUICK, varies=1.0, give_up=1e9)
    starts = [under(rigid_trace((0, 1, 2)), varies, seed=seed).begun[0] for seed in range(400)]
    booted = [begun - 10.0 for begun in starts]
    assert fsum(booted) / 400 == pytest.approx(50.0, rel=0.15)
    late = sum(each > 60.0 for each in booted)
    given_up = replace(varies, give_up=60.0)
    again = [under(rigid_trace((0, 1, 2)), given_up, seed=seed).begun[0] for seed in range(400)]
    assert sum(each > 70.0 for each in again) == late > 0
    # Whoever came late now comes at the end of a second boot or later: 60, a look, and that.
    assert all(each > 70.0 + 10.0 for each in again if each > 70.0)


@pytest.mark.parametrize("policy", ON_NODES)
@few(6)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 300), st.integers(1, 200), st.sampled_from([1, 2, 4, 8])),
        min_size=1,
        max_size=12,
    ),
    least=st.integers(0, 4),
    boot=st.sampled_from([0.0, 30.0, 400.0]),
    fails=st.booleans(),
)
def test_under_every_policy_all_jobs_end_and_nobody_holds_what_is_not_there(
    policy, rows, least, boot, fails
):
    idle = max(50.0, POLICIES[policy].period * 1.1)
    scaling = Autoscaling(
        least=least, scan=5.0, boot=boot, varies=0.5, idle=idle, after_add=20.0, give_up=900.0
    )
    failures = NodeFailures(between=5_000.0, repair=60.0, checkpoint=30.0) if fails else None
    jobs = rigid_trace(*rows)
    outcomes = under(jobs, scaling, policy=policy, failures=failures)
    makespan = max(outcomes.ended) - jobs.jobs[0].arrival
    held = fsum(outcomes.attained)
    assert held >= (1.0 - 1e-9) * fsum(each.devices * each.work for each in jobs.jobs)
    assert held <= outcomes.rented[""] * (1.0 + 1e-9)
    assert least * 2 * makespan * (1 - 1e-9) <= outcomes.rented[""]
    assert outcomes.rented[""] <= 8 * makespan * (1 + 1e-9)


def test_with_all_nodes_always_there_nothing_is_otherwise():
    jobs = rigid_trace((0, 30, 4), (5, 20, 8), (6, 50, 2), (7, 10, 2))
    for policy in ("fifo", "easy", "srtf", "slurm"):
        always = under(jobs, replace(QUICK, least=4), policy=policy)
        plain = run(jobs, FOUR, policy, conditions=Conditions(scaling=None, placement="packed"))
        assert list(always.ended) == list(plain.ended)


def test_a_log_that_begins_in_the_middle_begins_with_all_nodes():
    jobs = replace(rigid_trace((0, 90, 4), (60, 30, 2)), opened=50.0, found={"j000": 0.0})
    assert list(under(jobs).begun) == [0.0, 60.0]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Autoscaling(boot=900.0), "no node would ever"),
        (lambda: Autoscaling(scan=-1.0), "at least 0"),
        (lambda: Autoscaling(idle=float("inf")), "finite"),
        (
            lambda: Conditions(scaling=QUICK, outages=(Outage(nodes=((0, 1),), start=0.0),)),
            "exclude each other",
        ),
        (
            lambda: under(rigid_trace((0, 1, 1)), nodes=replace(FOUR, quota={"a": 2})),
            "leave the quotas out",
        ),
        (lambda: under(rigid_trace((0, 1, 1)), policy="hesrpt"), "lies on no node"),
        (lambda: under(rigid_trace((0, 1, 1)), policy="max-min"), "less than a round of max-min"),
        (lambda: under(rigid_trace((0, 1, 9)), nodes=fleet(8, per_node=2)), "ask for more devices"),
    ],
)
def test_what_cannot_be_is_told(make, told):
    with pytest.raises(InputError, match=told):
        make()


def test_more_nodes_that_stay_than_there_are_is_refused():
    with pytest.raises(InputError, match=r"least is 9, and the fleet has \d+ nodes at most"):
        under(rigid_trace((0, 30, 2)), replace(QUICK, least=9))
