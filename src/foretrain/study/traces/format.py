"""Formats: how a log is laid out, and its lines as rows.

Rows: the cells of one line of a log, read as what they should be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import Final

from foretrain.errors import nearest
from foretrain.measured.job import Dependency, DependsOn, Remainder
from foretrain.study.documents import CsvRecord, lines_of, records
from foretrain.study.problems import Problems
from foretrain.study.traces.record import UNREADABLE, Record
from foretrain.units import as_written


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a log is laid out.

    Attributes:
        says: what it is, in a phrase.
        columns: that it may have; their order matters only where no line names them.
        needs: columns without which a job cannot be read.
        record: a job of a row.
        named: whether the first line names the columns.
        open: whether columns may stand there that are not known, and are not read.
        delimiter: between cells; empty for any white space.
        free: columns of free text, where a delimiter may stand in a cell; there it is taken to.
        comment: with which lines begin that are not read; empty if there are none.
        objects: the rows of a JSON document, which is called so; None where a log has lines.
    """

    says: str
    columns: tuple[str, ...]
    needs: tuple[str, ...]
    record: Callable[[Row], Record]
    named: bool = True
    open: bool = False
    delimiter: str = ","
    comment: str = ""
    free: tuple[str, ...] = ()
    objects: Callable[[str, str, Remainder], Iterator[Row]] | None = None


MOST_BYTES: Final = 256 * 2**20
"""Of a log, unpacked: those of a million jobs have 200 MB."""


def rows(text: str, layout: Format, *, problems: Problems, remainder: Remainder) -> Iterator[Row]:
    """The lines of a log.

    Args:
        text: of the file.
        layout: its format.
        problems: take what is wrong with the names of the columns; then there are no lines.
        remainder: takes lines that are blank, are not CSV, or have too few or too many cells.
    """
    lines = cells(text, layout, where=problems.where)
    names: Sequence[str] = layout.columns
    if layout.named:
        names = [name.strip() for name in next(lines, NOTHING).cells]
        if not _named_well(names, layout, problems):
            return
    blank: list[int] = []
    for line in lines:
        if line.problem:
            remainder.add(UNREADABLE, line.line, line.problem)
        elif not any(line.cells):
            blank.append(line.line)
        else:
            for number in blank:  # only those between others are gaps in the log
                remainder.add("are blank", number)
            blank.clear()
            found = _as_many(line.cells, names, layout)
            if len(found) == len(names):
                yield Row(dict(zip(names, found, strict=True)), line.line)
            else:
                told = f"has {len(line.cells)} cells, but there are {len(names)} columns."
                remainder.add(UNREADABLE, line.line, told)


def _as_many(found: Sequence[str], names: Sequence[str], layout: Format) -> Sequence[str]:
    """The cells of a line; of too many, those of its one column of free text put together."""
    more = len(found) - len(names)
    place = next((names.index(each) for each in layout.free if each in names), -1)
    if more <= 0 or place < 0:
        return found
    whole = layout.delimiter.join(found[place : place + more + 1])
    return [*found[:place], whole, *found[place + more + 1 :]]


NOTHING: Final = CsvRecord(1, [])


def first_cells(text: str, layout: Format) -> frozenset[str]:
    """What stands in the first line of a log."""
    first = next(cells(text, layout, where=""), NOTHING)
    return frozenset(cell.strip() for cell in first.cells)


def cells(text: str, layout: Format, *, where: str) -> Iterator[CsvRecord]:
    """The lines of a log, comments left out."""
    if layout.delimiter == ",":
        yield from records(text, where)
        return
    for number, line in enumerate(lines_of(text), start=1):
        if not (layout.comment and line.lstrip().startswith(layout.comment)):
            yield CsvRecord(number, line.rstrip("\r\n").split(layout.delimiter or None))


def _named_well(names: Sequence[str], layout: Format, problems: Problems) -> bool:
    """Whether the columns are those of the format; what is wrong is noted."""
    known = ", ".join(layout.columns)
    other = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    if other is not None:
        wanted = f"{layout.delimiter!r} is wanted."
        told = f"is one cell, within which {other!r} seems to separate; {wanted}"
        problems.add("line 1", told)
        return False
    for name in layout.needs:
        if name not in names:
            problems.add("line 1", f"the column {name} is missing.{nearest(name, names)}")
    for name in names:
        if name and name not in layout.columns and not layout.open:
            near = nearest(name, layout.columns)
            told = f"unknown column {as_written(name)}.{near} Known: {known}."
            problems.add("line 1", told)
    if len(set(names)) < len(names):
        problems.add("line 1", "names a column twice.")
    return not problems.found


WAITED_FOR: Final = tuple(each for each in DependsOn if each is not DependsOn.PROMOTION)
"""What a log may say that a job waits for."""

UNSET = frozenset({"", "unknown", "none", "n/a", "null", "(null)"})
"""Cells that say nothing, in lower case."""

LARGEST = 1e15
"""From here on a float no longer tells a tenth of a second apart: no time of a log is so large."""


LICENSE: Final = re.compile(r"([^:=,;|]+?)(?:[:=](\d+))?")


def held_licenses(text: str) -> tuple[tuple[str, int], ...] | None:
    """Licences and how many: `matlab:2,ansys`, one where nothing is said. None for anything else.

    Args:
        text: of `sbatch --licenses`, or of TRES such as `license/matlab=2`.
    """
    found = {}
    for part in filter(None, (each.strip() for each in text.replace(";", ",").split(","))):
        told = LICENSE.fullmatch(part.removeprefix("license/"))
        if told is None or not int(told[2] or 1):
            return None
        found[told[1]] = int(told[2] or 1)
    return tuple(sorted(found.items()))


def waited_for(text: str) -> tuple[tuple[Dependency, ...], Sequence[str]]:
    """What is waited for in other jobs: all of `afterok:7:8,afterany:9,singleton`, or `7,8`.

    Args:
        text: of `sbatch --dependency`; a job alone is waited for until it ends.

    Returns:
        What is, and the parts that cannot be kept: of other kinds, any of several, with a delay.

    Source: slurm, sbatch(1).
    """
    found: list[Dependency] = []
    others = []
    for part in text.replace(";", ",").split(",") if text else ():
        word, *jobs = (each.strip() for each in part.split(":"))
        if word == DependsOn.SINGLETON and not jobs:
            found.append(Dependency("", DependsOn.SINGLETON))
            continue
        if not jobs:
            word, jobs = DependsOn.END, [word]
        if word not in WAITED_FOR or not all(jobs) or "?" in part or "+" in part:
            others.append(part)
        else:
            found += [Dependency(each.removesuffix("_*"), DependsOn(word)) for each in jobs]
    return tuple(found), others


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitOptions:
    """What a line by which a job was submitted says of it.

    Attributes:
        after: what it waits for.
        licenses: that it holds, as they are written.
        label: its name.
        at_once: tasks of its array that may run at once; 0 for all.
        switches: under how many leaf switches it wants to lie, and for how many seconds it waits
            for so few.
        not_kept: in words, what it asks for that is not simulated.
    """

    after: tuple[Dependency, ...] = ()
    licenses: str = ""
    label: str = ""
    at_once: int = 0
    switches: tuple[int, float] | None = None
    not_kept: tuple[str, ...] = ()


LONG: Final = {"-d": "--dependency", "-L": "--licenses", "-J": "--job-name", "-a": "--array"}
ALONE: Final = frozenset({
    "--exclusive", "--requeue", "--no-requeue", "--parsable", "--hold", "-H", "--wait", "-W",
    "--quiet", "-Q", "--verbose", "-v", "--overcommit", "-O", "--contiguous", "--spread-job",
    "--use-min-nodes", "--reboot", "--oversubscribe", "-s",
})  # fmt: skip
"""Options of sbatch that may have no value after a space."""


def submit_options(line: str) -> SubmitOptions:
    """The options of a line such as `sbatch --dependency=afterok:7 -J train job.sh 3`.

    Args:
        line: as `sacct` prints it. What follows the script is the script's own.

    Source: slurm, sbatch(1).
    """
    said: dict[str, str] = {}
    # A line that wraps a command has no script, and its quotes may be lost.
    wraps = "--wrap" in line
    words = iter(line.split()[1:])
    for word in words:
        if not word.startswith("-"):
            if wraps:
                continue
            break
        name, equals, value = word.partition("=")
        if not word.startswith("--") and len(word) > 2:
            name, value = word[:2], word[2:]
        elif not equals and name not in ALONE:
            value = next(words, "")
        said[LONG.get(name, name)] = value.strip("'\"")
    after, others = waited_for(said.get("--dependency", ""))
    _, _, most = said.get("--array", "").partition("%")
    few, _, wait = said.get("--switches", "").partition("@")
    kinds = {each.partition(":")[0] if ":" in each else each for each in others}
    return SubmitOptions(
        after=after,
        licenses=said.get("--licenses", ""),
        label=said.get("--job-name", ""),
        at_once=int(most) if most.isdecimal() else 0,
        switches=(int(few), _time(wait)) if few.isdecimal() and int(few) else None,
        not_kept=tuple(f"the dependency {each}" for each in sorted(kinds)),
    )


def _time(text: str) -> float:
    """Seconds of a time as sbatch takes it: minutes, 10:00 or 1-00:00:00; infinite for others."""
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not (all(each.isdecimal() for each in parts) and (days or "0").isdecimal()):
        return inf
    units = (86_400, 3600, 60, 1)[1 if dash else 2 if len(parts) < 3 else 1 :]
    return 86_400.0 * int(days or 0) + sum(
        unit * int(part) for unit, part in zip(units, parts, strict=False)
    )


class Row:
    """One line of a log.

    A cell that is not what it should be is noted among its problems; what is returned for it then
    only serves to find further ones.

    Attributes:
        line: its number in the file, the first line being 1.
        problems: what is wrong with it, as far as it was read.
    """

    def __init__(self, cells: Mapping[str, str], line: int) -> None:
        self.line = line
        self.problems: list[str] = []
        self._cells = cells

    def wrong(self, text: str) -> None:
        """Note a problem of this line, once however often a cell is read."""
        if text not in self.problems:
            self.problems.append(text)

    def has(self, column: str) -> bool:
        """Whether a cell says something."""
        return self._cells.get(column, "").strip().lower() not in UNSET

    def text(self, column: str) -> str:
        """What a cell says; empty where it says nothing."""
        return self._cells.get(column, "").strip() if self.has(column) else ""

    def needed(self, column: str) -> str:
        """What a cell says that must say something."""
        if not self.has(column):
            self.wrong(f"{column} is empty. Fill it in, or leave the line out.")
        return self.text(column)

    def number(self, column: str) -> float:
        """A number."""
        cell = self.needed(column)
        try:
            value = float(cell)
        except ValueError:
            value = float("nan")
        sane = abs(value) < LARGEST
        if cell and not sane:
            self.wrong(f"{column} is {as_written(cell)}, not a number below {LARGEST:g}.")
        return value if sane else 1.0

    def count(self, column: str) -> int:
        """A whole number of at least 0."""
        value = self.number(column)
        if value < 0 or value != int(value):
            self.wrong(f"{column} is {value:g}, not a whole number of at least 0.")
            return 1
        return int(value)

    def moment(self, column: str) -> float:
        """A time: seconds, or a date with a time of day; seconds since some fixed day."""
        cell = self.needed(column)
        try:
            moment = float(cell)
        except ValueError:
            try:
                told = datetime.fromisoformat(cell)
                moment = (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
            except (ValueError, OverflowError):
                moment = LARGEST
        if abs(moment) < LARGEST:
            return moment
        if cell:
            self.wrong(
                f"{column} is {as_written(cell)}, neither seconds nor a date like"
                " 2017-10-09 07:01:55."
            )
        return 0.0

    def dependencies(self, column: str) -> tuple[Dependency, ...]:
        """What is waited for in other jobs, as `waited_for` reads it."""
        found, others = waited_for(self.text(column))
        for part in others:
            self.wrong(
                f"{column} is {as_written(part)}, not jobs as in 7,8 or afterok:7:8; known are"
                f" {', '.join(WAITED_FOR)}. Any of several (?) and delays (+) are not read."
            )
        return found

    def licenses(self, column: str) -> tuple[tuple[str, int], ...]:
        """Licences that a job holds, as `held_licenses` reads them."""
        found = held_licenses(self.text(column))
        if found is None:
            told = as_written(self.text(column))
            self.wrong(f"{column} is {told}, not licences such as matlab:2,ansys.")
        return found or ()

    def duration(self, column: str) -> float:
        """Seconds that something took: a number, or days-hours:minutes:seconds."""
        cell = self.needed(column)
        if cell.startswith("-"):
            self.wrong(f"{column} is {as_written(cell)}; nothing takes less than no time.")
            return 1.0
        days, _, rest = cell.rpartition("-") if ":" in cell else ("", "", cell)
        seconds = 0.0
        try:
            for part in rest.split(":"):
                seconds = 60.0 * seconds + float(part)
            seconds += 86_400.0 * float(days or 0)
        except ValueError:
            if cell:
                self.wrong(f"{column} is {as_written(cell)}, neither seconds nor 1-02:03:04.")
            return 1.0
        if not seconds < LARGEST:
            self.wrong(f"{column} is {seconds:g} s; a job cannot run for that long.")
            return 1.0
        return seconds
