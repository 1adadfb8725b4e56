"""What every strategy keeps: one page, one source, nothing at degree 1, declared fields only."""

from dataclasses import fields, replace
from importlib import import_module
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.random_nouns import questions

from foretrain.plan.plan import AXES, Plan, Recompute, Sends, Sharding
from foretrain.plan.table import table_of
from foretrain.strategies import STRATEGIES, share_of
from foretrain.strategies.strategy import Share
from foretrain.workload.operator import Attention, Split

ROOT = Path(__file__).parents[2]
SHAPES = {"__init__", "strategy"}
FILES = sorted(
    file.stem
    for file in (ROOT / "src" / "foretrain" / "strategies").glob("*.py")
    if file.stem not in SHAPES
)
PAGES = sorted((ROOT / "docs" / "reference" / "strategies").glob("*.md"))

ALONE = {
    "data": {"data": 1},
    "sharding": {"data": 1},
    "tensor": {"tensor": 1},
    "sequence": {"tensor": 1},
}
"""The plan on which a strategy has nobody to share with."""

CHANGES = {
    "data": st.integers(1, 64),
    "tensor": st.integers(1, 8),
    "pipeline": st.integers(1, 64),
    "interleaving": st.integers(1, 8),
    "micro_batch": st.integers(1, 64),
    "sequence_parallel": st.booleans(),
    "sharding": st.sampled_from(Sharding),
    "recompute": st.sampled_from(Recompute),
    "attention": st.sampled_from(Attention),
    "sends": st.sampled_from(Sends),
    "order": st.permutations(AXES).map(tuple),
}


def code_of(page):
    """The last paragraph of a page, which names its files."""
    return page.read_text().rpartition("**Code.**")[2]


@pytest.mark.parametrize("file", FILES)
def test_file_of_a_strategy_names_its_source_and_has_one_page(file):
    assert "\nSource: " in import_module(f"foretrain.strategies.{file}").__doc__
    pages = [page for page in PAGES if f"strategies/{file}.py`" in code_of(page)]
    assert len(pages) == 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_gives_legal_values_formula_and_source(page):
    text = page.read_text()
    for piece in ("| field | legal values |", "```text", "**Source.**", "**Code.**"):
        assert piece in text


def test_every_strategy_says_when_it_is_alone():
    assert set(ALONE) == set(STRATEGIES) <= set(FILES)
    assert set(CHANGES) == {field.name for field in fields(Plan)}


def numbers(share, like):
    """Every divisor of a share, of the same shape, side by side."""
    return np.stack([np.broadcast_to(getattr(share, field.name), like) for field in fields(Share)])


def said(strategy, setting, plan):
    """Everything that a strategy says of the operators of one plan."""
    plans = table_of([plan])
    shape = (len(setting.operators.layer), 1)
    divisors = numbers(strategy.share(setting.operators, plans), shape)
    transfers = strategy.transfers(setting.operators, plans)
    return divisors, [(each.phase, each.times * each.values) for each in transfers]


@pytest.mark.parametrize("name", STRATEGIES)
@few(50)
@given(question=questions())
def test_strategy_that_is_alone_divides_nothing_and_sends_nothing(name, question):
    setting, [plan] = question
    strategy, alone = STRATEGIES[name], replace(plan, **ALONE[name])
    divisors, transfers = said(strategy, setting, alone)
    assert (divisors == 1).all()
    assert not any(values.any() for _, values in transfers)
    plans = table_of([alone])
    assert not any(each.size.any() for each in strategy.step_transfers(setting.workload, plans))
    assert strategy.owners(plans)[0] == 1


@pytest.mark.parametrize("name", STRATEGIES)
@few(50)
@given(question=questions(), data=st.data())
def test_operators_depend_on_declared_fields_alone(name, question, data):
    setting, [plan] = question
    strategy = STRATEGIES[name]
    free = [field for field in CHANGES if field not in strategy.reads]
    changed = replace(plan, **{field: data.draw(CHANGES[field]) for field in free})
    before, after = (said(strategy, setting, each) for each in (plan, changed))
    np.testing.assert_array_equal(before[0], after[0])
    for (phase, values), (same_phase, same_values) in zip(before[1], after[1], strict=True):
        assert phase is same_phase
        np.testing.assert_array_equal(values, same_values)


@pytest.mark.parametrize("name", STRATEGIES)
@few(50)
@given(question=questions(least=2, most=10))
def test_row_of_a_table_is_divided_like_the_plan_alone(name, question):
    setting, plans = question
    strategy, rows = STRATEGIES[name], len(setting.operators.layer)
    whole = numbers(strategy.share(setting.operators, table_of(plans)), (rows, len(plans)))
    for row, plan in enumerate(plans):
        np.testing.assert_array_equal(whole[..., row], said(strategy, setting, plan)[0][..., 0])


@given(question=questions())
def test_parts_of_all_members_make_the_whole_product(question):
    setting, [plan] = question
    operators = setting.operators
    found = share_of(operators, table_of([plan]))
    parts = prod(getattr(found, name) for name in ("rows", "columns", "depth", "batch"))
    divided = operators.matmul & ~operators.split_is(Split.NONE)
    parts = np.broadcast_to(parts, divided.shape)
    assert (parts[divided] == plan.tensor).all()
    assert (parts[operators.matmul & operators.split_is(Split.NONE)] == 1).all()


@given(question=questions())
def test_no_member_has_less_than_its_part_or_more_than_the_whole(question):
    setting, [plan] = question
    found = share_of(setting.operators, table_of([plan]))
    divisors = numbers(found, (len(setting.operators.layer), 1))
    assert (divisors >= 1).all()
    assert (divisors <= plan.tensor).all()


@given(question=questions())
def test_gradients_are_added_up_once_whoever_owns_the_optimizer(question):
    setting, [plan] = question
    for sharding in Sharding:
        plans = table_of([replace(plan, sharding=sharding)])
        sizes = [
            each.size[0]
            for strategy in STRATEGIES.values()
            for each in strategy.step_transfers(setting.workload, plans)
            if each.part == "gradients"
        ]
        gradient = setting.workload.precision.gradient_bytes
        assert sum(sizes) == (gradient if plan.data > 1 else 0)


@given(question=questions())
def test_partial_sums_are_added_up_once_with_or_without_sequence_parallelism(question):
    setting, [plan] = question
    for divided in (False, True):
        plans = table_of([replace(plan, sequence_parallel=divided)])
        moved = [
            (each.values > 0).sum()
            for strategy in STRATEGIES.values()
            for each in strategy.transfers(setting.operators, plans)
        ]
        summed = setting.operators.split_is(Split.DEPTH, Split.COLUMNS).sum()
        assert sum(moved) == (summed if plan.tensor > 1 else 0)


def test_plan_of_one_device_is_alone_in_everything():
    plans = table_of([Plan()])
    assert [strategy.owners(plans)[0] for strategy in STRATEGIES.values()] == [1] * len(STRATEGIES)
