"""Expansion: what variables, defaults, arrays and sums of a shell stand for."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from foretrain.errors import InputError

NAME: Final = re.compile(r"[A-Za-z_]\w*")

BRACED: Final = re.compile(
    r"(#?)([A-Za-z_]\w*|[@*#?$!0-9]+)(\[[^\]]*\])?(?:(:?[-=?+])(.*)|(.*))", re.DOTALL
)

DEEPEST: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WordPiece:
    """A part of a word.

    Attributes:
        text: what it says.
        line: where it is written.
        whole: whether blanks in it separate no words.
        unset: the variable that it would be, where nobody sets that.
    """

    text: str
    line: int
    whole: bool = False
    unset: str = ""


Pieces = tuple[WordPiece, ...]


@dataclass(slots=True)
class ShellReader:
    """Where in a script a reader is, and what it knows."""

    text: str
    line: int = 1
    at: int = 0
    depth: int = 0
    values: dict[str, list[Pieces]] = field(default_factory=dict)
    documents: list[tuple[str, bool, bool, str]] = field(default_factory=list)
    target: str = ""
    written: dict[str, str] = field(default_factory=dict)
    made: int = 0

    def peek(self, many: int = 1) -> str:
        """The next letters, which stay."""
        return self.text[self.at : self.at + many]

    def take(self, many: int = 1) -> str:
        """The next letters, which are gone."""
        found = self.peek(many)
        self.at += many
        self.line += found.count("\n")
        return found

    def ended(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self.text)


def filled_in(shell: ShellReader) -> Pieces:
    """A text in which variables are filled in and quotes are letters."""
    found: list[WordPiece] = []
    while not shell.ended():
        if shell.peek() == "$":
            found += expanded(shell, whole=True)
        elif shell.peek() == "\\" and shell.peek(2)[1:] in {"$", "\\", "`", "\n"}:
            shell.take()
            found.append(WordPiece(text=shell.take(), line=shell.line))
        else:
            found.append(WordPiece(text=shell.take(), line=shell.line))
    return tuple(found)


def expanded(shell: ShellReader, *, whole: bool) -> list[WordPiece]:
    """What `$...` or a command in backquotes stands for."""
    line = shell.line
    if shell.peek() == "`":
        return [_unknown(f"`{_backquoted(shell)}`", line)]
    shell.take()
    if shell.peek(2) == "((":
        return [_arithmetic(shell, line)]
    if shell.peek() == "(":
        return [_unknown(f"${_bracketed(shell)}", line)]
    if shell.peek() == "{":
        return _braced(shell, _bracketed(shell)[1:-1], line, whole=whole)
    return _plainly(shell, line, whole=whole)


def _unknown(name: str, line: int) -> WordPiece:
    """What only a running shell knows."""
    return WordPiece(text="", line=line, unset=name)


def _backquoted(shell: ShellReader) -> str:
    shell.take()
    end = shell.text.find("`", shell.at)
    said = shell.take((end if end >= 0 else len(shell.text)) - shell.at)
    shell.take()
    return said


def _plainly(shell: ShellReader, line: int, *, whole: bool) -> list[WordPiece]:
    """$NAME, $@ and others of one letter."""
    if match := NAME.match(shell.text, shell.at):
        shell.take(len(match[0]))
        return _valued(shell, match[0], line, whole=whole, every=False)
    if shell.peek() in {"@", "*"} and "@" in shell.values:
        shell.take()
        return _valued(shell, "@", line, whole=whole, every=True)
    if shell.peek() and shell.peek() in "@*#?$!0123456789-":
        return [_unknown(f"${shell.take()}", line)]
    return [WordPiece(text="$", line=line, whole=whole)]


def _bracketed(shell: ShellReader) -> str:
    """A text in brackets with brackets inside, which is taken."""
    opening = shell.peek()
    closing = ")" if opening == "(" else "}"
    start, depth, line = shell.at, 0, shell.line
    while not shell.ended():
        here = shell.take()
        depth += (here == opening) - (here == closing)
        if depth == 0:
            return shell.text[start : shell.at]
    raise InputError(f"line {line}: {opening} is not closed.")


def _valued(
    shell: ShellReader, name: str, line: int, *, whole: bool, every: bool
) -> list[WordPiece]:
    """The value of a variable, of all its items where it is a list and all are asked for."""
    found = shell.values.get(name)
    if found is None:
        return [WordPiece(text="", line=line, unset=name)]
    items = found if every else found[:1]
    made: list[WordPiece] = []
    for place, item in enumerate(items):
        if place:
            made.append(WordPiece(text=" ", line=line))
        made += [
            WordPiece(
                text=each.text,
                line=each.line or line,
                whole=whole,
                unset=each.unset,
            )
            for each in item
        ]
    return made


def _braced(shell: ShellReader, inside: str, line: int, *, whole: bool) -> list[WordPiece]:
    """${NAME}, ${NAME[@]}, ${#NAME[@]}, ${NAME:-other}; what is done to its text is not known."""
    match = BRACED.fullmatch(inside)
    if match is None or shell.depth > DEEPEST:
        return [WordPiece(text="", line=line, unset=f"${{{inside}}}")]
    counted, name, index, sign, other, rest = match.groups()
    found = shell.values.get(name)
    every = index in ("[@]", "[*]")
    if counted:
        return [WordPiece(text=str(len(found or ())), line=line)]
    if rest or (index and not every and index != "[0]"):
        return [WordPiece(text="", line=line, unset=f"${{{inside}}}")]
    known = found is not None and not any(each.unset for item in found for each in item)
    if sign in ("-", ":-", "=", ":=") and not known:
        inner = ShellReader(other or "", line=line, depth=shell.depth + 1, values=shell.values)
        made = filled_in(inner)
        return [
            WordPiece(text=each.text.strip("'\""), line=line, whole=whole, unset=each.unset)
            for each in made
        ]
    if sign in ("+", ":+"):
        return [WordPiece(text=other or "", line=line, whole=whole)] if known else []
    return _valued(shell, name, line, whole=whole, every=every)


OPERATORS: Final[Mapping[type, Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
}

MOST_LETTERS: Final = 200

LARGEST: Final = 10**15


def _arithmetic(shell: ShellReader, line: int) -> WordPiece:
    """$(( ... )): whole numbers, variables and the four operations."""
    said = _bracketed(shell)
    inner = ShellReader(said[2:-2], line=line, depth=shell.depth + 1, values=shell.values)
    text = "".join(each.text if not each.unset else "?" for each in filled_in(inner))
    try:
        if len(text) > MOST_LETTERS:
            raise ValueError(text)
        number = _computed(ast.parse(text.strip(), mode="eval").body, shell)
    except (SyntaxError, ValueError, ZeroDivisionError, KeyError):
        return WordPiece(text="", line=line, unset=f"$({said})".replace("$((", "$((", 1))
    return WordPiece(text=str(number), line=line)


def _computed(node: ast.AST, shell: ShellReader) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return int("".join(each.text for each in shell.values[node.id][0]))
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = _computed(node.left, shell), _computed(node.right, shell)
        found = OPERATORS[type(node.op)](left, right)
        if abs(found) <= LARGEST:
            return found
    raise ValueError
