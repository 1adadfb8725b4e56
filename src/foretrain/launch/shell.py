"""Shell scripts, as far as launch scripts need: variables, arrays, quotes, continuation lines.

Nothing is run. Statements are followed one after the other as if every branch were taken, and what
only a running shell could say (`$(...)`, a variable that nobody sets) is kept as not known, with
its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from foretrain.errors import InputError
from foretrain.launch.expansion import Pieces, ShellReader, WordPiece, expanded, filled_in

ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)(\[\w*\])?(\+?)=")

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
    shell = ShellReader(text.replace("\r\n", "\n"))
    shell.values = {name: [(_piece(value),)] for name, value in (values or {}).items()}
    if rest:
        shell.values["@"] = [
            (WordPiece(text=it.text, line=it.line, whole=True, unset=" ".join(it.unset)),)
            for it in rest
        ]
    return tuple(_commands(shell))


def _piece(text: str) -> WordPiece:
    return WordPiece(text=text, line=0)


def _commands(shell: ShellReader) -> Iterator[Command]:
    many = 0
    while not shell.ended():
        command = _command(shell)
        many += len(command.words)
        if many > MOST_WORDS:
            raise InputError(f"has more than {MOST_WORDS:,} words of commands.")
        if command.words or command.written:
            yield command


def _command(shell: ShellReader) -> Command:
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
        elif here in ENDS:
            _end(shell)
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


def _blanks(shell: ShellReader) -> None:
    while shell.peek() and (shell.peek() in " \t" or shell.peek(2) == "\\\n"):
        shell.take(2 if shell.peek() == "\\" else 1)


def _skip_comment(shell: ShellReader) -> None:
    while not shell.ended() and shell.peek() != "\n":
        shell.take()


def _end(shell: ShellReader) -> None:
    """Past the end of a command."""
    if shell.peek() == "\n":
        _end_line(shell)
    else:
        shell.take()


def _end_line(shell: ShellReader) -> None:
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
            inner = ShellReader(text, line=start, depth=shell.depth + 1, values=shell.values)
            text = "".join(each.text for each in filled_in(inner))
        shell.written[target] = text
    shell.documents = []


def _redirects(shell: ShellReader) -> bool:
    return bool(re.match(r"\d*[<>]|&>", shell.text[shell.at : shell.at + 3]))


def _redirect(shell: ShellReader) -> None:
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


def _assign(shell: ShellReader, match: re.Match[str]) -> None:
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


def _array(shell: ShellReader) -> list[Pieces]:
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
        if shell.peek() in OPERATORS:
            shell.take()  # no shell takes such a list; what stands around it is read all the same
            continue
        if shell.peek() == "#":
            _skip_comment(shell)
            continue
        items += [
            (WordPiece(text=each.text, line=each.line, whole=True, unset=" ".join(each.unset)),)
            for each in _words(_word(shell))
        ]


OPERATORS: Final = frozenset(";&|(<>")
BETWEEN: Final = " \t\n;&|()<>"


def _word(shell: ShellReader) -> Pieces:
    """The next word, in pieces."""
    found: list[WordPiece] = []
    while not shell.ended() and shell.peek() not in BETWEEN:
        here = shell.peek()
        if here == "'":
            found.append(_single(shell))
        elif here == '"':
            found += _double(shell)
        elif here in "$`":
            found += expanded(shell, whole=False)
        elif here == "\\":
            shell.take()
            line, letter = shell.line, shell.take()
            if letter != "\n":
                found.append(WordPiece(text=letter, line=line, whole=True))
        else:
            found.append(WordPiece(text=here, line=shell.line))
            shell.take()
        shell.made += 1
        if shell.made + len(found) > MOST_PIECES:
            raise InputError("is out of all proportion for a launch script.")
    return tuple(found)


def _single(shell: ShellReader) -> WordPiece:
    line = shell.line
    shell.take()
    end = shell.text.find("'", shell.at)
    if end < 0:
        raise InputError(f"line {line}: a single quote is not closed.")
    text = shell.take(end - shell.at)
    shell.take()
    return WordPiece(text=text, line=line, whole=True)


def _double(shell: ShellReader) -> list[WordPiece]:
    start = shell.line
    shell.take()
    found = [WordPiece(text="", line=start, whole=True)]
    while shell.peek() != '"':
        if shell.ended():
            raise InputError(f"line {start}: a double quote is not closed.")
        if shell.peek() in "$`":
            found += expanded(shell, whole=True)
            continue
        line = shell.line
        if shell.peek(2) == "\\\n":
            shell.take(2)
            continue
        if shell.peek() == "\\" and shell.peek(2)[1:] in {'"', "$", "`", "\\"}:
            shell.take()
        found.append(WordPiece(text=shell.take(), line=line, whole=True))
    shell.take()
    return found


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
