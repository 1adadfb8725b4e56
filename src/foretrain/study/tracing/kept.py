"""Kept traces: a model that was traced once is read from a file as long as nothing has changed.

The name of the file is a checksum of all that the model depends on: sources or configuration,
shapes, versions, and this code. A file that is damaged is made anew; what fails to be traced is not
kept, and a folder that cannot be written keeps nothing.

Fingerprints of modules: what decides a trace, or None where somebody cannot say.

That is the classes of a network, the plain values that it was made with, the shapes of its tensors,
and the content of every source file that is loaded and neither Python's nor installed.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from foretrain.errors import InputError
from foretrain.study.files import exists, read_bytes, write_text
from foretrain.workload.graph import Model

if TYPE_CHECKING:
    import torch
    from pydantic import TypeAdapter

PLAIN: Final = (int, float, complex, str, bytes, bool, type(None))
DEEPEST: Final = 6
MACHINERY: Final = frozenset({"_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"})
"""Tables of a module that are told as what they hold."""


class OpaqueValueError(ValueError):
    """A value that no fingerprint tells from others."""


def fingerprint(module: torch.nn.Module, example: object) -> list[object] | None:
    """What tells a module and its inputs from others; None where a part cannot be told."""
    try:
        return [
            *_structure(module),
            _told(example, 0),
            [_tensor(name, each) for name, each in module.named_parameters()],
            [_tensor(name, each) for name, each in module.named_buffers()],
            sources(),
        ]
    except ValueError:  # also that of an empty cell
        return None


def _structure(module: torch.nn.Module) -> Iterator[object]:
    for name, each in module.named_modules(remove_duplicate=False):
        kind = type(each)
        own = {key: value for key, value in vars(each).items() if key not in MACHINERY}
        values = [(key, _told(value, 0)) for key, value in sorted(own.items())]
        yield name, kind.__module__, kind.__qualname__, _source(kind.__module__), values


def _tensor(name: str, tensor: torch.Tensor) -> tuple[object, ...]:
    return name, tuple(tensor.shape), str(tensor.dtype), tensor.requires_grad


def _told(value: Any, depth: int) -> object:
    """A value in plain words.

    Raises:
        OpaqueValueError: there are none.
    """
    import torch

    if depth > DEEPEST:
        raise OpaqueValueError("nested too deeply")
    if isinstance(value, (*PLAIN, torch.dtype, torch.device, torch.Size)):
        return repr(value)
    if isinstance(value, torch.Tensor):
        return _tensor("", value)
    if isinstance(value, torch.nn.Module):
        return "module"  # told where it stands
    if isinstance(value, list | tuple | set | frozenset):
        told = [_told(each, depth + 1) for each in value]
        return sorted(map(repr, told)) if isinstance(value, set | frozenset) else told
    if isinstance(value, Mapping):
        return [(repr(key), _told(each, depth + 1)) for key, each in value.items()]
    return _of_code(value, depth)


def _of_code(value: Any, depth: int) -> object:
    """A function by its place, an object by its class and what it holds."""
    if isinstance(value, types.FunctionType) and value.__closure__:
        held = [_told(cell.cell_contents, depth + 1) for cell in value.__closure__]
        return value.__module__, value.__qualname__, value.__code__.co_firstlineno, held
    if isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        line = value.__code__.co_firstlineno if isinstance(value, types.FunctionType) else 0
        return value.__module__, value.__qualname__, line
    if hasattr(value, "__dict__") and not isinstance(value, types.ModuleType):
        kind = type(value)
        return kind.__module__, kind.__qualname__, _told(vars(value), depth + 1)
    raise OpaqueValueError(type(value).__name__)


def _source(module: str) -> str:
    """The checksum of the file that a module is from, installed or not; empty without one."""
    name = getattr(sys.modules.get(module), "__file__", None)
    return _file_checksum(name) if name and not module.startswith("torch.") else ""


def sources() -> list[tuple[str, str]]:
    """Files of loaded modules that are neither Python's nor installed, with their checksums."""
    paths = sysconfig.get_paths()
    away = tuple({paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")})
    names = {getattr(each, "__file__", None) or "" for each in list(sys.modules.values())}
    own = sorted(each for each in names if each.endswith(".py") and not each.startswith(away))
    return [(Path(each).name, _file_checksum(each)) for each in own]


def _file_checksum(name: str) -> str:
    try:
        return sha256(Path(name).read_bytes()).hexdigest()
    except OSError:
        return "gone"


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
