"""Published numbers say how they are known, and what holds foretrain against them."""

import ast

import pytest
from tests.validation.published import ROOT, document, numbers

NUMBERS = numbers().values()
MEMORY = "M-"


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.id)
def test_number_has_a_known_tag_and_paper(number):
    assert number.tag in document()["tags"]
    assert number.paper in document()["papers"]
    assert number.what
    assert number.where


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.id)
def test_number_has_one_value_or_rows_as_wide_as_its_columns(number):
    assert (number.value is None) == bool(number.rows)
    assert all(len(row) == len(number.columns) for row in number.rows)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: number.id)
def test_number_is_checked_or_says_why_not(number):
    assert bool(number.checked_by) != bool(number.not_checked)


def test_number_from_memory_decides_no_test():
    assert not [each.id for each in NUMBERS if each.tag.startswith(MEMORY) and each.checked_by]


def test_every_tag_and_paper_is_used():
    assert {each.paper for each in NUMBERS} == set(document()["papers"])
    assert {each.tag for each in NUMBERS} >= {"S", "F", "R", "D-vec", "D-eye"}


@pytest.mark.parametrize(
    "named", sorted({test for number in NUMBERS for test in number.checked_by})
)
def test_test_that_is_named_exists(named):
    path, _, name = named.partition("::")
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
