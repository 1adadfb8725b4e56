"""Files of Python as trees, each parsed once for all tests that look at the code."""

import ast
from functools import cache
from pathlib import Path


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


@cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(file)))
