"""Alarms: a file or a function that has grown past what one reads in one sitting."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.parsed import nodes

SOURCE = Path(__file__).parents[1] / "src"
FILES = sorted(SOURCE.rglob("*.py"))


def statements_of(function: ast.FunctionDef) -> int:
    """Lines of a function from its first statement on, the docstring left out."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return function.end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_file_and_its_functions_are_short(file):
    functions = [node for node in nodes(file) if isinstance(node, ast.FunctionDef)]
    long = {node.name: statements_of(node) for node in functions if statements_of(node) > 40}
    assert file.read_text().count("\n") <= 400
    assert not long


def test_one_class_name_is_one_class():
    names = Counter(
        node.name for file in FILES for node in nodes(file) if isinstance(node, ast.ClassDef)
    )
    assert not [name for name, classes in names.items() if classes > 1]
