"""Sets of coefficients, ours and those that somebody brings.

Sets of coefficients: TOML files that say of each value its unit, interval and source.

`priors.toml` holds every coefficient as it was known before anything was fitted. A set says only
what differs from it.

Sets of coefficients that somebody brings: every problem told at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import Any, Final

from foretrain.coefficients.coefficients import Calibration, Coefficient, Coefficients, Origin
from foretrain.coefficients.uncertainty import Covers, Fitted
from foretrain.errors import InputError, nearest
from foretrain.study.documents import from_toml, read_toml
from foretrain.study.problems import Problems, validated
from foretrain.units import as_written

SETS = files("foretrain.coefficients") / "sets"
PRIORS_FILE = "priors"
DEFAULT_SET = "2026-11"
COVERS = "covers"
SPAN = re.compile(r"(?P<name>.+-)(?P<first>[0-9]{1,18})\.\.(?P=name)(?P<last>[0-9]{1,18})")


def calibration(text: str, *, over: Calibration | None = None, where: str) -> Calibration:
    """A calibration from the text of a set.

    Args:
        text: the TOML document.
        over: what holds for coefficients that the set leaves out.
        where: names the text in messages.

    Raises:
        InputError: it is not such a document.
    """
    document = from_toml(text, where)
    known = dict(over.known) if over else {}
    for group, inside in document.items():
        if isinstance(inside, dict) and group != COVERS:
            for field, entry in inside.items():
                name = f"{group}.{field}"
                known[name] = _coefficient(name, entry, known.get(name), where=where)
    return Calibration(
        name=str(document.get("name", where)),
        date=str(document.get("date", "")),
        known=known,
        covers=_covers(document.get(COVERS, {})),
    )


def _covers(entry: Mapping[str, Any]) -> Covers:
    least, most = entry.get("parameters", (0.0, 0.0))
    fewest, largest = entry.get("counts", (0.0, 0.0))
    runs = []
    for each in entry.get("runs", ()):
        devices, kinds = tuple(map(int, each["devices"])), frozenset(each["kinds"])
        runs.append(Fitted(**{**each, "devices": devices, "kinds": kinds}))
    return Covers(
        devices=frozenset(entry.get("devices", ())),
        software=frozenset(entry.get("software", ())),
        parameters=(float(least), float(most)),
        counts=(float(fewest), float(largest)),
        kinds=frozenset(entry.get("kinds", ())),
        samples=frozenset(entry.get("samples", ())),
        multiplied=float(entry.get("multiplied", 0.0)),
        runs=tuple(runs),
    )


def _coefficient(
    name: str, entry: Mapping[str, Any], before: Coefficient | None, *, where: str
) -> Coefficient:
    unit = entry.get("unit", before.unit if before else None)
    try:
        return Coefficient(
            value=float(entry["value"]),
            unit=str(unit),
            low=float(entry["low"]),
            high=float(entry["high"]),
            kind=Origin(entry["kind"]),
            source=str(entry["source"]),
            rows=tuple(row for each in entry.get("rows", ()) for row in rows_of(each)),
        )
    except KeyError as error:
        raise InputError(f"{where}: {name} does not say {error}.") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {name}: {error}") from None


def rows_of(text: str) -> Iterator[str]:
    """One id, or those from a first to a last one (`mpt-0081..mpt-0113`)."""
    span = SPAN.fullmatch(text)
    if span is None:
        yield text
        return
    for number in range(int(span["first"]), int(span["last"]) + 1):
        yield f"{span['name']}{number:0{len(span['first'])}}"


def _shipped(name: str, over: Calibration | None = None) -> Calibration:
    file = f"{name}.toml"
    return calibration((SETS / file).read_text("utf-8"), over=over, where=file)


def shipped_sets() -> tuple[str, ...]:
    """The names of the sets that come with foretrain."""
    files = (each.name for each in SETS.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def shipped(name: str) -> Calibration:
    """A set that comes with foretrain, by its name."""
    return PRIORS if name == PRIORS_FILE else _shipped(name, PRIORS)


def as_toml(made: Calibration, *, over: Calibration, about: str, digits: int = 6) -> str:
    """The text of a set: what differs from another one.

    Args:
        made: the set.
        over: what holds for coefficients that the text leaves out.
        about: comment at its head, one line.
        digits: of every value.
    """
    entries = []
    for name, it in made.known.items():
        if it != over.known.get(name):
            numbers = (f"{key} = {getattr(it, key):.{digits}g}" for key in ("value", "low", "high"))
            lines = [f"[{name}]", *numbers, f'kind = "{it.kind}"', f"source = {_text(it.source)}"]
            if it.rows:
                lines += ["rows = [", *(f"    {_text(each)}," for each in _spans(it.rows)), "]"]
            entries.append("\n".join([*lines, ""]))
    named = f"name = {_text(made.name)}\ndate = {made.date}\nover = {_text(over.name)}\n"
    head = f"# {about}\n\n{named}"
    covered = "" if made.covers == over.covers else _covered(made.covers)
    return "\n".join([head, *filter(None, [covered]), *entries])


def _covered(covers: Covers) -> str:
    devices, software, kinds, samples = (
        _list(names) for names in (covers.devices, covers.software, covers.kinds, covers.samples)
    )
    sizes, counts = (
        ", ".join(f"{end:.6g}" for end in ends) for ends in (covers.parameters, covers.counts)
    )
    runs = ""
    for run in covers.runs:
        texts = (
            f"{key} = {_text(getattr(run, key))}" for key in ("id", "model", "device", "sample")
        )
        fewest, most = run.devices
        numbers = f"parameters = {run.parameters:.4g}, devices = [{fewest}, {most}]"
        tail = f"kinds = {_list(run.kinds)}, rows = {run.rows}, error = {run.error:.3f}"
        runs += f"    {{ {', '.join(texts)}, {numbers}, {tail} }},\n"
    return (
        f"[{COVERS}]\ndevices = {devices}\nsoftware = {software}\n"
        f"parameters = [{sizes}]\ncounts = [{counts}]\n"
        f"kinds = {kinds}\nsamples = {samples}\nmultiplied = {covers.multiplied:.6g}\n"
        f"runs = [\n{runs}]\n"
    )


def _list(names: Iterable[str]) -> str:
    return f"[{', '.join(map(_text, sorted(names)))}]"


def _text(text: str) -> str:
    """A text as TOML writes it, which escapes as JSON does."""
    return json.dumps(text, ensure_ascii=False)


def _spans(rows: tuple[str, ...]) -> Iterator[str]:
    """Ids, neighbours as a first and a last one."""
    spans: list[list[str]] = []
    for row in rows:
        name, _, number = (spans[-1][-1] if spans else "").rpartition("-")
        if number.isdigit() and row == f"{name}-{int(number) + 1:0{len(number)}}":
            spans[-1].append(row)
        else:
            spans.append([row])
    for span in spans:
        yield f"{span[0]}..{span[-1]}" if len(span) > 1 else span[0]


PRIORS: Calibration = _shipped(PRIORS_FILE)
"""Every coefficient as it was known before anything was fitted."""

SHIPPED: Calibration = _shipped(DEFAULT_SET, PRIORS)
"""The set that predictions use unless another is given."""

DEFAULT: Coefficients = SHIPPED.coefficients


BASES: Final[Mapping[str, Calibration]] = {it.name: it for it in (SHIPPED, PRIORS)}
"""Sets that hold for whatever another one leaves out, by name."""

HEAD: Final = ("name", "date", "over", COVERS)

MOST_ROWS: Final = 100_000
"""Rows that one value may list; more are a slip of the pen in `first..last`."""


def read_calibration(path: Path) -> Calibration:
    """A set of coefficients from a file, over the shipped set that it names.

    Args:
        path: a file as `foretrain calibrate --output` writes it, or the name of a set that comes
            with foretrain.

    Raises:
        InputError: it is not such a file; tells every problem.
    """
    if str(path) in shipped_sets():
        return shipped(str(path))
    problems = Problems(str(path))
    document = read_toml(path, problems)
    # The set that holds for what the file leaves out.
    base, over = SHIPPED, document.get("over", SHIPPED.name)
    if isinstance(over, str) and over in BASES:
        base = BASES[over]
    else:
        problems.add(
            "over",
            f"this foretrain has no set {as_written(over)}. Known: {', '.join(BASES)}. "
            "Calibrate again over one of them.",
        )
    known = {
        name: _brought(name, entry, base.known[name], problems=problems)
        for name, entry in _entries(document, base, problems)
    }
    covers, told = base.covers, document.get(COVERS, {})
    if not isinstance(told, dict):
        problems.add(COVERS, f"is {as_written(told)}; a table is wanted.")
    elif COVERS in document:
        covers = validated(Covers, told, path=COVERS, problems=problems) or covers
    name = document.get("name", path.stem)
    if not isinstance(name, str) or name in BASES:
        problems.add("name", f"is {as_written(name)}; give the set a name of its own.")
    problems.check()
    return Calibration(
        name=name, date=str(document.get("date", "")), known={**base.known, **known}, covers=covers
    )


def _entries(
    document: Mapping[str, Any], base: Calibration, problems: Problems
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The coefficients of a file by name."""
    for group, inside in document.items():
        if group in HEAD:
            continue
        if not isinstance(inside, dict):
            problems.add(group, f"unknown key. Known beside coefficients: {', '.join(HEAD)}.")
            continue
        for field, entry in inside.items():
            name = f"{group}.{field}"
            if name not in base.known:
                problems.add(name, f"unknown coefficient.{nearest(name, base.known)}")
            elif not isinstance(entry, dict):
                problems.add(name, f"is {as_written(entry)}; a table with a value is wanted.")
            else:
                yield name, entry


def _brought(
    name: str, entry: Mapping[str, Any], before: Coefficient, *, problems: Problems
) -> Coefficient:
    """A coefficient of a file; the one of the base where it has problems."""
    entry = {"unit": before.unit, **entry}
    found = validated(Coefficient, entry, path=name, problems=problems)
    if problems.touch(name) or found is None:
        return before
    if found.unit != before.unit:
        problems.add(f"{name}.unit", f"is {as_written(found.unit)}; {before.unit!r} is meant.")
    if not all(isfinite(end) for end in (found.low, found.high)):
        problems.add(name, "has an interval without an end.")
    if before.low > 0 and not found.low > 0:
        problems.add(f"{name}.low", f"is {found.low:g}; only values above 0 have a meaning.")
    rows = tuple(islice(chain.from_iterable(map(rows_of, found.rows)), MOST_ROWS + 1))
    if len(rows) > MOST_ROWS:
        problems.add(f"{name}.rows", f"are more than {MOST_ROWS:,}, the most that is read.")
    return replace(found, rows=rows)
