"""Code that a study names: found beside its file, or installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from foretrain.errors import InputError, nearest
from foretrain.measured.ensemble_study import Code, EnsembleStudy


def function(code: Code, folder: str) -> Callable[..., Any]:
    """The function that a study names.

    Args:
        code: module and name.
        folder: of the study's file, where modules are looked for first.

    Raises:
        InputError: there is no such module or function, or importing the module fails.
    """
    place = str(Path(folder).resolve())
    if place not in sys.path:
        sys.path.insert(0, place)
    found: object = _module(code, place)
    for part in code.name.split("."):
        if not hasattr(found, part):
            hint = nearest(part, [name for name in dir(found) if not name.startswith("_")])
            raise InputError(f"{code}: the module {code.module} has no '{part}'.{hint}")
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{code}: is a {type(found).__name__}; a function is wanted.")
    return found


def check_code(study: EnsembleStudy) -> None:
    """Import everything that a study names.

    Raises:
        InputError: with every function that is not there.
    """
    problems = []
    for code in study.code:
        try:
            function(code, study.folder)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise InputError("\n".join(problems))


def _module(code: Code, place: str) -> object:
    try:
        return import_module(code.module)
    except ModuleNotFoundError as error:
        if error.name and code.module.split(".")[0] == error.name.split(".")[0]:
            raise InputError(
                f"{code}: there is no module {error.name}, neither in {place} nor installed."
            ) from error
        raise InputError(f"{code}: imports {error.name}, which is not installed.") from error
    except Exception as error:  # whatever somebody else's module raises when it is imported
        raise InputError(f"{code}: importing it fails: {type(error).__name__}: {error}") from error
