"""Priorities that explain a log: weights that are printed, weights that orders tell, and shares."""

import numpy as np
from tests.jobs.runs import job

from foretrain.jobs.priority_evidence import (
    AGE,
    FAIR_SHARE,
    FIRST_QUALITY,
    SIZE,
    Explanation,
    FittedWeights,
    LogFactors,
    OrderEvidence,
    PrintedEvidence,
    descended,
    explanations,
    logistic,
)
from foretrain.jobs.start_orders import start_pairs, started
from foretrain.jobs.user_ranks import SHARES

DAY = 86_400.0
FACTORS = LogFactors(period=300.0, nodes=4, per_node=2)


def waiting(count=40):
    """Jobs that come at once a minute and start one after the other, the urgent ones first."""
    random = np.random.default_rng(3)
    urgent = random.random(count) < 0.5
    jobs = [
        job(place, arrival=60.0 * place, work=500.0, devices=1 + place % 3,
            qos="urgent" if urgent[place] else "normal")
        for place in range(count)
    ]  # fmt: skip
    order = sorted(range(count), key=lambda place: (not urgent[place], place))
    begun = {jobs[place].name: 1e5 + 500.0 * turn for turn, place in enumerate(order)}
    return jobs, begun


def evidence(jobs):
    pairs = start_pairs(jobs, np.ones(len(jobs.begun), dtype=bool))
    return OrderEvidence(jobs, pairs, FACTORS)


def test_orders_tell_that_a_quality_goes_before_the_other_and_size_does_not_matter():
    log = started(*waiting(), {})
    found = explanations(evidence(log), log)
    exact = [each.fit for each in found if not each.fit.broken]
    assert exact
    assert all(fit.weights[FIRST_QUALITY] > 0.0 for fit in exact)
    assert any(not fit.weights[SIZE] for fit in exact)
    assert max(each.fit.broken for each in found) > 0.1


def test_weights_of_printed_priorities_are_those_of_the_site():
    jobs, begun = waiting()
    log = started(jobs, begun, {})
    point = Explanation.nothing(log).point
    fixed = FACTORS.fixed(log)
    age = np.minimum(1.0, FACTORS.age(log.arrival, log.begun) / point.longest)
    printed = np.trunc(4_000.0 * age + 700.0 * fixed[:, 0] + 2_500.0 * fixed[:, 1] + 100.0)
    priorities = {each.name: float(value) for each, value in zip(jobs, printed, strict=True)}
    told = PrintedEvidence(started(jobs, begun, priorities), FACTORS)
    weights = told.fit(point, without=(FAIR_SHARE,)).weights
    assert abs(weights[AGE] / 4_000.0 - 1.0) < 0.02
    assert abs(weights[SIZE] / 700.0 - 1.0) < 0.02
    assert abs(weights[FIRST_QUALITY] / 2_500.0 - 1.0) < 0.001


def test_who_came_first_stands_first_where_weights_say_nothing():
    log = started(*waiting(), {})
    nothing = evidence(log).fit(Explanation.nothing(log).point, without=(0, 1, 2, 3))
    assert not nothing.weights.any()
    assert 0.0 < nothing.broken < 1.0


def test_a_regression_keeps_every_order_that_can_be_kept():
    differences = np.array([[1.0, 0.0], [0.5, 1.0], [-0.1, 2.0]])
    found = logistic(differences, np.ones(3), tie=np.zeros(3))
    assert found.broken == 0.0
    against = logistic(np.vstack([differences, -differences[:1]]), np.ones(4), tie=np.zeros(4))
    assert against.broken == 0.25


def test_starts_are_broken_where_somebody_who_waited_stood_before_them():
    log = started(*waiting(), {})
    orders, point = evidence(log), Explanation.nothing(log).point
    for_urgent = np.zeros(FIRST_QUALITY + 1)
    for_urgent[FIRST_QUALITY] = 1_000.0
    assert orders.broken_starts(point, for_urgent).total == 0
    urgent = frozenset(np.flatnonzero(log.qos == 1).tolist())
    broken = orders.broken_starts(point, -for_urgent)
    assert broken.missed == urgent
    assert broken.early
    assert not broken.early & urgent


def test_a_priority_of_nothing_breaks_no_order_unless_ties_count():
    log = started(*waiting(), {})
    orders, nothing = evidence(log), Explanation.nothing(log)
    assert not orders.broken_starts(nothing.point, nothing.fit.weights).total
    assert orders.broken_starts(nothing.point, nothing.fit.weights, ties=True).total


def test_shares_and_the_half_life_are_found_one_after_the_other():
    jobs = [
        job(place, arrival=0.0, work=3_600.0, devices=1, user="uvw"[place % 3], account="a")
        for place in range(60)
    ]
    log = started(jobs, {each.name: 0.0 for each in jobs}, {})
    equal = Explanation.nothing(log).point
    wanted = equal._replace(users=(SHARES.index(3.0), SHARES.index(1.0), SHARES.index(1.0)))

    class Distance:
        """Least at some point."""

        def fit(self, point, *, near=None, without=()):
            off = sum(
                abs(one - other) for one, other in zip(point.users, wanted.users, strict=True)
            )
            off += abs(point.half_life - 24 * 3_600.0) / 3_600.0
            return FittedWeights(np.zeros(4), float(off), 0.0)

    found = descended(Distance(), equal, times=True)
    assert found.point.users == wanted.users
    assert found.point.half_life == 24 * 3_600.0
    assert descended(Distance(), equal).point.half_life == equal.half_life
