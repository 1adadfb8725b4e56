"""Schedulers written from their rules, beside ours on traces that are drawn afresh every time."""

from random import Random, SystemRandom

import pytest
from validation.rules.__main__ import NAMES, apart, tree_apart
from validation.rules.by_hand import Request, conservative, easy, srtf
from validation.rules.hidden import differs

TRACES = 12


@pytest.mark.parametrize("name", NAMES)
def test_every_start_and_every_end_is_that_of_the_rule(name):
    seed = SystemRandom().randrange(10**9)
    told = [apart(Random(f"{seed} {place}"), name) for place in range(TRACES)]
    assert not any(told), f"seed {seed}"


def test_every_fair_tree_is_ranked_by_the_rule():
    seed = SystemRandom().randrange(10**9)
    told = [tree_apart(Random(f"{seed} {place}")) for place in range(10 * TRACES)]
    assert not any(told), f"seed {seed}"


def test_a_log_of_a_hidden_site_waits_as_it_did_when_it_is_replayed_by_its_rules(tmp_path):
    seed = SystemRandom().randrange(10**9)
    assert not differs(Random(seed), tmp_path), f"seed {seed}"


FOUR = [
    Request(0, 6, 100, 60),
    Request(1, 8, 100, 100),
    Request(2, 2, 98, 98),
    Request(3, 2, 50, 50),
]


def test_references_keep_to_worked_cases():
    assert easy(FOUR, 8)[0] == conservative(FOUR, 8)[0] == [0, 100, 2, 200]
    assert srtf([Request(0, 1, 4, 4), Request(1, 1, 2, 2)], 1, 2) == ([0, 1], [8, 3])


def test_a_scheduler_that_breaks_its_rule_is_seen(monkeypatch):
    rule = easy
    monkeypatch.setitem(
        apart.__globals__["BACKFILLS"], "easy", lambda jobs, devices: rule(jobs, devices + 1)
    )
    assert any(apart(Random(place), "easy") for place in range(TRACES))
