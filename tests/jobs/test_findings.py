"""What follows from a comparison of policies: each sentence where it holds, and nowhere else."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from tests.jobs.runs import job

from foretrain.jobs.asked import Capacity, Enough
from foretrain.jobs.findings import findings, of_replays, of_wishes
from foretrain.jobs.result import (
    CurvePoint,
    JobCounts,
    LoadPoint,
    ModelCurve,
    PolicyPair,
    PolicyResult,
    Replayed,
)

NOBODY = JobCounts(submitted=0, finished=0, stopped=0, failed=0, killed=0, waiting=0, running=0)


def did(response, waiting=0.0, *, low=None, high=None):
    """What a policy did, of which these sentences read nothing else."""
    return PolicyResult(
        mean_response=response, low=low, high=high, p50=0.0, p95=0.0, p99=0.0, quantiles=(),
        mean_waiting=waiting, median_waiting=0.0, p95_waiting=0.0, mean_response_finished=None,
        makespan=0.0,
        utilisation=0.0, fragmentation=None, interruptions=0.0, cost=None, jobs=NOBODY,
        groups=(), users=(),
    )  # fmt: skip


def point(load=None, *, pairs=(), **policies):
    return LoadPoint(load=load, policies=policies, pairs=pairs)


def test_the_shortest_mean_response_is_the_best():
    found = findings([point(fifo=did(50.0, 10.0), sjf=did(40.0, 10.0))], ())
    assert found == ("sjf has the shortest mean response: 40 s, of which 25 % is waiting.",)


def test_interval_and_load_are_told_where_they_are_known():
    (first, *_) = findings([point(0.5, fifo=did(50.0, low=45.0, high=55.0))], ())
    assert first.startswith("fifo has the shortest mean response at load 0.5: 50 s (45 s to 55 s)")
    for low, high in ((None, 55.0), (45.0, None)):
        assert "(" not in findings([point(fifo=did(50.0, low=low, high=high))], ())[0]


@pytest.mark.parametrize(("load", "grows"), [(0.99, False), (1.0, True), (1.2, True)])
def test_from_a_load_of_1_on_there_is_no_steady_state(load, grows):
    found = findings([point(load, fifo=did(100.0))], ())
    assert any("no steady state" in text for text in found) is grows


@pytest.mark.parametrize(
    ("load", "used", "short"),
    [(0.8, 0.3, True), (0.8, 0.5, False), (0.8, 0.0, False), (1.2, 0.3, False), (None, 0.1, False)],
)
def test_a_run_that_ends_before_its_cluster_fills_says_so(load, used, short):
    did_little = replace(did(100.0), utilisation=used)
    found = findings([point(load, fifo=did_little)], ())
    assert any("draw more" in text for text in found) is short


@pytest.mark.parametrize(("waiting", "crowded"), [(66.0, False), (67.0, True), (100.0, False)])
def test_a_queue_is_long_where_jobs_wait_more_than_twice_as_long_as_they_run(waiting, crowded):
    """100 s in all: 34 s and 66 s are less than twice, 33 s and 67 s more; work of 0 tells none."""
    found = findings([point(fifo=did(100.0, waiting))], ())
    told = [text for text in found if "more devices help here" in text]
    assert bool(told) is crowded
    if crowded:
        assert told[0].startswith(f"Jobs wait {67 / 33:.1f} times as long as they run;")


@pytest.mark.parametrize(
    ("difference", "p", "says"),
    [
        (0.0, 0.5, "sjf has the same mean on these jobs."),
        (3.0, None, "sjf is next, 3 s longer; one run cannot say how sure that is."),
        (3.0, 0.009, "sjf is next, 3 s longer on the same jobs (p = 0.009)."),
        (3.0, 0.01, "sjf is next, 3 s longer, which may be chance (p = 0.01)"),
    ],
)
def test_next_policy_is_as_far_off_as_it_is_sure(difference, p, says):
    ends = (None, None) if p is None else (1.0, 5.0)
    pair = PolicyPair(
        first="fifo", second="sjf", difference=difference, low=ends[0], high=ends[1], p=p
    )
    other = PolicyPair(first="sjf", second="las", difference=9.0, low=None, high=None, p=None)
    found = findings([point(fifo=did(9.0), sjf=did(12.0), pairs=(pair, other))], ())
    assert found[1].startswith(says)
    assert len(found) == 2


def test_a_best_policy_that_changes_with_the_load_is_told():
    low = point(0.5, fifo=did(1.0), sjf=did(2.0))
    high = point(0.9, fifo=did(9.0), sjf=did(8.0))
    said = "The best policy changes with the load: fifo at 0.5, sjf at 0.9."
    assert said in findings([low, high], ())
    assert not any("changes" in text for text in findings([low], ()))
    assert not any("changes" in text for text in findings([low, low], ()))


def needs(**changed):
    enough = {
        "policy": "fifo", "nodes": 2, "devices": 16, "response": 40.0, "utilisation": 0.5,
        "price": None,
    }  # fmt: skip
    policies = (Enough(**enough | changed),)
    target = Capacity(quantity="mean", seconds=50.0, load=None, policies=policies)
    return findings([], (), target)[0]


def test_nodes_that_keep_a_target_are_told_with_what_they_cost():
    assert needs() == (
        "fifo keeps a mean response of 50 s from 2 nodes on (16 devices), 50 % of them held."
    )
    assert "from 1 node on (1 device)" in needs(nodes=1, devices=1)
    assert "(16 devices, 36 USD an hour)" in needs(price=0.01)
    assert "(16 devices)" in needs(price=0.0)


def test_a_target_that_no_number_of_nodes_keeps_is_told_with_what_they_do():
    assert needs(nodes=None) == (
        "fifo does not keep a mean response of 50 s on any number of nodes that was looked at"
        " (40 s on 16 devices)."
    )
    assert "(some jobs or quotas do not fit on 16 devices)" in needs(nodes=None, response=None)


def test_the_percentile_is_named():
    target = Capacity(
        quantity="p95",
        seconds=50.0,
        load=None,
        policies=(
            Enough(policy="fifo", nodes=1, devices=8, response=1.0, utilisation=0.5, price=None),
        ),
    )
    assert "a response of 95 % of the jobs of 50 s" in findings([], (), target)[0]


def replayed(**changed):
    known = {
        "policy": "fifo", "devices": 8, "gap": 0.05, "logged": 50.0, "simulated": 52.0,
        "error": 0.04,
    }  # fmt: skip
    return of_replays([Replayed(**known | changed)])


def test_a_replay_is_trusted_up_to_a_tenth():
    assert replayed() == (
        "Replayed under fifo on 8 devices, jobs of the second half of the waiting wait 52 s"
        " (median) where the log says 50 s; job by job, the first half is 5 % of the mean"
        " waiting off.",
    )
    assert len(replayed(error=0.1)) == 1
    for error in (0.11, None):
        assert "too far off to trust" in replayed(error=error)[1]
    assert replayed(gap=None)[0].endswith("in the log nobody waited.")
    assert of_replays([]) == ()


def test_wishes_that_nobody_heeds_are_counted():
    jobs = [job(0, priority=2.0), job(1, priority=1.0), job(2, deadline=9.0), job(3, deadline=0.0)]
    assert list(of_wishes(jobs, ["fifo"])) == [
        "Of all jobs 1 have a priority, which is not heeded under fifo.",
        "Of all jobs 2 have a deadline, which is not heeded under fifo.",
    ]
    assert list(of_wishes(jobs[1:2], ["fifo"])) == []
    (deadlines,) = of_wishes(jobs, ["max-min-kinds"])
    assert "deadline" in deadlines


def curve_of(fed=None, *, asks=8, members=1):
    """A model that trains at 50 samples/s on one device, and at 300 on eight."""
    points = (
        CurvePoint(devices=1, rate=50.0, low=0.0, high=0.0, efficiency=1.0, plan=None),
        CurvePoint(devices=4, rate=180.0, low=0.0, high=0.0, efficiency=0.9, plan=None, input=fed),
        CurvePoint(devices=8, rate=300.0, low=0.0, high=0.0, efficiency=0.75, plan=None),
    )
    return ModelCurve(
        name="net", points=points, asks=asks, why="for so it is", refused={}, members=members
    )


def test_what_a_model_asks_for_is_told_with_its_least_and_its_most_devices():
    (told,) = findings([], [curve_of()])
    assert told == (
        "A job of net asks for 8 devices, for so it is: it trains 50 samples/s on 1 and 300"
        " samples/s on 8, where a device does 75 % of that."
    )


def test_how_members_are_fed_is_told_of_the_devices_that_are_asked_for():
    fed = SimpleNamespace(verdict="The readers keep up.")
    (_, told) = findings([], [curve_of(fed, asks=4, members=3)])
    assert told == "Its 3 members train at that pace each. The readers keep up."
    assert len(findings([], [curve_of(fed, asks=8, members=3)])) == 1


@pytest.mark.parametrize(("rate", "told"), [(0.12345, "0.123"), (12.34, "12.3"), (1234.5, "1,234")])
def test_a_rate_is_told_with_three_digits_or_as_a_whole_number(rate, told):
    curve = curve_of()
    points = tuple(replace(each, rate=rate) for each in curve.points)
    assert f"trains {told} samples/s on 1" in findings([], [replace(curve, points=points)])[0]
