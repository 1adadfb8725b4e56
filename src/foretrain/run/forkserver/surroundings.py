"""Surroundings: what a clean process takes over from the one that asks for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing import current_process, spawn
from pathlib import Path
from typing import Any

from foretrain.errors import InputError
from foretrain.run.forkserver.fork import ONE_THREAD


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What Python code may depend on, besides its arguments.

    Attributes:
        path: where modules are looked for.
        arguments: of the command line.
        folder: that relative paths begin at.
        environment: its variables.
        cores: that it may use.
        main: where the script is that was started, as `multiprocessing` describes it.
    """

    path: tuple[str, ...]
    arguments: tuple[str, ...]
    folder: str
    environment: Mapping[str, str]
    cores: frozenset[int]
    main: Mapping[str, str]

    @classmethod
    def here(cls) -> Surroundings:
        """Those of this process."""
        check_not_importing_main()
        return cls(
            path=tuple(map(str, sys.path)),
            arguments=tuple(getattr(sys, "argv", ())),
            folder=str(Path.cwd()),
            environment=dict(os.environ),
            cores=frozenset(os.sched_getaffinity(0)),
            main=_main(),
        )

    def enter(self) -> None:
        """Make them this process' own; numerical libraries still start no threads by themselves."""
        sys.path[:] = self.path
        sys.argv[:] = self.arguments
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update({**self.environment, **ONE_THREAD})
        os.sched_setaffinity(0, self.cores)

    def import_main(self) -> None:
        """Import the script that was started once more, under the name `__mp_main__`."""
        process: Any = current_process()
        process._inheriting = True  # as multiprocessing does it, so that both notice the other
        try:
            spawn.prepare(dict(self.main))
        finally:
            del process._inheriting


def _main() -> dict[str, str]:
    """Where the script that was started is; nothing at a prompt or in a notebook.

    `multiprocessing` tells it too, but settles meanwhile how processes are started.
    """
    main = sys.modules["__main__"]
    if (spec := getattr(main, "__spec__", None)) is not None:
        return {"init_main_from_name": spec.name}
    if path := getattr(main, "__file__", None):
        return {"init_main_from_path": str(Path(path).absolute())}
    return {}


def check_not_importing_main() -> None:
    """Refuse what a script does while it is imported by a process that it started itself.

    Raises:
        InputError: it is being imported.
    """
    if getattr(current_process(), "_inheriting", False):
        raise InputError(
            "This script started a process that uses what it defines, so that process imports the "
            "script again, and came to the same start. Put what the script does under "
            "if __name__ == '__main__':, and leave classes and functions above."
        )
