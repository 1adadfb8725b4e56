"""Fingerprints of modules: what decides a trace, or None where somebody cannot say.

That is the classes of a network, the plain values that it was made with, the shapes of its tensors,
and the content of every source file that is loaded and neither Python's nor installed.
"""

from __future__ import annotations

import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import torch

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
    return _checksum(name) if name and not module.startswith("torch.") else ""


def sources() -> list[tuple[str, str]]:
    """Files of loaded modules that are neither Python's nor installed, with their checksums."""
    paths = sysconfig.get_paths()
    away = tuple({paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")})
    names = {getattr(each, "__file__", None) or "" for each in list(sys.modules.values())}
    own = sorted(each for each in names if each.endswith(".py") and not each.startswith(away))
    return [(Path(each).name, _checksum(each)) for each in own]


def _checksum(name: str) -> str:
    try:
        return sha256(Path(name).read_bytes()).hexdigest()
    except OSError:
        return "gone"
