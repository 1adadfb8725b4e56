"""Multifactor priority, fair shares and billing: worked cases from Slurm's documented rules."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.jobs.fair_tree import UsageTree, decay_of, level_fs
from foretrain.jobs.multifactor import (
    PriorityFactors,
    billing,
    priority,
    size_factor,
)
from foretrain.jobs.usage import Usage
from foretrain.measured.site import DAY, Association, BillingRule, PriorityWeights

WEIGHTS = PriorityWeights(
    age=1000.0, fairshare=10000.0, size=1000.0, partition=1000.0, qos=2000.0, devices=3000.0
)


@pytest.mark.parametrize(("small_first", "expected"), [(False, 9342), (True, 9842)])
def test_a_priority_is_the_sum_of_its_weighted_factors(small_first, expected):
    factors = PriorityFactors(
        age=1 / 7,
        fairshare=0.75,
        size=size_factor(4 / 16, 256 / 1024, small_first=small_first),
        partition=1 / 2,
        qos=10 / 100,
        devices=32 / 128,
    )
    assert priority(factors, WEIGHTS) == expected


def test_who_is_nice_has_less():
    factors = PriorityFactors(
        age=2 / 168, fairshare=1.0, size=size_factor(1 / 16, 64 / 1024), partition=1.0, qos=1.0,
        devices=8 / 128,
    )  # fmt: skip
    assert priority(factors, WEIGHTS, nice=100.0) == 13161


def test_a_priority_is_at_least_one_and_has_32_bits():
    assert priority(PriorityFactors(), WEIGHTS, nice=1e6) == 1
    assert priority(PriorityFactors(age=1.0), PriorityWeights(age=1e12)) == 2**32 - 1


TREE = (
    Association(name="A", shares=3.0),
    Association(name="B", shares=1.0),
    Association(name="a1", parent="A", is_user=True, usage=500.0),
    Association(name="a2", parent="A", is_user=True, usage=100.0),
    Association(name="b1", parent="B", is_user=True),
    Association(name="b2", parent="B", is_user=True, usage=400.0),
)


def test_down_the_fair_tree_an_account_that_is_behind_goes_before_its_users_do():
    found = UsageTree(TREE).fair_tree()
    assert found == {("A", "a2"): 1.0, ("A", "a1"): 0.75, ("B", "b1"): 0.5, ("B", "b2"): 0.25}


def test_levels_of_the_fair_tree():
    assert level_fs(3.0, 4.0, used=600.0, of=1000.0) == 1.25
    assert level_fs(1.0, 4.0, used=400.0, of=1000.0) == 0.625
    assert level_fs(1.0, 2.0, used=100.0, of=600.0) == pytest.approx(3.0)
    assert level_fs(1.0, 2.0, used=0.0, of=400.0) == inf
    assert level_fs(0.0, 2.0, used=1.0, of=400.0) == 0.0
    assert level_fs(None, 2.0, used=1.0, of=400.0) == inf


def test_by_the_classic_rule_who_has_used_nothing_pays_for_its_account():
    found = UsageTree(TREE).classic()
    expected = {"a1": 0.361817, "a2": 0.523647, "b1": 0.329877, "b2": 0.108819}
    assert {key[1]: value for key, value in found.items()} == pytest.approx(expected, abs=5e-7)


def test_usage_is_decayed_with_every_period():
    usage = Usage(UsageTree(()), PriorityWeights())
    user = usage.tree.add("", "u")
    usage.change(user, 8.0, 0.0)
    usage.change(user, -8.0, 3600.0)
    assert usage.tree.usage[user] == pytest.approx(28735.742, abs=5e-4)
    usage.advance(3600.0 + 7 * DAY)
    assert usage.tree.usage[user] == pytest.approx(28735.742 * 0.500073, rel=2e-6)
    assert decay_of(7 * DAY) ** (7 * DAY) == pytest.approx(0.500073, abs=5e-7)


@few(60)
@given(
    changes=st.lists(
        st.tuples(st.integers(1, 3000), st.sampled_from("uvw"), st.integers(1, 9)), max_size=12
    ),
    lasts=st.integers(0, 5000),
)
def test_periods_in_which_nothing_changes_may_be_done_at_once(changes, lasts):
    weights = PriorityWeights(half_life=3600.0)
    usage, now = Usage(UsageTree(()), weights), 0.0
    plain, rates = dict.fromkeys("uvw", 0.0), dict.fromkeys("uvw", 0.0)
    accrued = dict.fromkeys("uvw", 0.0)

    def second_by_second(until):
        for second in range(int(now), int(until)):
            for user, rate in rates.items():
                accrued[user] += rate
                if (second + 1) % 300 == 0:
                    plain[user] = (plain[user] + accrued[user]) * decay_of(3600.0) ** 300
                    accrued[user] = 0.0

    for gap, user, devices in [*changes, (lasts, "u", 0)]:
        second_by_second(now + gap)
        now += gap
        usage.change(usage.tree.add("", user), float(devices), now)
        rates[user] += devices
    usage.advance(now)
    for (_, user), found in usage.tree.usage.items():
        assert found == pytest.approx(plain[user], rel=1e-9)


HELD = {"cpu": 64.0, "mem": 512.0, "gres/gpu": 8.0, "node": 1.0}
BILLED = {"cpu": 1.0, "mem": 0.25, "gres/gpu": 16.0}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [(BillingRule.SUM, 320.0), (BillingRule.MAX_TRES, 128.0), (BillingRule.MAX_TRES_GRES, 256.0)],
)
def test_what_a_job_holds_is_billed_by_one_rule(rule, expected):
    assert billing(HELD, BILLED, rule) == expected


def test_without_weights_cores_are_billed():
    assert billing(HELD, {}) == 64.0
