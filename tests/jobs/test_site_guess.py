"""Guesses near a guess: each differs in one thing, and stays a site that rules can be made of."""

from dataclasses import replace

import numpy as np
import pytest
from tests.jobs.test_inferred import log_of, site

from foretrain.jobs.inferred import usual
from foretrain.jobs.priority_evidence import FIRST_QUALITY, Explanation
from foretrain.jobs.replay import WrongDecisions
from foretrain.jobs.site_guess import Nearby, SiteGuess, passing
from foretrain.jobs.start_orders import started
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.site import BackfillRules

LOG = log_of(site(backfill=None))
JOBS = started(LOG.trace.jobs, LOG.begun, {})


def guess():
    nothing = Explanation.nothing(JOBS)
    weights = np.arange(1.0, len(nothing.fit.weights) + 1.0)
    return SiteGuess(
        priority=nothing._replace(fit=nothing.fit._replace(weights=weights)),
        parts={},
        groups=JOBS.groups,
        nodes=4,
        per_node=2,
        backfill=BackfillRules(interval=60.0),
    )


def nearby(seed):
    random = np.random.default_rng(seed)
    return Nearby(
        JOBS, random, otherwise=lambda each: [*passing(each, 60.0)], refit=lambda each: each
    )


def test_a_step_changes_one_thing_alone():
    here, wrong = guess(), WrongDecisions(frozenset({3}), frozenset({5}))
    for seed in range(200):
        there = nearby(seed).step(here, wrong)
        same = [
            there.priority.point == here.priority.point,
            np.array_equal(there.priority.fit.weights, here.priority.fit.weights),
            replace(there, priority=here.priority) == here,
        ]
        assert same.count(False) <= 1
        there.rules(JOBS, printed=False)


@pytest.mark.parametrize("sign", [-1, 1])
def test_whoever_was_early_goes_back_and_whoever_was_missed_goes_forward(sign):
    here, row, moved = guess(), 0, []
    for seed in range(200):
        there = nearby(seed).mended(here, row, sign)
        change = there.priority.fit.weights - here.priority.fit.weights
        points = np.array([0.0, *change[FIRST_QUALITY:]])
        moved += [points[JOBS.qos[row]] - points.mean()] if np.ptp(points) else []
    assert moved
    assert np.all(np.sign(moved) == sign)


def test_a_guess_covers_a_partition_by_one_that_has_all_of_its_nodes():
    parts = {"long": (0, 3), "short": (2, 3)}
    found = replace(guess(), parts=parts, groups=("long", "short")).covers
    assert found.tolist() == [[True, False], [True, True]]


def test_what_is_as_usual_and_weighs_nothing_makes_a_guess_plainer():
    fills = BackfillRules(interval=60.0, window=7_200.0, per_user=3, depth=10)
    limits = PartyLimit(each=Party.USER, jobs=3.0), PartyLimit(each=Party.USER, devices=3.0)
    found = replace(guess(), backfill=fills, period=60.0, limits=limits)
    for change in usual(found):
        found = change(found)
    assert not found.priority.fit.weights.any()
    assert not found.limits
    assert (found.period, found.backfill) == (300.0, BackfillRules(interval=60.0))


def test_weights_are_told_in_points_of_which_the_largest_has_most():
    assert guess().scale(printed=True) == 1.0
    rules = guess().rules(JOBS, printed=False)
    assert max(rules.priority.age, rules.priority.fairshare, rules.priority.qos) == 100_000.0


def test_a_walk_ends_where_nothing_is_wrong():
    def ask(there, most):
        off = max(0, round(10.0 - there.priority.fit.weights[FIRST_QUALITY]))
        return WrongDecisions(frozenset(), frozenset(range(off))) if off <= most else None

    here = guess()
    found = nearby(0).walked(here, ask, [each / 4_000 for each in range(4_000)])
    assert ask(found, 0.0) is not None
    assert ask(here, 0.0) is None
    assert nearby(0).walked(here, ask, []) is here
