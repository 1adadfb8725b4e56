"""What a command is asked: a study, or the files of a trainer, read as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretrain.errors import InputError

if TYPE_CHECKING:
    from foretrain.plan.collective_study import CollectiveStudy
    from foretrain.plan.study import Study

On = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="CLUSTER",
        help='Where files of a trainer run: "dgx-h100", "4xdgx-h100".',
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="What files of a trainer leave open: workload.global_batch=64",
    ),
]


def asked_of(
    path: Path, *, on: str, settings: Sequence[str] | None, free: bool = False
) -> Study | CollectiveStudy:
    """The question of a file: a study, or what a launch script or configuration runs.

    Args:
        path: of the file.
        on: the cluster on which files of a trainer run.
        settings: what they leave open.
        free: whether the plan of such files is left open, for a search.

    Raises:
        InputError: it cannot be read, or leaves something open.
    """
    from foretrain.study.launch_files import is_launch_file

    if not is_launch_file(path):
        if on or settings:
            raise InputError(
                f"{path} is a study, which says all; --on and --set are for files of a trainer."
            )
        from foretrain.study.collective_study import read_question

        return read_question(path)
    from foretrain.app.output import tell
    from foretrain.search.import_files import import_, settings_of, with_asked
    from foretrain.study.launch_files import read_launch_files
    from foretrain.study.problems import told_of

    with told_of(path):
        found = import_(
            with_asked(read_launch_files(path)), on=on, settings=settings_of(settings or [])
        )
    left = len(found.not_understood)
    tell(
        f"{path}: read as {found.trainer}, {len(found.understood)} keys"
        + (
            f"; {left} options are not understood: foretrain import {path} lists them."
            if left
            else "."
        )
    )
    return found.question(free=free)
