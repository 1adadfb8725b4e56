"""Kept traces: a model that was traced once is read from a file as long as nothing has changed.

The name of the file is a checksum of all that the model depends on: sources or configuration,
shapes, versions, and this code. A file that is damaged is made anew; what fails to be traced is not
kept, and a folder that cannot be written keeps nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from foretrain.errors import InputError
from foretrain.study.reading import exists, read_bytes
from foretrain.study.writing import write_text
from foretrain.workload.graph import Model

if TYPE_CHECKING:
    from pydantic import TypeAdapter

VARIABLE: Final = "FORETRAIN_CACHE"
"""Of the environment: a folder for kept traces, or `off`."""

MOST_BYTES: Final = 64 * 2**20
"""Of one model; those of a hundred kinds of layers have 2 MB."""

CODE: Final = ("workload", "study/tracing")
"""Parts of this package that a trace depends on."""


def kept(parts: Iterable[object] | None, make: Callable[[], Model]) -> Model:
    """A model, read if it was kept and made and kept otherwise.

    Args:
        parts: all that it depends on; None for a model that nobody can tell from others.
        make: traces it.

    Raises:
        ForetrainError: what `make` raises; nothing is kept then.
    """
    folder = place()
    if parts is None or folder is None:
        return plain(make())
    told = sha256(code().encode())
    for part in parts:
        told.update(f"{part!r}\n".encode("utf-8", "surrogatepass"))
    path = folder / f"{told.hexdigest()}.json"
    found = read_kept(path)
    if found is None:
        found = plain(make())
        # A full disk or a folder of somebody else's is no reason to answer nothing.
        with suppress(OSError, InputError):
            folder.mkdir(parents=True, exist_ok=True)
            write_text(path, written(found))
    return found


def place() -> Path | None:
    """The folder of kept traces; None where nothing is to be kept."""
    named = os.environ.get(VARIABLE)
    if named == "off":
        return None
    if named:
        return Path(named)
    with suppress(RuntimeError):  # nobody's home
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        return Path(home) / "foretrain" / "traces"
    return None


def plain(model: Model) -> Model:
    """The same model with numbers as a file gives them back: a whole one may be a float."""
    return _adapter().validate_python(_adapter().dump_python(model, mode="json"))


def written(model: Model) -> str:
    """A model as it is kept."""
    told = _adapter().dump_python(model, mode="json")
    return json.dumps({"sha256": _checksum(told), "model": told})


def read_kept(path: Path) -> Model | None:
    """The model of a file; None where there is none, or it is not what was written."""
    if not exists(path):
        return None
    try:
        found = json.loads(read_bytes(path, most=MOST_BYTES))
        if found["sha256"] != _checksum(found["model"]):
            return None
        return _adapter().validate_python(found["model"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


@cache
def code() -> str:
    """The sha256 of the code that makes models of traces."""
    package = Path(str(files("foretrain")))
    told = sha256()
    for part in CODE:
        for path in sorted((package / part).rglob("*.py")):
            told.update(path.relative_to(package).as_posix().encode())
            told.update(path.read_bytes())
    return told.hexdigest()


@cache
def versions(*names: str) -> tuple[str, ...]:
    """Installed versions, such as that of torch; empty for what is not installed."""
    found = []
    for name in names:
        try:
            found.append(version(name))
        except PackageNotFoundError:
            found.append("")
    return tuple(found)


def _checksum(told: object) -> str:
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


@cache
def _adapter() -> TypeAdapter[Model]:
    from pydantic import TypeAdapter

    return TypeAdapter(Model)
