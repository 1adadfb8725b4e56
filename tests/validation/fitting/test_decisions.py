"""Decisions: groups of plans, their order, and what a wrong choice costs."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some
from tests import examples
from tests.validation.fitting.scored_rows import laid, row
from validation.fitting.decisions import RULES, decisions, order, regrets, repeat_scatter

FEW = examples.few(50)
TIMES = some.lists(
    some.tuples(some.floats(1.0, 100.0), some.floats(1.0, 100.0)), min_size=3, max_size=6
)


def group(times):
    """Plans of one run by tensor degree, each with its measured and its predicted time."""
    return [
        row(f"a-{place}", said / true, measured=true, layout=laid(tensor=2**place, data=None))
        for place, (true, said) in enumerate(times)
    ]


def predicted(choice):
    return choice.predicted


def test_runs_that_differ_in_the_plan_alone_are_a_group():
    [found] = decisions([*group([(1, 1), (2, 2), (3, 3)]), row("a-9", precision="fp16")])
    assert len(found.choices) == 3


def test_two_plans_are_no_group():
    assert decisions(group([(1, 1), (2, 2)])) == ()


def test_releases_are_not_compared_with_one_another():
    rows = group([(1, 1), (2, 2)])
    assert decisions([*rows, row("a-8", layout=laid(tensor=8), date="2026-08")]) == ()


def test_repeats_are_merged_by_their_mean():
    rows = group([(1, 1), (2, 2), (3, 3)])
    again = row("a-7", 1.0, measured=5.0, layout=rows[2].run.layout)
    [found] = decisions([*rows, again])
    assert found.choices[2].measured == pytest.approx(4.0 / 64)
    assert found.choices[2].runs == 2


def test_a_batch_that_follows_the_micro_batch_is_compared_per_sample():
    rows = [
        row(f"a-{n}", measured=time, layout=laid(micro_batch=float(n)), global_batch=8 * n)
        for n, time in ((1, 2.0), (2, 3.0), (4, 5.0))
    ]
    [found] = decisions(rows)
    assert [it.measured for it in found.choices] == pytest.approx([0.25, 0.1875, 0.15625])


@FEW
@given(TIMES)
def test_perfect_predictions_order_everything_and_regret_nothing(times):
    found = decisions(group([(true, true) for true, _ in times]))
    assert order(found, predicted) in (None, 1.0)
    assert regrets(found, predicted) == pytest.approx((0.0,))


@FEW
@given(TIMES)
def test_no_rule_regrets_less_than_nothing(times):
    found = decisions(group(times))
    assert all(lost >= 0 for rule in RULES.values() for lost in regrets(found, rule))


@FEW
@given(times=TIMES, factor=some.floats(0.1, 10.0))
def test_a_factor_common_to_all_predictions_changes_no_decision(times, factor):
    said = sorted(each for _, each in times)  # a product's rounding breaks ties
    assume(all(slow > fast * (1 + 1e-9) for fast, slow in pairwise(said)))
    plain = decisions(group(times))
    scaled = decisions([it.scaled(factor) for it in group(times)])
    assert regrets(plain, predicted) == pytest.approx(regrets(scaled, predicted))


def test_pairs_that_are_nearly_equal_are_not_counted():
    assert order(decisions(group([(1.0, 3), (1.01, 2), (1.04, 1)])), predicted) is None


def test_a_wrong_choice_costs_what_it_takes_longer():
    found = decisions(group([(10.0, 9.0), (8.0, 10.0), (12.0, 20.0)]))
    assert regrets(found, predicted) == pytest.approx((0.25,))
    assert order(found, predicted) == pytest.approx(2 / 3)


def test_a_rule_that_does_not_choose_loses_the_mean():
    found = decisions(group([(1.0, 1), (2.0, 2), (3.0, 3)]))
    assert regrets(found, RULES["least sharding"]) == pytest.approx((1.0,))
    assert order(found, RULES["least sharding"]) == 0.5


def test_least_model_parallelism_takes_the_smallest_tensor_axis_here():
    found = decisions(group([(2.0, 1), (1.0, 2), (3.0, 3)]))
    assert regrets(found, RULES["least model parallelism"]) == pytest.approx((1.0,))
    assert regrets(found, RULES["most data"]) == pytest.approx((1.0,))


def test_scatter_of_repeats_is_the_mean_over_ordered_pairs():
    rows = [row("a-1", measured=1.0), row("a-2", measured=2.0), row("b-1")]
    assert repeat_scatter(rows) == pytest.approx({"a": 0.75})
