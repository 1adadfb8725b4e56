"""Writing: the options of a trainer that say what a plan is.

What is written is read again: a key that does not come back as it was is one that the trainer
cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from foretrain.launch.derived import DERIVED
from foretrain.launch.option import FilePlace, Option, Tongues, Why
from foretrain.launch.reading import read
from foretrain.trainers.flags import TRUE, Fact, Facts, Flag, Form, fact

HERE: Final = FilePlace(file="")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenOption:
    """An option as it is written.

    Attributes:
        name: of the option.
        value: true where it stands alone.
        form: of the file in which it stands.
        key: what it says.
        listed: whether its value is a list of words.
    """

    name: str
    value: Fact
    form: Form
    key: str
    listed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrote:
    """The options of a plan.

    Attributes:
        options: in the order of the entry.
        lost: keys that do not come back, with what is read instead; None where nothing is.
    """

    options: tuple[WrittenOption, ...]
    lost: dict[str, tuple[Fact, Fact | None]]


def write(facts: Facts, tongues: Tongues, unheard: frozenset[str] = frozenset()) -> Wrote:
    """The options that say some facts.

    Args:
        facts: by key.
        tongues: the dialects of the trainer that is told.
        unheard: keys that change nothing here, so that it does not matter what is read of them.
    """
    known = {**facts}
    told = [flag.keys() for dialect in tongues.dialects for flag in dialect.flags]
    spoken = {key for keys in told for key in keys}
    for derived in DERIVED:
        if derived.key not in spoken or derived.key in known:
            continue
        if (value := derived.of(known)) is not None:
            known[derived.key] = value
    found: dict[str, WrittenOption] = {}
    for dialect in tongues.dialects:
        said: set[str] = set()
        for flag in dialect.flags:
            if not flag.only_read:
                _write(flag, known, said=said, found=found)
    given = [_option(key, value) for key, value in facts.items() if key.startswith("cluster.")]
    again = read((_option(it.name, it.value) for it in found.values()), tongues, given=given)
    against = {
        it.taken.partition(" = ")[0] for it in again.not_understood if it.kind is Why.CONFLICT
    }
    back = {key: value for key, value in again.facts.items() if key not in against}
    lost = {
        key: (value, back.get(key))
        for key, value in facts.items()
        if not key.startswith("cluster.") and key not in unheard and back.get(key) != value
    }
    return Wrote(options=tuple(found.values()), lost=lost)


def _option(name: str, value: Fact) -> Option:
    return Option(name=name, value=value, place=HERE)


def _write(flag: Flag, facts: Facts, *, said: set[str], found: dict[str, WrittenOption]) -> None:
    """Write a flag where it says what is so, and nothing above it said it."""
    chosen = _chosen(flag, facts)
    if chosen is None:
        return
    value, keys = chosen
    if keys and keys <= said and not flag.always:
        return
    said |= keys
    key = ", ".join(sorted(keys))
    for name, word in (*flag.beside, (flag.name, value)):
        if name == flag.name or name not in found:
            listed = flag.listed and name == flag.name
            found[name] = WrittenOption(
                name=name, value=word, form=flag.place, key=key, listed=listed
            )


def _chosen(flag: Flag, facts: Facts) -> tuple[Fact, set[str]] | None:
    """The word of a flag that says what is so, and the keys of which it says it."""
    for word, sets in flag.words:
        if sets and all(key in facts and facts[key] == value for key, value in sets):
            return (True if word == TRUE else fact(word)), {key for key, _ in sets}
    if flag.key and flag.key in facts:
        value = facts[flag.key]
        if value is False and flag.place is Form.ARGUMENTS:
            return None
        return value, {flag.key}
    return None


def in_form(options: tuple[WrittenOption, ...], form: Form) -> Iterator[WrittenOption]:
    """The options that stand in a file of one form."""
    return (each for each in options if each.form is form)
