"""Settings: keys of a study that a command sets, in the place of what a file says."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from foretrain.errors import InputError

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
