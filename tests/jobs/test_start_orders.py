"""What a log shows of its site: orders of starts, ticks, and what was held at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job

from foretrain.jobs.fair_tree import UsageTree
from foretrain.jobs.start_orders import (
    SHARES,
    KeptByLimit,
    SharePoint,
    UserRanks,
    most_held,
    shared_most,
    start_pairs,
    started,
    ticks,
)
from foretrain.measured.site import Association


def log_of(*rows, **others):
    """Jobs by (arrival, begun, seconds, devices, limit)."""
    jobs = [
        job(place, arrival=row[0], work=row[2], devices=row[3], estimate=row[4],
            user="uv"[place % 2], **others)
        for place, row in enumerate(rows)
    ]  # fmt: skip
    begun = {each.name: row[1] for each, row in zip(jobs, rows, strict=True)}
    return started(jobs, begun, {})


THREE = ((0.0, 0.0, 50.0, 2, 60.0), (1.0, 50.0, 10.0, 2, 60.0), (2.0, 60.0, 10.0, 1, 20.0))


def told(pairs):
    return [*zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)]


def test_who_starts_while_others_wait_stands_before_them():
    jobs = log_of(*THREE)
    assert told(start_pairs(jobs, np.ones(3, dtype=bool))) == [(1, 2)]


@pytest.mark.parametrize(
    ("devices", "limit", "expected"), [(1, 20, [(1, 2)]), (3, 20, []), (1, 90, [])]
)
def test_where_jobs_pass_only_those_are_compared_that_need_no_more_for_no_longer(
    devices, limit, expected
):
    jobs = log_of(*THREE[:2], (2.0, 60.0, 10.0, devices, limit))
    assert told(start_pairs(jobs, np.zeros(3, dtype=bool))) == expected


def test_who_is_kept_by_a_limit_is_not_compared():
    jobs = log_of((0.0, 0.0, 99.0, 2, 99.0), *THREE[1:], (3.0, 60.0, 5.0, 1, 9.0))
    strict = np.ones(4, dtype=bool)
    assert told(start_pairs(jobs, strict)) == [(1, 2), (1, 3)]
    # u holds two devices until 99 s, and may not hold a third.
    assert told(start_pairs(jobs, strict, KeptByLimit(jobs.user, 2))) == [(1, 3)]


def test_starts_while_nothing_happens_tell_the_interval_and_its_phase():
    rows = [(float(at), 37.0 + 60.0 * at, 13.5, 1, 60.0) for at in (1, 2, 3, 5, 9)]
    found = ticks(log_of(*rows))
    assert (found.interval, found.quiet, found.phase % 60.0) == (60.0, 5, 37.0)
    assert not found.main.any()


def test_a_log_in_which_jobs_start_as_others_come_and_end_has_no_ticks():
    found = ticks(log_of(*THREE))
    assert (found.interval, found.quiet) == (None, 0)
    assert found.main.all()


def test_what_was_held_at_once_is_the_most_of_it():
    jobs = log_of(*THREE)
    assert most_held(jobs, np.ones(3, dtype=bool)) == 2
    assert most_held(jobs, jobs.devices == 1) == 1
    assert shared_most(jobs, jobs.user) == 2
    assert shared_most(jobs, np.array([0, 1, 2])) == 2
    assert shared_most(log_of(*THREE[1:]), np.array([0, 1])) is None


@few(30)
@given(st.data())
def test_ranks_over_a_log_are_those_of_its_fair_tree(data):
    names = [("a", "u"), ("a", "v"), ("b", "w"), ("b", "x")]
    place = st.integers(0, len(SHARES) - 1)
    point = SharePoint(
        tuple(data.draw(place) for _ in "ab"), tuple(data.draw(place) for _ in names), 1e30, 1.0
    )
    held = [data.draw(st.sampled_from([0.0, 10.0, 20.0, 70.0])) for _ in names]
    jobs = [
        job(at, arrival=0.0, work=max(seconds, 1.0), account=account, user=user)
        for at, ((account, user), seconds) in enumerate(zip(names, held, strict=True))
    ]
    # Who has used nothing by then starts later.
    begun = {each.name: 0.0 if seconds else 1e6 for each, seconds in zip(jobs, held, strict=True)}
    log = started(jobs, begun, {})
    ranks = UserRanks(log, 100.0, np.array([100.0] * len(names)))
    [found] = ranks.of([np.arange(len(names))], point)
    tree = UsageTree(
        [
            Association(name=each, shares=SHARES[at])
            for each, at in zip("ab", point.accounts, strict=True)
        ]
        + [
            Association(name=user, parent=account, shares=SHARES[at], is_user=True, usage=used)
            for (account, user), at, used in zip(names, point.users, held, strict=True)
        ]
    )
    expected = tree.fair_tree()
    assert found.tolist() == [expected[key] for key in names]
