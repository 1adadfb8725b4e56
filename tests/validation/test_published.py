"""Published numbers say how they are known, and what holds foretrain against them."""

import ast

import pytest
from tests.validation.published import ROOT, document, numbers

NUMBERS = numbers().values()
MEMORY = "M-"


def test_number_has_a_known_tag_and_paper():
    for number in NUMBERS:
        assert number.tag in document()["tags"], number.id
        assert number.paper in document()["papers"], number.id
        assert number.what, number.id
        assert number.where, number.id


def test_number_has_one_value_or_rows_as_wide_as_its_columns():
    for number in NUMBERS:
        assert (number.value is None) == bool(number.rows), number.id
        assert all(len(row) == len(number.columns) for row in number.rows), number.id


def test_number_is_checked_or_says_why_not():
    for number in NUMBERS:
        assert bool(number.checked_by) != bool(number.not_checked), number.id


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
