"""Options: what files and command lines give a trainer, each with where it stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from foretrain.trainers.flags import Fact


def base(path: str) -> str:
    """The last part of a path."""
    return path.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """Where something stands.

    Attributes:
        file: its name.
        line: from 1; 0 where a file has no lines to speak of.
    """

    file: str
    line: int = 0

    def __str__(self) -> str:
        """As compilers write it: train.sh:12."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option with its value.

    Attributes:
        name: as it is written, without dashes; parts of a path with dots between them.
        value: true where the option stands alone.
        place: where.
        unset: variables in it that nobody sets.
    """

    name: str
    value: Fact
    place: FilePlace
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """What some files say.

    Attributes:
        options: of the trainer, in the order in which they stand.
        around: of what starts it: launchers, batch systems.
        programs: what is run, script or module.
        marks: keys at the top of files that are tables.
        asked: files that are named on the line.
    """

    options: tuple[Option, ...] = ()
    around: tuple[Option, ...] = ()
    programs: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    asked: tuple[str, ...] = field(default=())
