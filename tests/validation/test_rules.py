"""Schedulers written from their rules, beside ours on traces that are drawn afresh every time."""

from random import Random, SystemRandom

import pytest
from tests.examples import slow
from validation.rules.__main__ import NAMES, apart, ours, tree_apart
from validation.rules.by_hand import Request, Shares, Weights, conservative, easy, srtf
from validation.rules.hidden import differs, differs_wide
from validation.rules.slurm_by_hand import Fill, Part, Rules, Slurm

from foretrain.measured.site import BackfillRules, SiteRules

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


@pytest.mark.parametrize("rule", [differs, pytest.param(differs_wide, marks=slow)])
def test_a_log_of_a_hidden_site_waits_as_it_did_when_it_is_replayed_by_its_rules(rule, tmp_path):
    seed = SystemRandom().randrange(10**9)
    assert not rule(Random(seed), tmp_path), f"seed {seed}"


def test_a_cycle_that_looks_at_fewer_jobs_than_wait_looks_at_others_in_the_next():
    # The second of two that fit is beyond the depth until the first has started.
    jobs = [Request(0, 2, 900, 900), *(Request(each, 3, 60, 60) for each in (1, 2))]
    jobs += [Request(3, 1, 900, 900), Request(4, 1, 60, 60)]
    jobs = [job._replace(user="u") for job in jobs]
    users = dict.fromkeys("uv", ("a", 1))
    parts = {"gpu": Part(range(4), 1, 1.0)}
    fill = Fill(300, 86_400, 60, 3, 0, 0)
    rules = Rules(4, parts, Shares({"a": 1}, users), fill=fill)
    weights = Weights(0, 0, 0, 0, 1, 1, 300)
    course = Slurm(jobs=jobs, where=["gpu"] * 5, weights=weights, rules=rules).course()
    assert course[0][3:] == [300, 600]
    site = SiteRules(backfill=BackfillRules(interval=300.0, depth=3))
    assert ours(jobs, 4, "slurm", site=site)[0] == course[0]


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
