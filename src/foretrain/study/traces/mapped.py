"""Any CSV: the user says which column holds what."""

from __future__ import annotations

from collections.abc import Mapping

from foretrain.errors import InputError, nearest
from foretrain.measured.job import End
from foretrain.study.traces.format import Format, Row
from foretrain.study.traces.record import NotAJob, Record, ended
from foretrain.units import as_written

NEEDED = ("arrival", "duration", "devices")
OPTIONAL = ("name", "begun", "end", "estimate", "user", "group", "kind")
FIELDS = (*NEEDED, *OPTIONAL)


def mapped(columns: Mapping[str, str]) -> Format:
    """The format of a CSV whose columns have names of their own.

    Args:
        columns: names of columns, by what they hold: `FIELDS`.

    Raises:
        InputError: where a field is not known, or one that is needed is missing.
    """
    known = ", ".join(FIELDS)
    wrong = [
        f"unknown field {as_written(field)}.{nearest(field, FIELDS)} Known: {known}."
        for field in columns
        if field not in FIELDS
    ]
    wrong += [f"no column is given for {field}." for field in NEEDED if field not in columns]
    if wrong:
        raise InputError("\n".join(f"columns: {each}" for each in wrong))
    return Format(
        says="a CSV of your own",
        columns=tuple(columns.values()),
        needs=tuple(columns.values()),
        record=lambda row: mapped_job(row, columns),
        open=True,
    )


def mapped_job(row: Row, columns: Mapping[str, str]) -> Record:
    """A job of a row, whose columns are named by what they hold."""

    def text(field: str) -> str:
        return row.text(columns[field]) if field in columns else ""

    if not row.count(columns["devices"]):
        raise NotAJob("hold no device")
    end = ended(row.needed(columns["end"]) if "end" in columns else "")
    begun = row.moment(columns["begun"]) if text("begun") else None
    told = end is not End.RUNNING or row.has(columns["duration"])
    if not told and begun is None:
        raise NotAJob("still ran when the log was written, which does not tell since when")
    return Record(
        line=row.line,
        name=text("name") or f"line-{row.line:06}",
        arrival=row.moment(columns["arrival"]),
        ran=row.duration(columns["duration"]) if told else None,
        devices=row.count(columns["devices"]),
        end=end,
        begun=begun,
        estimate=row.duration(columns["estimate"]) if text("estimate") else None,
        user=text("user"),
        group=text("group"),
        kinds=(text("kind"),) if text("kind") else (),
    )
