"""Comparison: runs of one policy taken together, and two policies on the same jobs."""

import pytest

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.result import JobCounts, PartyResult
from foretrain.jobs.summary import PARTS, RunSummary, pair, policy_result

FLEET = Fleet(nodes=(Nodes(count=1, devices=4, price=0.5),))


def part(name, jobs, response, held):
    return PartyResult(
        name=name, jobs=jobs, mean_response=response, mean_waiting=1.0, device_time=held
    )


def ran(*responses, waiting=(0.0,), makespan=100.0, groups=(), interruptions=0):
    """One run of a policy."""
    count = len(responses)
    return RunSummary(
        responses=responses,
        waiting=waiting,
        finished=responses[:-1],
        makespan=makespan,
        utilisation=0.5,
        fragmentation=None,
        interruptions=interruptions,
        counts=JobCounts(
            submitted=count, finished=count - 1, stopped=0, failed=1, killed=0, waiting=0
        ),
        groups=groups,
        users=(),
    )


def test_runs_of_all_seeds_are_taken_together():
    found = policy_result(
        FLEET,
        [
            ran(1.0, 2.0, 3.0, makespan=90.0, interruptions=5),
            ran(5.0, 6.0, 7.0, makespan=110.0, interruptions=1),
        ],
    )
    assert found.mean_response == 4.0
    assert found.mean_response_finished == pytest.approx((1 + 2 + 5 + 6) / 4)
    assert (found.quantiles[0], found.p50, found.quantiles[100]) == (1.0, 4.0, 7.0)
    assert found.cost == pytest.approx(100.0 * 4 * 0.5)
    assert found.interruptions == 1.0
    assert (found.jobs.submitted, found.jobs.finished, found.jobs.failed) == (6, 4, 2)


def test_the_median_of_an_even_number_lies_between_the_middle_ones():
    assert policy_result(FLEET, [ran(1.0, 1.0, waiting=(0.0, 4.0))]).median_waiting == 2.0


def test_one_short_run_has_no_interval_and_a_long_one_has():
    short = policy_result(FLEET, [ran(*range(2 * PARTS - 1))])
    assert (short.low, short.high) == (None, None)
    long = policy_result(FLEET, [ran(*(float(place % 7) for place in range(20 * PARTS)))])
    assert long.low < long.mean_response < long.high


def test_no_interval_of_a_mean_goes_below_0():
    few = policy_result(FLEET, [ran(1.0, 2.0), ran(9.0, 7.0), ran(900.0, 1000.0)])
    assert 0 < few.low < few.mean_response < few.high
    ragged = [0.01] * 300 + [5000.0] * 20 + [0.01] * 80
    one = policy_result(FLEET, [ran(*ragged)])
    assert one.low is None or 0 < one.low < one.mean_response < one.high


def test_a_group_weighs_by_its_jobs_in_each_run():
    runs = [
        ran(1.0, 2.0, groups=(part("a", 1, 10.0, 5.0), part("b", 1, 1.0, 9.0))),
        ran(1.0, 2.0, groups=(part("a", 3, 2.0, 7.0),)),
    ]
    first, second = policy_result(FLEET, runs).groups
    assert (first.name, first.jobs, first.mean_response, first.device_time) == ("a", 4, 4.0, 12.0)
    assert (second.name, second.jobs) == ("b", 1)


def test_a_pair_is_compared_on_the_same_jobs():
    runs = {"x": [ran(1.0, 1.0), ran(9.0, 9.0)], "y": [ran(2.0, 2.0), ran(10.0, 10.5)]}
    found = pair("x", "y", runs)
    assert found.difference == pytest.approx(1.125)
    assert found.low < found.difference < found.high
    assert 0 < found.p < 1
    assert pair("x", "y", {name: some[:1] for name, some in runs.items()}).p is None


def test_percentiles_are_those_of_all_responses():
    found = policy_result(
        FLEET, [ran(*map(float, range(0, 101, 2))), ran(*map(float, range(1, 100, 2)))]
    )
    assert (found.p50, found.p95, found.p99) == (50.0, 95.0, 99.0)
    assert found.quantiles == tuple(map(float, range(101)))
