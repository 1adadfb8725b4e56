"""What a log shows of its site: orders of starts, ticks, and what was held at once."""

import numpy as np
import pytest
from tests.jobs.runs import job

from foretrain.jobs.start_orders import (
    KeptByLimit,
    limits_kept,
    most_held,
    start_pairs,
    started,
    ticks,
)
from foretrain.measured.limit import Party, PartyLimit


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
    limit = KeptByLimit.by(jobs, PartyLimit(each=Party.USER, devices=2))
    assert told(start_pairs(jobs, strict, [limit])) == [(1, 3)]


def test_who_may_be_kept_by_what_started_at_the_same_moment_is_not_compared():
    rows = [(0.0, 60.0, 9.0, 1, 9.0), (1.0, 60.0, 9.0, 2, 9.0), (2.0, 90.0, 9.0, 3, 9.0)]
    jobs, strict = log_of(*rows), np.ones(3, dtype=bool)
    assert told(start_pairs(jobs, strict)) == [(0, 2), (1, 2)]
    # Whether job 1 started before u held a device, or after, nobody tells.
    limit = KeptByLimit.by(jobs, PartyLimit(each=Party.USER, devices=3))
    assert told(start_pairs(jobs, strict, [limit])) == [(0, 2)]


def test_jobs_of_partitions_are_compared_where_one_has_all_nodes_of_the_other():
    rows = [(0.0, 0.0, 50.0, 2, 60.0), (1.0, 50.0, 10.0, 2, 60.0), (2.0, 60.0, 10.0, 2, 60.0)]
    jobs = [
        job(place, arrival=row[0], work=row[2], devices=2, group="sl"[place == 1])
        for place, row in enumerate(rows)
    ]
    begun = {each.name: row[1] for each, row in zip(jobs, rows, strict=True)}
    log, strict = started(jobs, begun, {}), np.ones(3, dtype=bool)
    assert log.groups == ("l", "s")
    assert told(start_pairs(log, strict)) == []
    assert told(start_pairs(log, strict, covers=np.array([[1, 1], [0, 1]], bool))) == [(1, 2)]
    assert told(start_pairs(log, strict, covers=np.array([[1, 0], [1, 1]], bool))) == []


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
    assert most_held(jobs, np.ones(3, dtype=bool), np.ones(3)) == 1


def test_limits_that_nobody_exceeded_are_as_tight_as_can_be():
    found = [*limits_kept(log_of(*THREE), 8.0)]
    assert PartyLimit(each=Party.USER, devices=2.0) in found
    assert PartyLimit(each=Party.USER, jobs=1.0) in found
    # Nobody can hold more than there is: that is no limit.
    assert not any(each.devices == 2.0 for each in limits_kept(log_of(*THREE), 2.0))
