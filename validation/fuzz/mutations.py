"""Changes to sound files: to their keys and values, their cells and lines, their bytes."""

from __future__ import annotations

import copy
import gzip
import json
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from functools import cache
from random import Random
from typing import Any, TypeAlias

Value: TypeAlias = Any
"""Of a document: a table, a list, or what they hold."""

UNITS = ("B", "GB", "GiB", "Gb/s", "GB/s", "us", "s", "min", "d", "W", "kWh", "USD/h", "MUSD", "%")
UNITS += ("FLOP", "TFLOP/s", "tokens", "T tokens", "epochs", "steps", "parameters", "furlongs", "")
NUMBERS = (0, 1, 2, 3, 7, -1, -7, 10**6, 10**9, 10**12, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64)
NUMBERS += (10**30, 10**400, -(10**30))
FLOATS = (0.0, -0.0, 0.5, 1.5, -1.5, 1e-9, 1e-300, 5e-324, 1e9, 1e17, 1e30, 1e300, 1.8e308)
FLOATS += (float("inf"), float("-inf"), float("nan"))
AMOUNTS = ("0", "1", "-1", "1e9", "1e29", "1e308", "1e-29", "1e-308", "1e999", "nan", "inf", "0x10")
AMOUNTS += ("9" * 400, "1_000", "٣", ".5", "1.", "")
WORDS = ("", " ", "none", "true", "null", "NaN", "any", "here", "full", "fp8", "..", "/", "~", "%s")
WORDS += (
    "llama-3-8b",
    "h100-sxm",
    "dgx-h100",
    "other.json",
    "data",
    "tensor",
    "{0}",
    "[b]x[/y]",
)
KNOWN = ("llama-3-8b", "resnet-50", "gpt-3-125m", "dgx-h100", "a100-sxm-80gb", "fp32", "fp8", "sgd")
KNOWN += ("full", "selective", "parameters", "gradients", "all", "infiniband", "ethernet", "pcie")
KNOWN += (
    "1f1b",
    "zero_bubble",
    "blocking",
    "cost",
    "energy",
    "memory",
    "sequence",
    "layers",
    "tiny",
)
KNOWN += ("fifo", "las", "max-min", "sia", "gittins", "easy", "any", "here", "mse_loss", "adamw")
ODD = ("\x00", "\x1b[31m", "\x1b]0;x\x07", "\u202e", "\u200b", "\x9b", "\ufeff", "\x85", "\u2028")
ODD += ("😀", "é", "\ud7ff", "'", '"', "\\", "\n", "\r", "\t", "<script>", "&amp;", "${x}", "=1+1")

Change = Callable[[Random, bytes], bytes]


def mutated(random: Random, content: bytes, form: str) -> bytes:
    """A file's content with one to three changes.

    Args:
        random: draws them.
        content: of a sound file.
        form: "toml", "json", "csv" or "lines" (of cells between tabs, bars or blanks).
    """
    changes = BY_FORM[form] if random.random() < 0.75 else BYTES
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        content = random.choice(changes)(random, content)
    return content


def _tree(change: Callable[[Random, Value], None], form: str) -> Change:
    """A change to keys and values; to bytes where an earlier one left no such document."""

    def changed(random: Random, content: bytes) -> bytes:
        try:
            document = _read(content, form)
        except (ValueError, RecursionError):
            return random.choice(BYTES)(random, content)
        if not document:
            return content
        change(random, document)
        return _written(document, form).encode("utf-8", "surrogatepass")

    return changed


def _read(content: bytes, form: str) -> Value:
    import tomllib

    text = content.decode()
    return tomllib.loads(text) if form == "toml" else json.loads(text)


def _written(document: Value, form: str) -> str:
    if form == "json":
        return _json(document)
    return "\n".join(f"{json.dumps(key)} = {_toml(value)}" for key, value in document.items())


def _json(value: Value) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**4000:
        return "9" * 5000
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_json, value))}]"
    return json.dumps(value)


def _toml(value: Value) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    return "nan" if value is None else str(value)


def _places(value: Value) -> Iterator[tuple[Value, Value]]:
    """Every table or list in a document, with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _anything(random: Random, like: Value = None) -> Value:
    """A value, now and then of the kind of another one."""
    if isinstance(like, str) and random.random() < 0.4:
        return _amount(random, like)
    return random.choice(
        (
            lambda: random.choice(NUMBERS),
            lambda: random.choice(FLOATS),
            lambda: random.choice(WORDS),
            lambda: f"{random.choice(AMOUNTS)} {random.choice(UNITS)}",
            lambda: random.choice(ODD) * random.choice((1, 1, 40)),
            lambda: random.choice("xé😀") * random.choice((300, 9_999, 100_000)),
            lambda: random.choice((True, False)),
            lambda: date(random.choice((1, 2026, 9999)), 1, 1).isoformat(),
            lambda: [],
            lambda: {},
            lambda: [copy.deepcopy(like)] * random.choice((0, 2, 5, 1000)),
            lambda: {random.choice(WORDS): copy.deepcopy(like)},
            lambda: _nested(random.choice((5, 30, 300))),
        )
    )()


def _amount(random: Random, like: str) -> str:
    """A number with a unit in which one of the two is another."""
    number, _, unit = like.partition(" ")
    if random.random() < 0.5:
        return f"{random.choice(AMOUNTS)} {unit}"
    return f"{number} {random.choice(UNITS)}"


def _nested(depth: int) -> Value:
    value: Value = 1
    for _ in range(depth):
        value = [value]
    return value


def _replace(random: Random, document: Value) -> None:
    place, key = random.choice([*_places(document)])
    place[key] = _anything(random, place[key])


def _scale(random: Random, document: Value) -> None:
    """A number that is much larger or smaller, as slips of the pen make it."""
    numbers = [(place, key) for place, key in _places(document) if type(place[key]) in (int, float)]
    if numbers:
        place, key = random.choice(numbers)
        place[key] = place[key] * random.choice((0, -1, 2, 3, 7, 10, 1000, 10**6, 10**9))


def _nudge(random: Random, document: Value) -> None:
    """A number or a word that may still be sound."""
    place, key = random.choice([*_places(document)])
    value = place[key]
    if type(value) in (int, float):
        place[key] = random.choice((value + 1, value - 1, 2 * value, value // 2, 0.5 * value))
    elif isinstance(value, bool):
        place[key] = not value
    elif isinstance(value, str):
        place[key] = random.choice((random.choice(KNOWN), _amount(random, value), value.upper()))
    elif value and isinstance(value, list):
        place[key] = random.choice((value[::-1], value[:-1], value[:1], value * 2, value[0]))


def _delete(random: Random, document: Value) -> None:
    place, key = random.choice([*_places(document)])
    del place[key]


def _swap(random: Random, document: Value) -> None:
    every = [*_places(document)]
    (first, one), (second, other) = random.choice(every), random.choice(every)
    a, b = copy.deepcopy(first[one]), copy.deepcopy(second[other])
    first[one] = b
    if isinstance(second, dict) or other < len(second):
        second[other] = a


def _rename(random: Random, document: Value) -> None:
    tables = [(place, key) for place, key in _places(document) if isinstance(place, dict)]
    place, key = random.choice(tables)
    names = [other for _, other in tables]
    misspelt = key[:-1] if random.random() < 0.3 else key + "s"
    name = random.choice((misspelt, random.choice(names), random.choice(WORDS + ODD)))
    place[name] = place.pop(key)


def _add(random: Random, document: Value) -> None:
    every = [*_places(document)]
    place, _ = random.choice(every)
    _, key = random.choice(every)
    if isinstance(place, dict):
        place[str(key) if random.random() < 0.5 else random.choice(WORDS)] = _anything(random)
    else:
        place.append(_anything(random, place[0] if place else None))


TREE = (_replace, _replace, _scale, _nudge, _nudge, _nudge, _delete, _swap, _rename, _add)


def _lines(change: Callable[[Random, list[str]], None]) -> Change:
    """A change to the lines of a text."""

    def changed(random: Random, content: bytes) -> bytes:
        lines = content.decode("utf-8", "surrogateescape").split("\n")
        change(random, lines)
        return "\n".join(lines).encode("utf-8", "surrogatepass")

    return changed


def _place(random: Random, lines: list[str]) -> int:
    return random.randrange(len(lines))


def _drop_line(random: Random, lines: list[str]) -> None:
    del lines[_place(random, lines)]
    lines[:] = lines or [""]


def _repeat_line(random: Random, lines: list[str]) -> None:
    at = _place(random, lines)
    lines[at:at] = [lines[at]] * random.choice((1, 1, 3, 2000))


def _exchange_lines(random: Random, lines: list[str]) -> None:
    one, other = _place(random, lines), _place(random, lines)
    lines[one], lines[other] = lines[other], lines[one]


def _blank_line(random: Random, lines: list[str]) -> None:
    lines.insert(
        _place(random, lines), random.choice(("", " ", ",,,", "\t", '"', "#", ";", "\x00"))
    )


def _cell(random: Random, lines: list[str]) -> None:
    """Another content of a cell."""
    at = _place(random, lines)
    delimiter = next((each for each in ("\t", "|", ",", " ") if each in lines[at]), ",")
    cells = lines[at].split(delimiter)
    which = random.randrange(len(cells))
    choices = (AMOUNTS, WORDS, ODD, tuple(map(str, NUMBERS[:12])), tuple(map(str, FLOATS)))
    extreme = random.choice(random.choice(choices))
    more = (extreme, f'"{extreme}', f'"{extreme}"x', cells[which] * 2, f"{cells[which]}{extreme}")
    cells[which] = random.choice((extreme, extreme, *more, "x" * 20_000, "x" * 140_000))
    lines[at] = delimiter.join(cells)


def _column(random: Random, lines: list[str]) -> None:
    """A column less or twice, in every line or in one."""
    delimiter = next((each for each in ("\t", "|", ",", " ") if each in lines[0]), ",")
    which = random.randrange(len(lines[0].split(delimiter)))
    twice, alone = random.random() < 0.5, random.random() < 0.5
    for at in [_place(random, lines)] if alone else range(len(lines)):
        cells = lines[at].split(delimiter)
        if which < len(cells):
            cells[which : which + 1] = [cells[which]] * (2 if twice else 0)
        lines[at] = delimiter.join(cells)


TEXT = tuple(map(_lines, (_drop_line, _repeat_line, _exchange_lines, _blank_line)))
LINES = (*map(_lines, (_cell, _cell, _cell, _cell, _column)), *TEXT)


def _flip(random: Random, content: bytes) -> bytes:
    changed = bytearray(content or b"x")
    for _ in range(random.choice((1, 1, 8))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(random: Random, content: bytes) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def _insert(random: Random, content: bytes) -> bytes:
    at = random.randrange(len(content) + 1)
    odd = random.choice(
        (b"\x00", b"\xff", b"\x1b[2J", b"\xc3", b"\xed\xa0\x80", b"\r", b"\xef\xbb\xbf")
    )
    return content[:at] + odd + content[at:]


def _number_in_text(random: Random, content: bytes) -> bytes:
    """A number of the text, whatever its form, as another one."""
    found = [*re.finditer(rb"\d+", content)]
    if not found:
        return content
    it = random.choice(found)
    number = random.choice((b"0", b"-1", b"1e9", b"9" * 30, b"9" * 5000, b"1e400", b"0x1f"))
    return content[: it.start()] + number + content[it.end() :]


def _encode(random: Random, content: bytes) -> bytes:
    text = content.decode("utf-8", "replace")
    return text.encode(
        random.choice(("utf-16", "utf-16-le", "latin-1", "cp1252", "utf-7")), "replace"
    )


def _pack(random: Random, content: bytes) -> bytes:
    packed = gzip.compress(content, mtime=0)
    ways = (packed, packed[: len(packed) // 2], packed[:-4], _flip(random, packed), packed + b"x")
    return random.choice(
        (*ways, packed + packed, _bomb(), b"PK\x03\x04" + content, b"BZh9" + content)
    )


@cache
def _bomb() -> bytes:
    """600 MB of blanks in 600 kB."""
    return gzip.compress(b" " * 10**6, 9, mtime=0) * 600


def _deep(random: Random, content: bytes) -> bytes:
    many = random.choice((100, 100_000))
    return content + random.choice(
        (b"\nx = " + b"[" * many, b"{" * many, b"\n" + b"a." * many + b"a = 1")
    )


BYTES: tuple[Change, ...] = (
    _flip, _flip, _cut, _insert, _insert, _number_in_text, _number_in_text, _encode, _pack, _deep,
)  # fmt: skip

BY_FORM: dict[str, tuple[Change, ...]] = {
    "toml": (*(_tree(each, "toml") for each in TREE), *TEXT),
    "json": tuple(_tree(each, "json") for each in TREE),
    "csv": LINES,
    "lines": LINES,
}
