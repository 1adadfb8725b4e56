"""Keys of a study written anew: by a command, or by a scenario.

Settings: keys of a study that a command sets, in the place of what a file says.

The tables [[scenario]] of a study: each is the whole study with some keys written anew.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.study.keys import SHORT_FORMS
from foretrain.study.problems import Problems, unknown_key
from foretrain.units import as_written

LONGEST: Final = 1000
"""Letters of a setting."""

DEEPEST: Final = 6
"""Names of a key, from its section on."""


def with_settings(document: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """A document with some of its keys set: `plan.tensor=4`, `cluster.price="2 USD/h"`.

    A value is what TOML makes of it, or else the text itself.

    Raises:
        InputError: with every setting that is none.
    """
    whole = {key: _copied(item) for key, item in document.items()}
    wrong = [told for text in settings for told in _set(whole, text)]
    if wrong:
        raise InputError("\n".join(f"--set {told}" for told in wrong))
    return whole


def _copied(value: Any) -> Any:  # noqa: ANN401 - whatever a document holds
    if isinstance(value, Mapping):
        return {key: _copied(item) for key, item in value.items()}
    return value


def _set(document: dict[str, Any], text: str) -> list[str]:
    """Set one key; what is wrong with the setting."""
    if len(text) > LONGEST:
        return [f"has {len(text):,} letters; at most {LONGEST:,} are read."]
    key, equals, value = text.partition("=")
    *sections, last = (each.strip() for each in key.split("."))
    if not equals or not sections or not all((*sections, last)) or len(sections) >= DEEPEST:
        return [f"{text!r} is no key with a value. Write for example plan.tensor=4."]
    inside = document
    for section in sections:
        found = inside.setdefault(section, {})
        if not isinstance(found, dict):
            return [f"{text!r}: {section} is no table in the study; set all of it instead."]
        inside = found
    inside[last] = _value(value.strip())
    return []


def _value(text: str) -> object:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


GIVEN = "as given"
"""What the study itself is called among its scenarios."""

KEY: Final = "scenario"
UNRANKED: Final = (
    "scenarios compare the plans of rankings; with search.maximise or devices of two kinds there "
    "is none. Leave one of them out."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioTable:
    """One scenario, as it is written.

    Attributes:
        name: the user's.
        path: where it stands, for messages.
        document: the study's sections with the scenario's keys in place of their own.
    """

    name: str
    path: str
    document: Mapping[str, object]


def scenario_tables(
    document: Mapping[str, object], sections: Sequence[str], problems: Problems
) -> tuple[ScenarioTable, ...]:
    """The scenarios of a document, each as a study of its own.

    Args:
        document: the study.
        sections: what a scenario may write anew.
        problems: takes what is wrong with the tables themselves.
    """
    written = document.get(KEY, [])
    if not isinstance(written, list) or not all(isinstance(each, Mapping) for each in written):
        problems.add(KEY, "is not a list of tables; write [[scenario]] above each.")
        return ()
    base = {name: item for name, item in document.items() if name in sections}
    found = []
    for place, (table, name) in enumerate(zip(written, _names(written, problems), strict=True)):
        path = f"{KEY}[{place}]"
        for key in table:
            if key not in ("name", *sections):
                problems.add(f"{path}.{key}", unknown_key(key, ("name", *sections)))
        if not table.keys() & set(sections):
            problems.add(path, f"changes nothing. Write keys of {', '.join(sections)} anew.")
            continue
        anew = {
            key: _merged(base.get(key, {}), item, SHORT_FORMS.get(key, {}))
            for key, item in table.items()
            if key in sections
        }
        found.append(ScenarioTable(name=name, path=path, document={**base, **anew}))
    return tuple(found)


def add_below(path: str, found: Problems, problems: Problems) -> None:
    """Note what is wrong with a scenario only, under its own keys.

    A mistake of the study itself is told once, not again for every scenario.
    """
    for key, text in found.found:
        if (key, text) not in problems.found:
            problems.add(f"{path}.{key}" if key else path, text)


def _names(tables: Sequence[Mapping[str, object]], problems: Problems) -> Iterator[str]:
    """The name of each scenario; every problem with one is noted."""
    taken = {GIVEN}
    for place, table in enumerate(tables):
        name, wrong = table.get("name"), ""
        if "name" not in table:
            wrong = "is missing. Say in a few words what is different."
        elif not isinstance(name, str) or not name.strip():
            wrong = f"{as_written(name)} is not a text."
        elif name in taken:
            wrong = f"{as_written(name)} is another scenario's name; write a new one."
        if wrong:
            problems.add(f"{KEY}[{place}].name", wrong)
            yield ""
        else:
            taken.add(str(name))
            yield str(name)


def _merged(base: object, new: object, short: Mapping[str, str]) -> object:
    """A table with another's keys in place of its own, under either of their names."""
    if not isinstance(base, Mapping) or not isinstance(new, Mapping):
        return new
    anew = {short.get(key, key) for key in new}
    kept = {key: value for key, value in base.items() if short.get(key, key) not in anew}
    return kept | {key: _merged(base.get(key), value, {}) for key, value in new.items()}
