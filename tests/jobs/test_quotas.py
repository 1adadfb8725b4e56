"""Queues with quotas: worked cases from the rules of Kueue, Volcano and KAI."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import dispatched, job, trace

from foretrain.cluster.mixed import fleet
from foretrain.errors import InputError
from foretrain.jobs.kueue import KueueDispatcher, QuotaTree
from foretrain.jobs.shared import DeservingDispatcher, fair_share, proportion
from foretrain.measured.limit import QuotaQueue


def queued(*rows):
    """Jobs by (queue, submission, devices, seconds)."""
    return trace(
        job(place, group=queue, arrival=float(arrival), devices=devices, work=float(work))
        for place, (queue, arrival, devices, work) in enumerate(rows)
    )


def pair(*, reclaims):
    return tuple(
        QuotaQueue(name=name, cohort="all", devices=4.0, reclaims=reclaims) for name in "AB"
    )


LENT = (("B", 0, 4, 500), ("B", 10, 2, 500), ("B", 20, 2, 500), ("A", 100, 4, 50))


def test_what_was_lent_is_reclaimed_from_the_newest():
    dispatcher = KueueDispatcher(pair(reclaims=True), fleet(8))
    outcomes = dispatched(queued(*LENT), dispatcher, 8)
    assert list(outcomes.stops) == [0, 1, 1, 0]
    assert outcomes.begun[3] == 100.0


def test_who_does_not_reclaim_waits():
    outcomes = dispatched(queued(*LENT), KueueDispatcher(pair(reclaims=False), fleet(8)), 8)
    assert (list(outcomes.stops), outcomes.begun[3]) == ([0, 0, 0, 0], 500.0)


@pytest.mark.parametrize(("wanted", "stopped"), [(6, 0), (5, 0), (4, 2), (3, 2), (2, 1)])
def test_by_fair_sharing_jobs_are_stopped_while_the_other_share_is_no_smaller(wanted, stopped):
    queues = (
        QuotaQueue(name="lender", cohort="all", devices=8.0),
        QuotaQueue(name="P1", cohort="all", reclaims=True),
        QuotaQueue(name="P2", cohort="all", reclaims=True),
    )
    rows = [*[("P1", 0, 2, 100)] * 4, ("P2", 10, wanted, 5)]
    outcomes = dispatched(queued(*rows), KueueDispatcher(queues, fleet(8), fair=True), 8)
    assert sum(outcomes.stops) == stopped
    assert (outcomes.begun[4] == 10.0) == bool(stopped)


def share_with(queues, devices, *, name="A"):
    node = QuotaTree(queues).queues[name]
    node.use("", devices)
    return node.share()


def test_a_share_is_what_is_borrowed_over_what_is_lent():
    queues = [
        QuotaQueue(name="A", cohort="all", devices=4.0),
        QuotaQueue(name="B", cohort="all", devices=12.0),
    ]
    assert share_with(queues, 10.0) == 375.0
    heavy = QuotaQueue(name="A", cohort="all", devices=4.0, weight=2.0)
    assert share_with([heavy, queues[1]], 10.0) == 187.5


@pytest.mark.parametrize(("strict", "expected"), [(False, [0, 202, 2]), (True, [0, 100, 150])])
def test_whether_the_first_that_does_not_fit_blocks_its_queue(strict, expected):
    queues = (QuotaQueue(name="q", devices=8.0, strict=strict),)
    jobs = queued(("q", 0, 6, 100), ("q", 1, 8, 50), ("q", 2, 2, 200))
    assert list(dispatched(jobs, KueueDispatcher(queues, fleet(8)), 8).begun) == expected


@pytest.mark.parametrize(("borrows", "most"), [(float("inf"), 5.0), (0.0, 4.0)])
def test_a_queue_borrows_what_others_lend(borrows, most):
    tree = QuotaTree(
        [
            QuotaQueue(name="A", cohort="all", devices=4.0, lends=1.0),
            QuotaQueue(name="B", cohort="all", devices=4.0, borrows=borrows),
        ]
    )
    assert tree.available("B") == most


def equal_pair():
    return (QuotaQueue(name="B"), QuotaQueue(name="C"))


def test_proportion_may_leave_a_cluster_idle_for_ever():
    """As volcano's issue 1096 tells, and still follows from its code."""
    assert proportion(equal_pair(), {"B": 2.0, "C": 2.0}, 3.0) == {"B": 1.5, "C": 1.5}
    jobs = queued(("B", 0, 2, 10), ("C", 0, 2, 10))
    dispatcher = DeservingDispatcher(equal_pair(), fleet(3), divide=proportion)
    with pytest.raises(InputError, match="would never end"):
        dispatched(jobs, dispatcher, 3)


def weighed(*weights, devices=0.0, past=()):
    used = (*past, *[0.0] * len(weights))
    return [
        QuotaQueue(name=name, weight=float(weight), devices=devices, past=use)
        for name, weight, use in zip("abc", weights, used, strict=False)
    ]


def test_what_is_left_is_dealt_by_weight_until_all_are_served():
    found = proportion(weighed(1, 2, 3), {"a": 16.0, "b": 4.0, "c": 20.0}, 24.0)
    assert found == pytest.approx({"a": 5.0, "b": 4.0, "c": 15.0})


def test_fair_shares_are_whole_and_the_last_goes_to_the_largest_remainder():
    asked = {"a": 16.0, "b": 16.0, "c": 1.0}
    assert fair_share(weighed(2, 1, 1, devices=4.0), asked, 16.0) == {"a": 9, "b": 6, "c": 1}


def test_who_has_used_much_is_due_less():
    queues = weighed(1, 1, past=(0.5,))
    found = fair_share(queues, {"a": 16.0, "b": 16.0}, 16.0, memory=1.0)
    assert found == {"a": 5.0, "b": 11.0}


@few(60)
@given(
    weights=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    asked=st.lists(st.integers(0, 20), min_size=3, max_size=3),
    devices=st.integers(1, 30),
)
def test_divisions_give_no_more_than_there_is_or_is_asked_for(weights, asked, devices):
    queues = weighed(*weights)
    wanted = {each.name: float(asked[place]) for place, each in enumerate(queues)}
    for divide in (proportion, fair_share):
        found = divide(queues, wanted, float(devices))
        assert sum(found.values()) == pytest.approx(min(devices, sum(wanted.values())), abs=1e-6)
        assert all(found[name] <= wanted[name] + 1e-9 for name in wanted)


def test_a_queue_that_is_not_there_is_refused():
    for dispatcher in (
        KueueDispatcher(pair(reclaims=True), fleet(8)),
        DeservingDispatcher(pair(reclaims=True), fleet(8), divide=proportion),
    ):
        with pytest.raises(InputError, match=r"queue 'C', which the site has not\. Known: A, B"):
            dispatched(queued(("C", 0, 1, 1)), dispatcher, 8)
