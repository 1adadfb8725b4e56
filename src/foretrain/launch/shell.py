"""Shell scripts, as far as launch scripts need: variables, arrays, quotes, continuation lines.

Nothing is run. Statements are followed one after the other as if every branch were taken, and what
only a running shell could say (`$(...)`, a variable that nobody sets) is kept as not known, with
its name.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from foretrain.errors import InputError

NAME: Final = re.compile(r"[A-Za-z_]\w*")
ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(\[\w*\])?(\+?)=")
BRACED: Final = re.compile(
    r"(#?)([A-Za-z_]\w*|[@*#?$!0-9]+)(\[[^\]]*\])?(?:(:?[-=?+])(.*)|(.*))", re.DOTALL
)
HEREDOC: Final = re.compile(r"<<(-?)\s*(['\"]?)(\w+)\2")
DECLARES: Final = frozenset({"export", "declare", "local", "readonly", "typeset", "env"})
KEYWORDS: Final = frozenset(
    {
        "then",
        "do",
        "else",
        "!",
        "if",
        "elif",
        "while",
        "until",
        "time",
        "exec",
        "{",
        "}",
        "fi",
        "done",
    }
)
ENDS: Final = "\n;&|"
MOST_WORDS: Final = 20_000
MOST_PIECES: Final = 200_000
DEEPEST: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
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


Pieces = tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word of a command.

    Attributes:
        text: what it says, variables filled in.
        line: where it begins.
        unset: variables in it that nobody sets.
    """

    text: str
    line: int
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A simple command.

    Attributes:
        words: program and arguments.
        line: where it begins.
        written: text of here-documents, by the file that they are sent to.
    """

    words: tuple[Word, ...]
    line: int
    written: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Shell:
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
        return self.text[self.at : self.at + many]

    def take(self, many: int = 1) -> str:
        found = self.peek(many)
        self.at += many
        self.line += found.count("\n")
        return found

    def ended(self) -> bool:
        return self.at >= len(self.text)


def commands(
    text: str, values: Mapping[str, str] | None = None, *, rest: Sequence[Word] = ()
) -> tuple[Command, ...]:
    """The commands of a script, in their order.

    Args:
        text: of the script.
        values: of variables that are set before it starts.
        rest: the words that "$@" stands for.

    Raises:
        InputError: a quote or a bracket is not closed, or it is out of all proportion.
    """
    shell = _Shell(text.replace("\r\n", "\n"))
    shell.values = {name: [(_piece(value),)] for name, value in (values or {}).items()}
    if rest:
        shell.values["@"] = [
            (Piece(text=it.text, line=it.line, whole=True, unset=" ".join(it.unset)),)
            for it in rest
        ]
    return tuple(_commands(shell))


def _piece(text: str) -> Piece:
    return Piece(text=text, line=0)


def _commands(shell: _Shell) -> Iterator[Command]:
    many = 0
    while not shell.ended():
        command = _command(shell)
        many += len(command.words)
        if many > MOST_WORDS:
            raise InputError(f"has more than {MOST_WORDS:,} words of commands.")
        if command.words or command.written:
            yield command


def _command(shell: _Shell) -> Command:
    """The next simple command; assignments before it, and alone, are kept."""
    shell.target, shell.written = "", {}
    found: list[Word] = []
    declares = False
    line = shell.line
    while not shell.ended():
        _blanks(shell)
        here = shell.peek()
        if here == "#":
            _skip_comment(shell)
        elif here in ENDS or shell.ended():
            if here == "\n":
                _end_line(shell)
            else:
                shell.take()
            break
        elif here in "()":
            shell.take()
        elif here in "<>" or _redirects(shell):
            _redirect(shell)
        elif (not found or declares) and (match := ASSIGNMENT.match(shell.text, shell.at)):
            _assign(shell, match)
        else:
            line = line if found else shell.line
            words = _words(_word(shell))
            if not found and words and words[0].text in KEYWORDS:
                continue
            declares = declares or (not found and bool(words) and words[0].text in DECLARES)
            found += words
    written = {name: text for name, text in shell.written.items() if name}
    return Command(words=tuple(found), line=line, written=written)


def _blanks(shell: _Shell) -> None:
    while shell.peek() and (shell.peek() in " \t" or shell.peek(2) == "\\\n"):
        shell.take(2 if shell.peek() == "\\" else 1)


def _skip_comment(shell: _Shell) -> None:
    while not shell.ended() and shell.peek() != "\n":
        shell.take()


def _end_line(shell: _Shell) -> None:
    """Past the end of a line, and past the here-documents that it announced."""
    shell.take()
    for mark, quoted, stripped, target in shell.documents:
        lines = []
        start = shell.line
        while not shell.ended():
            line = ""
            while not shell.ended() and shell.peek() != "\n":
                line += shell.take()
            shell.take()
            if (line.lstrip("\t") if stripped else line) == mark:
                break
            lines.append(line)
        text = "\n".join(lines)
        if not quoted:
            inner = _Shell(text, line=start, depth=shell.depth + 1, values=shell.values)
            text = "".join(each.text for each in _document(inner))
        shell.written[target] = text
    shell.documents = []


def _document(shell: _Shell) -> Pieces:
    """A text in which variables are filled in and quotes are letters."""
    found: list[Piece] = []
    while not shell.ended():
        if shell.peek() == "$":
            found += _expanded(shell, whole=True)
        elif shell.peek() == "\\" and shell.peek(2)[1:] in {"$", "\\", "`", "\n"}:
            shell.take()
            found.append(Piece(text=shell.take(), line=shell.line))
        else:
            found.append(Piece(text=shell.take(), line=shell.line))
    return tuple(found)


def _redirects(shell: _Shell) -> bool:
    return bool(re.match(r"\d*[<>]|&>", shell.text[shell.at : shell.at + 3]))


def _redirect(shell: _Shell) -> None:
    """Past a redirection; a here-document is kept with the file that the command writes."""
    if match := HEREDOC.match(shell.text, shell.at):
        shell.take(len(match[0]))
        shell.documents.append((match[3], bool(match[2]), bool(match[1]), shell.target))
        return
    while shell.peek() and shell.peek() in "0123456789<>&|":
        shell.take()
    _blanks(shell)
    if shell.peek() and shell.peek() not in ENDS:
        shell.target = "".join(each.text for each in _word(shell))
        shell.documents = [(*each[:3], each[3] or shell.target) for each in shell.documents]


def _assign(shell: _Shell, match: re.Match[str]) -> None:
    """NAME=value, NAME+=value, NAME=( ... ) and NAME+=( ... )."""
    shell.take(len(match[0]))
    name, more = match[1], bool(match[3])
    before = shell.values.get(name, [])
    if shell.peek() == "(":
        items = _array(shell)
        shell.values[name] = [*before, *items] if more else items
        return
    word = _word(shell)
    if more:
        joined = before[0] if before else ()
        shell.values[name] = [(*joined, *word), *before[1:]]
    elif not (match[2] and before):
        shell.values[name] = [word]


def _array(shell: _Shell) -> list[Pieces]:
    shell.take()
    items: list[Pieces] = []
    while True:
        while shell.peek() and (shell.peek() in " \t\n" or shell.peek(2) == "\\\n"):
            shell.take(2 if shell.peek() == "\\" else 1)
        if shell.ended():
            raise InputError(f"line {shell.line}: a list in brackets is not closed.")
        if shell.peek() == ")":
            shell.take()
            return items
        if shell.peek() == "#":
            _skip_comment(shell)
            continue
        items += [
            (Piece(text=each.text, line=each.line, whole=True, unset=" ".join(each.unset)),)
            for each in _words(_word(shell))
        ]


BETWEEN: Final = " \t\n;&|()<>"


def _word(shell: _Shell) -> Pieces:
    """The next word, in pieces."""
    found: list[Piece] = []
    while not shell.ended() and shell.peek() not in BETWEEN:
        here = shell.peek()
        if here == "'":
            found.append(_single(shell))
        elif here == '"':
            found += _double(shell)
        elif here in "$`":
            found += _expanded(shell, whole=False)
        elif here == "\\":
            shell.take()
            line, letter = shell.line, shell.take()
            if letter != "\n":
                found.append(Piece(text=letter, line=line, whole=True))
        else:
            found.append(Piece(text=here, line=shell.line))
            shell.take()
        shell.made += 1
        if shell.made + len(found) > MOST_PIECES:
            raise InputError("is out of all proportion for a launch script.")
    return tuple(found)


def _single(shell: _Shell) -> Piece:
    line = shell.line
    shell.take()
    end = shell.text.find("'", shell.at)
    if end < 0:
        raise InputError(f"line {line}: a single quote is not closed.")
    text = shell.take(end - shell.at)
    shell.take()
    return Piece(text=text, line=line, whole=True)


def _double(shell: _Shell) -> list[Piece]:
    start = shell.line
    shell.take()
    found = [Piece(text="", line=start, whole=True)]
    while shell.peek() != '"':
        if shell.ended():
            raise InputError(f"line {start}: a double quote is not closed.")
        if shell.peek() in "$`":
            found += _expanded(shell, whole=True)
            continue
        line = shell.line
        if shell.peek(2) == "\\\n":
            shell.take(2)
            continue
        if shell.peek() == "\\" and shell.peek(2)[1:] in {'"', "$", "`", "\\"}:
            shell.take()
        found.append(Piece(text=shell.take(), line=line, whole=True))
    shell.take()
    return found


def _expanded(shell: _Shell, *, whole: bool) -> list[Piece]:
    """What `$...` or a command in backquotes stands for."""
    line = shell.line
    if shell.peek() == "`":
        shell.take()
        end = shell.text.find("`", shell.at)
        said = shell.take((end if end >= 0 else len(shell.text)) - shell.at)
        shell.take()
        return [Piece(text="", line=line, unset=f"`{said}`")]
    shell.take()
    if shell.peek(2) == "((":
        return [_arithmetic(shell, line)]
    if shell.peek() in {"(", "{"}:
        inside = _bracketed(shell)
        if inside.startswith("("):
            return [Piece(text="", line=line, unset=f"${inside}")]
        return _braced(shell, inside[1:-1], line, whole=whole)
    if match := NAME.match(shell.text, shell.at):
        shell.take(len(match[0]))
        return _valued(shell, match[0], line, whole=whole, every=False)
    if shell.peek() in {"@", "*"} and "@" in shell.values:
        shell.take()
        return _valued(shell, "@", line, whole=whole, every=True)
    if shell.peek() and shell.peek() in "@*#?$!0123456789-":
        return [Piece(text="", line=line, unset=f"${shell.take()}")]
    return [Piece(text="$", line=line, whole=whole)]


def _bracketed(shell: _Shell) -> str:
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


def _valued(shell: _Shell, name: str, line: int, *, whole: bool, every: bool) -> list[Piece]:
    """The value of a variable, of all its items where it is a list and all are asked for."""
    found = shell.values.get(name)
    if found is None:
        return [Piece(text="", line=line, unset=name)]
    items = found if every else found[:1]
    made: list[Piece] = []
    for place, item in enumerate(items):
        if place:
            made.append(Piece(text=" ", line=line))
        made += [
            Piece(
                text=each.text,
                line=each.line or line,
                whole=whole,
                unset=each.unset,
            )
            for each in item
        ]
    return made


def _braced(shell: _Shell, inside: str, line: int, *, whole: bool) -> list[Piece]:
    """${NAME}, ${NAME[@]}, ${#NAME[@]}, ${NAME:-other}; what is done to its text is not known."""
    match = BRACED.fullmatch(inside)
    if match is None or shell.depth > DEEPEST:
        return [Piece(text="", line=line, unset=f"${{{inside}}}")]
    counted, name, index, sign, other, rest = match.groups()
    found = shell.values.get(name)
    every = index in ("[@]", "[*]")
    if counted:
        return [Piece(text=str(len(found or ())), line=line)]
    if rest or (index and not every and index != "[0]"):
        return [Piece(text="", line=line, unset=f"${{{inside}}}")]
    known = found is not None and not any(each.unset for item in found for each in item)
    if sign in ("-", ":-", "=", ":=") and not known:
        inner = _Shell(other or "", line=line, depth=shell.depth + 1, values=shell.values)
        made = _document(inner)
        return [
            Piece(text=each.text.strip("'\""), line=line, whole=whole, unset=each.unset)
            for each in made
        ]
    if sign in ("+", ":+"):
        return [Piece(text=other or "", line=line, whole=whole)] if known else []
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


def _arithmetic(shell: _Shell, line: int) -> Piece:
    """$(( ... )): whole numbers, variables and the four operations."""
    said = _bracketed(shell)
    inner = _Shell(said[2:-2], line=line, depth=shell.depth + 1, values=shell.values)
    text = "".join(each.text if not each.unset else "?" for each in _document(inner))
    try:
        if len(text) > MOST_LETTERS:
            raise ValueError(text)
        number = _computed(ast.parse(text.strip(), mode="eval").body, shell)
    except (SyntaxError, ValueError, ZeroDivisionError, KeyError):
        return Piece(text="", line=line, unset=f"$({said})".replace("$((", "$((", 1))
    return Piece(text=str(number), line=line)


def _computed(node: ast.AST, shell: _Shell) -> int:
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


def _words(pieces: Pieces) -> list[Word]:
    """Pieces cut into words at blanks that no quote protects."""
    found: list[Word] = []
    text, line, unset, begun = "", 0, list[str](), False
    for each in pieces:
        parts = [each.text] if each.whole else re.split(r"[ \t\n]+", each.text)
        for place, part in enumerate(parts):
            if place and begun:
                found.append(Word(text=text, line=line, unset=tuple(unset)))
                text, line, unset, begun = "", 0, [], False
            if part or each.whole or each.unset:
                line = line or each.line
                begun = True
                text += part
        if each.unset:
            unset.append(each.unset)
    if begun:
        found.append(Word(text=text, line=line, unset=tuple(unset)))
    return found
