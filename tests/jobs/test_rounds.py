"""Rounds: by hand, and against laws that hold for every division of time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import examples

from foretrain.cluster.mixed import Fleet, Nodes, fleet
from foretrain.errors import InputError
from foretrain.jobs.active import CountedPool
from foretrain.jobs.nodes import NodePool, packed
from foretrain.jobs.policies.elastic import gandiva_fair
from foretrain.jobs.policies.max_min import AlloX, FinishTimeFairness, max_min, max_sum
from foretrain.jobs.rounds import RoundsDispatcher, Rules
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import (
    Job,
    Trace,
)
from foretrain.throughput import (
    JobPhase,
    Phased,
    Point,
    ThroughputCurve,
    rigid,
)

DIVISIONS = {
    "max-min": lambda: max_min,
    "max-sum": lambda: max_sum,
    "gandiva-fair": lambda: gandiva_fair,
    "allox": AlloX,
    "finish-time": FinishTimeFairness,
}


def curve(rate, devices=1, kind=""):
    return ThroughputCurve(name="by hand", points=(Point(devices=devices, rate=rate, kind=kind),))


def trace(*rows, restart=0.0):
    """Jobs by (arrival, seconds of work, devices)."""
    jobs = (
        Job(
            name=f"j{place:03d}",
            arrival=arrival,
            work=work,
            curve=rigid(devices),
            devices=devices,
            start=restart,
            restart=restart,
        )
        for place, (arrival, work, devices) in enumerate(rows)
    )
    return Trace(name="by hand", jobs=tuple(jobs))


def simulated(jobs, shared, divide=max_min, **rules):
    dispatcher = RoundsDispatcher(divide, shared, rules=Rules(**rules))
    return Simulation(jobs, CountedPool(shared), dispatcher).run()


def test_two_jobs_take_turns_on_one_device():
    outcomes = simulated(trace((0, 20, 1), (0, 20, 1)), fleet(1), period=10.0)
    assert list(outcomes.ended) == [30, 40]


def test_who_runs_on_as_before_is_not_started_anew():
    outcomes = simulated(trace((0, 30, 1), restart=5.0), fleet(1), period=10.0)
    assert list(outcomes.ended) == [35]
    assert list(outcomes.stops) == [0]


def test_who_runs_on_as_before_stays_on_its_nodes():
    nodes = fleet(8, per_node=4)
    dispatcher = RoundsDispatcher(max_min, nodes, rules=Rules(period=10.0))
    jobs = trace((0, 10, 2), (0, 30, 4), restart=5.0)
    outcomes = Simulation(jobs, NodePool(nodes, packed), dispatcher).run()
    assert list(outcomes.ended) == [15, 35]
    assert list(outcomes.stops) == [0, 0]


def test_every_turn_after_a_pause_costs_a_restart():
    outcomes = simulated(trace((0, 10, 1), (0, 10, 1), restart=5.0), fleet(1), period=10.0)
    assert list(outcomes.ended) == [30, 40]
    assert list(outcomes.stops) == [1, 1]


def test_a_job_that_comes_within_a_round_waits_for_the_next():
    outcomes = simulated(trace((0, 15, 1), (1, 3, 1)), fleet(2), period=10.0)
    assert list(outcomes.ended) == [15, 13]


def test_a_round_ends_early_once_all_of_its_jobs_have_ended():
    outcomes = simulated(trace((0, 4, 1), (1, 4, 1)), fleet(1), period=10.0)
    assert list(outcomes.ended) == [4, 8]


def test_a_job_works_in_whole_steps():
    job = Job(name="steps", arrival=0.0, work=10.0, curve=curve(0.25), devices=1)
    outcomes = simulated(Trace(name="steps", jobs=(job,)), fleet(1), period=10.0)
    assert outcomes.ended[0] == 40
    assert outcomes.attained[0] == 40


def test_a_round_lasts_as_long_as_its_longest_steps():
    slow = Job(name="a", arrival=0.0, work=3.0, curve=curve(0.3), devices=1)
    quick = Job(name="b", arrival=0.0, work=12.0, curve=curve(1.0), devices=1)
    outcomes = simulated(Trace(name="both", jobs=(slow, quick)), fleet(2), period=9.0)
    assert list(outcomes.ended) == pytest.approx([2 / 0.3 + 7 / 3 + 1 / 0.3, 12])


def test_gangs_that_do_not_fit_are_passed():
    outcomes = simulated(trace((0, 10, 3), (0, 10, 2), (0, 10, 1)), fleet(3), period=10.0)
    assert list(outcomes.ended) == [20, 10, 10]


def test_without_spare_devices_newcomers_wait_for_a_new_division():
    jobs = trace((0, 100, 1), (1, 10, 1), (11, 10, 1))
    assert list(simulated(jobs, fleet(3), period=10.0, renewal=50.0).ended) == [100, 20, 30]
    strict = simulated(jobs, fleet(3), period=10.0, renewal=50.0, spare=False)
    assert list(strict.ended) == [100, 20, 70]


def test_nobody_runs_where_he_has_no_share_unless_devices_are_spare():
    nodes = Fleet(nodes=(Nodes(count=1, devices=1, kind="a"), Nodes(count=1, devices=1, kind="b")))

    def only_a(state):
        return {active.rank: {"a": 1.0} for active in state.jobs}

    jobs = trace((0, 10, 1), (0, 10, 1))
    assert list(simulated(jobs, nodes, only_a, period=10.0).ended) == [10, 10]
    assert list(simulated(jobs, nodes, only_a, period=10.0, spare=False).ended) == [10, 20]


def test_kinds_are_dealt_out_in_the_order_of_the_fleet():
    """Who may run on the first kind does, though he is further behind on the second."""
    kinds = (Nodes(count=1, devices=1, kind="a"), Nodes(count=1, devices=1, kind="b"))

    def split(state):
        return {active.rank: {"a": 0.1, "b": 0.9} for active in state.jobs}

    jobs = tuple(
        Job(
            name="alone",
            arrival=0.0,
            work=10.0,
            curve=ThroughputCurve(
                name="by hand",
                points=(
                    Point(devices=1, rate=quick, kind="a"),
                    Point(devices=1, rate=1.0, kind="b"),
                ),
            ),
            devices=1,
        )
        for quick in (2.0,)
    )
    alone = Trace(name="alone", jobs=jobs)
    assert list(simulated(alone, Fleet(nodes=kinds), split, period=10.0).ended) == [5]
    assert list(simulated(alone, Fleet(nodes=kinds[::-1]), split, period=10.0).ended) == [10]


def test_a_start_takes_its_part_of_a_rounds_whole_steps():
    """Three steps fit into 10 s; a start of 4 s leaves 5 / 9 of them, which is one whole step."""
    job = Job(name="a", arrival=0.0, work=7.0, curve=curve(1 / 3), devices=1, start=4.0)
    outcomes = simulated(Trace(name="a", jobs=(job,)), fleet(1), period=10.0)
    assert outcomes.ended[0] == pytest.approx(9 + 3 * 3 + 3 * 3)


def test_the_seconds_of_a_start_are_not_received():
    """A B A B A B: he who has begun twice is behind him who has begun once by what that took."""
    jobs = trace((0, 16, 1), (0, 16, 1), restart=2.0)
    outcomes = simulated(jobs, fleet(1), period=10.0, renewal=1e9)
    assert list(outcomes.ended) == [30, 40]


def test_a_job_that_changes_its_batch_pauses_to_the_end_of_the_round_and_starts_anew():
    phases = Phased(
        (JobPhase(begins=0.0, curve=curve(1.0)), JobPhase(begins=4.0, curve=curve(2.0)))
    )
    changing = Job(name="a", arrival=0.0, work=24.0, curve=phases, devices=1, restart=3.0)
    other = Job(name="b", arrival=0.0, work=30.0, curve=curve(1.0), devices=1)
    outcomes = simulated(Trace(name="both", jobs=(changing, other)), fleet(2), period=10.0)
    assert list(outcomes.ended) == [10 + 3 + 10, 30]
    assert outcomes.stops[0] == 1


def test_over_many_rounds_time_is_divided_as_promised():
    def one_to_three(state):
        return {active.rank: {"": (1 + 2 * (active.rank % 2)) / 4} for active in state.jobs}

    jobs = trace((0, 1000, 1), (0, 3000, 1))
    ended = simulated(jobs, fleet(1), one_to_three, period=10.0, renewal=1e9).ended
    assert list(ended) == pytest.approx([4000, 4000], abs=30)


def test_a_gang_that_no_kind_can_hold_is_reported():
    with pytest.raises(InputError, match="would never end"):
        simulated(trace((0, 1, 3)), fleet(2), period=10.0)


def test_rounds_of_no_length_are_refused():
    with pytest.raises(InputError, match="period must be above 0"):
        Rules(period=0.0)


rows = st.lists(
    st.tuples(st.integers(0, 200), st.integers(1, 90), st.integers(1, 4)), min_size=1, max_size=10
)


@pytest.mark.parametrize("name", DIVISIONS)
@examples.few(30)
@given(rows=rows, restart=st.sampled_from([0.0, 3.0]))
def test_every_job_ends_after_its_work_and_the_books_balance(name, rows, restart):
    jobs = trace(*rows, restart=restart)
    outcomes = simulated(jobs, fleet(4), DIVISIONS[name](), period=10.0, renewal=40.0)
    for job, end in zip(jobs.jobs, outcomes.ended, strict=True):
        assert end >= job.arrival + job.work + restart - 1e-6


@examples.few(30)
@given(rows=rows, factor=st.sampled_from([2.0, 8.0]))
def test_times_scale_with_the_clock(rows, factor):
    def stretched(by):
        jobs = tuple(
            Job(
                name=f"j{place:03d}",
                arrival=arrival * by,
                work=float(work),
                curve=curve(1.0 / by, devices),
                devices=devices,
            )
            for place, (arrival, work, devices) in enumerate(rows)
        )
        rules = {"period": 10.0 * by, "renewal": 40.0 * by}
        return simulated(Trace(name="by hand", jobs=jobs), fleet(4), **rules).ended

    assert list(stretched(factor)) == pytest.approx([end * factor for end in stretched(1.0)])


def test_who_comes_between_two_divisions_has_no_lead_over_those_who_were_there():
    outcomes = simulated(
        trace((1, 20, 1), (1, 10, 1), (5, 10, 1)),
        fleet(1),
        divide=lambda state: {},
        period=10.0,
        renewal=1000.0,
        spare=True,
    )
    assert list(outcomes.ended) == [21, 31, 41]


def test_who_has_more_of_the_time_does_not_have_all_of_it_though_divisions_may_be_renewed():
    """Turns A B A A A B A A B A: who is furthest behind its share comes first."""
    outcomes = simulated(
        trace((0, 70, 1), (0, 30, 1)),
        fleet(1),
        divide=lambda state: {0: {"": 0.7}, 1: {"": 0.3}},
        period=10.0,
        renewal=0.0,
    )
    assert list(outcomes.ended) == [100, 90]
