"""Sia: by hand, and its integer program against trying everything."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.policies.states import active, devices_of, state

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.errors import InputError
from foretrain.jobs.policies.sia import Sia
from foretrain.throughput import Point, PowerLaw, ThroughputCurve

LINEAR = PowerLaw(exponent=1.0, most=16)
MIXED = Fleet(nodes=(Nodes(count=1, devices=4, kind="new"), Nodes(count=1, devices=4, kind="old")))


def kinds(name, new, old):
    """A job that runs on one device, at some rates on new and old ones."""
    points = (Point(devices=1, rate=new, kind="new"), Point(devices=1, rate=old, kind="old"))
    return ThroughputCurve(name=name, points=points)


def test_a_new_job_is_given_one_device_at_first():
    assert devices_of(Sia()(state(active(0, LINEAR), devices=16, per_node=4))) == {0: 1}


def test_a_job_alone_gets_all_that_it_may_try():
    seen = state(active(0, LINEAR, holds=8), devices=16, per_node=4, now=600.0)
    assert devices_of(Sia()(seen)) == {0: 16}


def test_within_a_node_devices_are_powers_of_two():
    narrow = active(0, PowerLaw(exponent=1.0, most=3), holds=2)
    assert devices_of(Sia()(state(narrow, devices=4, per_node=4))) == {0: 2}


def test_new_devices_go_to_the_job_that_gains_most_by_them():
    few_new = Fleet(
        nodes=(Nodes(count=1, devices=1, kind="new"), Nodes(count=1, devices=1, kind="old"))
    )
    jobs = active(0, kinds("even", 1.1, 1.0)), active(1, kinds("keen", 4.0, 1.0))
    grants = Sia()(state(*jobs, devices=2, shared=few_new))
    assert {rank: grant.kinds for rank, grant in grants.items()} == {0: ("old",), 1: ("new",)}


def test_a_job_keeps_to_the_kinds_that_it_can_use():
    jobs = (active(0, kinds("old alone", 4.0, 1.0), kinds=("old",)),)
    assert Sia()(state(*jobs, devices=8, shared=MIXED))[0].kinds == ("old",)


def test_a_job_that_was_restarted_all_the_time_is_left_alone():
    job = active(0, LINEAR, holds=4, stops=19)
    assert devices_of(Sia()(state(job, devices=16, per_node=4, now=600.0))) == {0: 4}


def test_when_there_are_too_few_devices_somebody_waits():
    jobs = [active(place, LINEAR) for place in range(5)]
    assert sorted(devices_of(Sia()(state(*jobs, devices=4, per_node=4))).values()) == [1] * 4


@few(10)
@given(exponents=st.lists(st.floats(0.05, 1.0), min_size=1, max_size=3))
def test_no_choice_costs_less(exponents):
    curves = [PowerLaw(exponent=exponent, most=8) for exponent in exponents]
    jobs = [active(place, curve, holds=8) for place, curve in enumerate(curves)]
    grants = devices_of(Sia(delay=0.0)(state(*jobs, devices=8, per_node=4, now=600.0)))

    def cost(counts):
        pairs = zip(exponents, counts, strict=True)
        return sum((count**exponent) ** -0.5 if count else 1.1 for exponent, count in pairs)

    best = min(
        cost(counts) for counts in product((0, 1, 2, 4, 8), repeat=len(curves)) if sum(counts) <= 8
    )
    chosen = cost([grants.get(place, 0) for place in range(len(curves))])
    assert chosen == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize(
    ("application", "seconds"),
    [("deepspeech2", 25), ("imagenet", 250), ("cifar10", 20), ("bert", 120), ("yolov3", 80)],
)
def test_a_restart_costs_what_the_authors_take_for_the_application(application, seconds):
    """The table of `get_restart_penalty` in the artifacts of the paper; 30 s for others."""
    assert costs_of(application) == costs_of("", delay=float(seconds))
    assert costs_of("ncf") == costs_of("", delay=30.0)


def costs_of(application, **settings):
    job = active(0, LINEAR, holds=2, stops=1)
    job.job = replace(job.job, group=application)
    nodes = state(job, devices=4, per_node=4).fleet.nodes[0]
    options = [(nodes, 1, 1.0), (nodes, 2, 2.0), (nodes, 4, 3.0)]
    return Sia(**settings)._costs(job, options, job.job.arrival + 1000.0)


def test_settings_that_mean_nothing_are_refused():
    with pytest.raises(InputError, match="fairness must be below 0"):
        Sia(fairness=0.0)
    with pytest.raises(InputError, match="left_out must be above 0"):
        Sia(left_out=0.0)
    with pytest.raises(InputError, match="delays at least 0 s"):
        Sia(delays={"bert": -1.0})


@pytest.mark.parametrize(("stops", "kept"), [(0, 100 / 130), (1, 70 / 130), (4, 0.0)])
def test_another_configuration_counts_by_the_time_that_restarts_leave(stops, kept):
    """At 100 s, each restart taking 30 s: of 130 s with one more, those that were worked."""
    sia = Sia(delay=30.0)
    job = active(0, LINEAR, holds=2, stops=stops)
    nodes = state(job, devices=4, per_node=4).fleet.nodes[0]
    options = [(nodes, 1, 1.0), (nodes, 2, 2.0), (nodes, 4, 3.0)]
    one, same, four = sia._costs(job, options, job.job.arrival + 100.0)
    assert same == pytest.approx(2.0**sia.fairness)
    for found, speed in ((one, 1.0), (four, 3.0)):
        due = (speed * kept) ** sia.fairness if kept else sia.left_out
        assert found == pytest.approx(due)
