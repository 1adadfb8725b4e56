"""Files of a trainer that a command is asked about, read as a study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from foretrain.errors import InputError

if TYPE_CHECKING:
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


def launched(
    path: Path, *, on: str, settings: Sequence[str] | None, free: bool = False
) -> Study | None:
    """The study of a launch script or a configuration; None of a file that is a study itself.

    Args:
        path: of the file.
        on: the cluster on which it runs.
        settings: what it leaves open.
        free: whether its plan is left open, for a search.

    Raises:
        InputError: it cannot be read, or leaves something open.
    """
    from foretrain.app.output import tell
    from foretrain.study.launch_files import is_launch_file, read_launch_files
    from foretrain.study.problems import told_of

    if not is_launch_file(path):
        if on or settings:
            raise InputError(f"{path} is a study: --on and --set are for files of a trainer.")
        return None
    from foretrain.search.import_files import import_, settings_of, with_asked

    with told_of(path):
        files = with_asked(read_launch_files(path))
        found = import_(files, on=on, settings=settings_of(settings or []))
    left = len(found.not_understood)
    more = f"; {left} options are not understood: foretrain import {path}" if left else ""
    tell(f"{path}: read as {found.trainer}{more}.")
    return found.question(free=free)
