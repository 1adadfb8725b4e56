"""Trainers of the catalogue: from entries to nouns.

A line of an entry is `{ value, source }`, and may say of which runs it holds (`where`) and how much
to believe of each value of an option that nobody states (`prior`). Several lines of a key are a
list, of which the first that holds counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.study.catalogue import entries, find, shipped
from foretrain.trainers.trainer import Exclusion, Feature, Line, Trainer, Where
from foretrain.trainers.vocabulary import ABILITIES, HABITS, OPTIONS

KIND: Final = "trainers"
KEYS: Final = (
    *("family", "summary", "aliases", "like"),
    *("release", "date", "container", "recognised"),
    *("can", "excludes", "options", "habits", "flags"),
)
LINE: Final = ("value", "values", "source", "confidence", "where", "prior", "since")
PLACES: Final = tuple(each.name for each in fields(Where))


def trainer(name: str) -> Trainer:
    """A trainer by its name, or by that of its family for the newest release.

    Raises:
        InputError: if the catalogue has no such trainer.
    """
    found = find(KIND, name)
    return trainer_from(found, entries(KIND)[found])


def trainers() -> tuple[Trainer, ...]:
    """Every trainer of the catalogue, those of a user last."""
    known = entries(KIND)
    if known is shipped(KIND):
        return _shipped()
    return tuple(trainer_from(name, entry) for name, entry in known.items())


@cache
def _shipped() -> tuple[Trainer, ...]:
    return tuple(trainer_from(name, entry) for name, entry in shipped(KIND).items())


def trainer_from(name: str, entry: Mapping[str, Any]) -> Trainer:
    """A trainer from an entry that is complete.

    Raises:
        InputError: the entry says something that means nothing, each with its key.
    """
    _check(entry, KEYS, name)
    return Trainer(
        name=name,
        family=str(entry.get("family", "")),
        release=str(entry.get("release", "")),
        date=str(entry.get("date", "")),
        container=str(entry.get("container", "")),
        summary=str(entry.get("summary", "")),
        can=_features(entry, "can", tuple(ABILITIES)),
        excludes=tuple(_exclusion(each) for each in entry.get("excludes", ())),
        options=_features(entry, "options", tuple(OPTIONS)),
        habits=_features(entry, "habits", tuple(HABITS)),
        recognised=tuple(_where(each) for each in entry.get("recognised", ())),
    )


def _features(
    entry: Mapping[str, Any], section: str, order: tuple[str, ...]
) -> tuple[Feature, ...]:
    said = entry.get(section, {})
    known = sorted(said, key=lambda name: order.index(name) if name in order else len(order))
    return tuple(_feature(name, said[name], f"{section}.{name}") for name in known)


def _feature(name: str, said: object, key: str) -> Feature:
    lines: list[Any] = said if isinstance(said, list) else [said]
    for line in lines:
        if not isinstance(line, dict) or not {"value", "source"} <= {*line}:
            raise InputError(
                f'{key}: write {{ value = "...", source = "..." }}, or a list of them.'
            )
        _check(line, LINE, key)
    values = next((tuple(line["values"]) for line in lines if "values" in line), ())
    return Feature(
        name=name,
        values=values,
        lines=tuple(
            Line(
                value=_text(line["value"]),
                source=str(line["source"]),
                where=_where(line.get("where", {})),
                prior=tuple((str(name), float(it)) for name, it in line.get("prior", {}).items()),
            )
            for line in lines
        ),
    )


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _where(said: Mapping[str, Any]) -> Where:
    _check(said, (*PLACES, "source", "confidence"), "where")
    return Where(**{name: str(text) for name, text in said.items() if name in PLACES})


def _exclusion(said: Mapping[str, Any]) -> Exclusion:
    together = {key: it for key, it in said.items() if key not in ("source", "confidence")}
    return Exclusion(
        together=tuple(
            (key, tuple(map(str, it)) if isinstance(it, list) else (str(it),))
            for key, it in together.items()
        ),
        source=str(said.get("source", "")),
    )


def _check(said: Mapping[str, Any], known: tuple[str, ...], key: str) -> None:
    if wrong := [name for name in said if name not in known]:
        raise InputError(f"{key}: unknown key '{wrong[0]}'. Known: {', '.join(known)}.")
