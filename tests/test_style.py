"""Alarms: a file or a function that has grown past what one reads in one sitting."""

import ast
from collections import Counter
from pathlib import Path

from tests.parsed import nodes

SOURCE = Path(__file__).parents[1] / "src"
FILES = sorted(SOURCE.rglob("*.py"))


def statements_of(function: ast.FunctionDef) -> int:
    """Lines of a function from its first statement on, the docstring left out."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return function.end_lineno - body[0].lineno + 1 if body else 0


def test_files_are_short():
    lines = {file: file.read_text().count("\n") for file in FILES}
    assert not {str(file): count for file, count in lines.items() if count > 400}


def test_functions_are_short():
    functions = {
        f"{file}: {node.name}": statements_of(node)
        for file in FILES
        for node in nodes(file)
        if isinstance(node, ast.FunctionDef)
    }
    assert not {name: lines for name, lines in functions.items() if lines > 40}


def test_one_class_name_is_one_class():
    names = Counter(
        node.name for file in FILES for node in nodes(file) if isinstance(node, ast.ClassDef)
    )
    assert not [name for name, classes in names.items() if classes > 1]
