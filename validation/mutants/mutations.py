"""Mistakes that a hand may make in a formula: one operator, number, condition or statement each."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar, cast

Operator = TypeVar("Operator", bound=ast.AST)

OPERATORS: Final[dict[type[ast.AST], type[ast.AST]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
}

NAMES: Final = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "ceil": "floor",
    "floor": "ceil",
    "any": "all",
    "all": "any",
}
"""Functions that one easily takes for each other."""

DROPPED: Final = (ast.Raise, ast.AugAssign, ast.Expr)
"""Statements that one easily forgets."""

UNTOUCHED: Final = (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)
"""Texts, messages and our own alarms: whether they are right, no law says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One mistake.

    Attributes:
        file: in which.
        function: name of the function, with those around it.
        line: number of its first line.
        start: of the text that is replaced, as a number of bytes.
        end: likewise.
        text: that is replaced, on one line.
        instead: what takes its place.
        turn: which of the mistakes of its function that read the same, from 1.
    """

    file: Path
    function: str
    line: int
    start: int
    end: int
    text: str
    instead: str
    turn: int = 1

    @property
    def name(self) -> str:
        """What it is called, wherever its function moves."""
        again = f" ({self.turn})" if self.turn > 1 else ""
        return f"{self.function}: {self.text} -> {self.instead}{again}"

    def applied(self) -> str:
        """The source with the mistake in it."""
        content = self.file.read_bytes()
        return (content[: self.start] + self.instead.encode() + content[self.end :]).decode()


def mutants(file: Path) -> Iterator[Mutant]:
    """Every mistake that can be made in the functions of a file."""
    content = file.read_bytes()
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        return starts[line - 1] + column

    turns: Counter[tuple[str, str, str]] = Counter()
    for function, node in _functions(ast.parse(content), ()):
        for found, instead in _mistakes(node):
            assert found.end_lineno is not None
            assert found.end_col_offset is not None
            start = place(found.lineno, found.col_offset)
            end = place(found.end_lineno, found.end_col_offset)
            text = " ".join(content[start:end].decode().split())
            turns[function, text, instead] += 1
            yield Mutant(
                file=file,
                function=function,
                line=found.lineno,
                start=start,
                end=end,
                text=text,
                instead=instead,
                turn=turns[function, text, instead],
            )


def _functions(node: ast.AST, above: tuple[str, ...]) -> Iterator[tuple[str, ast.AST]]:
    """Every function with its full name; those within another belong to the outer one."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield ".".join((*above, child.name)), child
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, (*above, child.name))


def _mistakes(function: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """What can be replaced in a function, and by what."""
    assert isinstance(function, ast.FunctionDef)
    for statement in function.body:
        yield from _in_statement(statement)


def _in_statement(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    if isinstance(node, DROPPED) and not _is_docstring(node):
        yield node, "pass"
    if isinstance(node, UNTOUCHED) or _is_alarm(node):
        return
    if isinstance(node, ast.expr):
        yield from ((node, f"({ast.unparse(made)})") for made in _instead(node))
    for name, value in ast.iter_fields(node):
        if name not in {"annotation", "returns", "decorator_list"}:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _in_statement(child)


def _is_alarm(node: ast.AST) -> bool:
    """Whether it is the `strict` of a zip, an assertion that both are equally long."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _instead(node: ast.expr) -> Iterator[ast.expr]:
    """Expressions that are nearly this one."""
    yield from _with_another_operator(node)
    yield from _with_another_number(node)
    yield from _with_another_function(node)
    if isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)


def _with_another_operator(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            yield ast.BinOp(left, _other(operator), right)
        case ast.BoolOp(operator, values):
            yield ast.BoolOp(_other(operator), values)
        case ast.Compare(left, [operator], [right]) if type(operator) in OPERATORS:
            yield ast.Compare(left, [_other(operator)], [right])
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand


def _with_another_number(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value)):
            yield ast.Constant(value + 1)
        case ast.Constant(float(value)):
            yield ast.Constant(2 * value or 1.0)


def _with_another_function(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.Call(ast.Name(name), arguments, keywords) if name in NAMES:
            yield ast.Call(ast.Name(NAMES[name]), arguments, keywords)
        case ast.Call(ast.Attribute(owner, name), arguments, keywords) if name in NAMES:
            yield ast.Call(ast.Attribute(owner, NAMES[name]), arguments, keywords)
        case ast.Call(ast.Attribute(owner, "where"), [which, first, second], []):
            yield ast.Call(ast.Attribute(owner, "where"), [which, second, first], [])


def _other(operator: Operator) -> Operator:
    return cast("Operator", OPERATORS[type(operator)]())
