"""Plug-ins: what users bring of their own, as Python names it or under a name of its own.

`package.module:name` is looked for among the modules beside a study, then among what is installed.
`register` gives such a thing a shorter name, for as long as the process lives.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

from foretrain.errors import ForetrainError, InputError, nearest

POLICY: Final = "policy"
COLLECTIVE: Final = "collective"

_REGISTERED: dict[str, dict[str, object]] = {POLICY: {}, COLLECTIVE: {}}


def register(kind: str, things: Mapping[str, object]) -> None:
    """Give things of a kind their names.

    Raises:
        InputError: a name that is taken, or that reads like `module:name`.
    """
    for name, thing in things.items():
        if not name or ":" in name:
            raise InputError(f"register: '{name}' is no name for a {kind}; leave out ':'.")
        if _REGISTERED[kind].get(name, thing) is not thing:
            raise InputError(f"register: there is a {kind} '{name}' already.")
        _REGISTERED[kind][name] = thing


def registered(kind: str) -> Mapping[str, object]:
    """What was registered of a kind, by its name."""
    return MappingProxyType(_REGISTERED[kind])


def own(kind: str, name: str) -> object | None:
    """What a user calls so; None where nothing of one's own can be meant.

    Raises:
        InputError: it reads like `module:name`, and there is no such thing.
    """
    return imported(name) if ":" in name else _REGISTERED[kind].get(name)


def imported(name: str, *, folder: str = "") -> object:
    """What `package.module:name` names.

    Args:
        name: module and name.
        folder: where modules are looked for first, such as that of a study; empty for nowhere.

    Raises:
        InputError: there is no such module or name, or importing the module fails.
    """
    if folder and folder not in sys.path:
        sys.path.insert(0, folder)
    module, _, inside = name.partition(":")
    if not (module and inside):
        raise InputError(f"{name}: is not written as package.module:name.")
    found: object = _module(name, module, place=folder)
    for part in inside.split("."):
        if not hasattr(found, part):
            hint = nearest(part, [each for each in dir(found) if not each.startswith("_")])
            raise InputError(f"{name}: the module {module} has no '{part}'.{hint}")
        found = getattr(found, part)
    return found


def _module(name: str, module: str, *, place: str) -> object:
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name and module.split(".", maxsplit=1)[0] == error.name.split(".")[0]:
            where = f"neither in {place} nor" if place else "neither beside the study nor"
            raise InputError(
                f"{name}: there is no module {error.name}, {where} installed."
            ) from error
        raise InputError(f"{name}: imports {error.name}, which is not installed.") from error
    except Exception as error:  # whatever somebody else's module raises when it is imported
        raise InputError(f"{name}: importing it fails: {type(error).__name__}: {error}") from error


@contextmanager
def blamed(kind: str, name: str) -> Iterator[None]:
    """Name a plug-in and the line of it in what it raises.

    Raises:
        ForetrainError: what it raised, in a sentence.
    """
    try:
        yield
    except ForetrainError:
        raise
    except Exception as error:  # whatever somebody else's code raises
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{PurePath(last.filename).name}, line {last.lineno}"
        told = f"{type(error).__name__}: {error}"
        raise ForetrainError(f"{kind} '{name}' raised {told} ({where}).") from error


def called(thing: object, *, name: str) -> Callable[..., object]:
    """A thing that can be called.

    Raises:
        InputError: it cannot.
    """
    if not callable(thing):
        raise InputError(f"{name}: is a {type(thing).__name__}; a function is wanted.")
    return thing
