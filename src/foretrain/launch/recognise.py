"""Recognise: what some files say together, and which trainer they are written for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from foretrain.errors import InputError, nearest
from foretrain.launch.lines import launched, written_in
from foretrain.launch.option import Launched
from foretrain.launch.tables import job_of, table_options
from foretrain.launch.tongues import Tongues
from foretrain.study.launch_files import PARSERS, LaunchFile, launch_file
from foretrain.trainers.trainer import Trainer


def together(files: Sequence[LaunchFile], trainers: Sequence[Trainer]) -> Launched:
    """What files say: tables first, for what a command line says counts more.

    Raises:
        InputError: a script cannot be read.
    """
    programs = "|".join(f"(?:{it.dialect.programs})" for it in trainers if it.dialect.programs)
    scripts: list[Launched] = []
    tables: list[Launched] = []
    for file in files:
        if file.document is None:
            scripts.append(launched(file.text, file.name, preferred=programs))
            tables += [_table(each) for each in _written(file)]
        else:
            job = job_of(file.document, file.text, file.name)
            (tables if job is None else scripts).append(_table(file) if job is None else job)
    found = [*tables, *scripts]
    return Launched(
        options=tuple(each for it in found for each in it.options),
        around=tuple(each for it in found for each in it.around),
        programs=tuple(each for it in found for each in it.programs),
        marks=tuple(each for it in found for each in it.marks),
        asked=tuple(each for it in found for each in it.asked),
    )


def _table(file: LaunchFile) -> Launched:
    assert file.document is not None, f"{file.name} is no table"
    options = table_options(file.document, file.text, file.name)
    return Launched(options=options, marks=tuple(map(str, file.document)))


def _written(file: LaunchFile) -> list[LaunchFile]:
    """Tables that a script writes itself, as far as they can be read."""
    found = []
    for name, text in written_in(file.text, file.name).items():
        if name.endswith(tuple(PARSERS)):
            try:
                found.append(launch_file(f"{file.name} > {name}", text))
            except InputError:
                continue
    return found


def trainer_of(said: Launched, trainers: Sequence[Trainer], name: str = "") -> Trainer:
    """The trainer for which options are written: by its program or file, then by its options.

    Of its releases the newest that knows most of the options.

    Args:
        said: what files say.
        trainers: every trainer of the catalogue.
        name: of a trainer or a family, where somebody says it.

    Raises:
        InputError: it is none that is known here.
    """
    able = [each for each in trainers if each.dialect]
    if name:
        named = [each for each in able if each.name == name]
        if not named:
            known = sorted({each.name for each in able})
            raise InputError(
                f"trainer '{name}' has no options that are known here.{nearest(name, known)} "
                f"Known: {', '.join(known)}."
            )
        return named[0]
    scored = [(_score(said, each, trainers), each) for each in able]
    best = max(scored, key=lambda it: (it[0], it[1].date), default=None)
    if best is None or not best[0]:
        families = sorted({each.family for each in able})
        raise InputError(
            "nothing in it is an option of a trainer that is known here. Files of these are read: "
            f"{', '.join(families)}."
        )
    return best[1]


SURE: Final = 5
"""Options that a program or a mark of a file is worth."""


def _score(said: Launched, trainer: Trainer, trainers: Sequence[Trainer]) -> int:
    dialect = trainer.dialect
    by_program = bool(dialect.programs) and any(
        re.search(dialect.programs, each) for each in said.programs
    )
    by_mark = any(each in dialect.marks for each in said.marks)
    tongues = Tongues(trainer, trainers)
    options = {it.name for it in said.options}
    return SURE * (by_program + by_mark) + sum(tongues.knows(name) for name in options)
