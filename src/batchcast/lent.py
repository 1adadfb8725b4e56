"""Tensors that are lent: they lie in memory that others read too, and a write into one raises.

PyTorch knows no read-only memory: a write would end the process with SIGSEGV. In PyTorch's eyes a
lent tensor has no memory of its own, so whatever is done with it comes by here first. What only
reads gets the tensor that lies there; a view of it is lent as well; what would write is refused,
which PyTorch's own description of every operation tells.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch
from torch.utils._pytree import tree_map_only

from batchcast.errors import ReadOnly


class Lent(torch.Tensor):  # type: ignore[misc]
    """A tensor over memory that may not be written."""

    _lies: torch.Tensor

    @staticmethod
    def __new__(cls: type[Lent], lies: torch.Tensor) -> Lent:
        """A tensor that stands for this one."""
        made: Lent = torch.Tensor._make_wrapper_subclass(
            cls,
            lies.shape,
            strides=lies.stride(),
            storage_offset=lies.storage_offset(),
            dtype=lies.dtype,
            device=lies.device,
            requires_grad=lies.requires_grad,
        )
        made._lies = lies.detach()
        return made

    @classmethod
    def __torch_dispatch__(  # noqa: PLR0917 - as PyTorch calls it
        cls,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Do what does not write."""
        kwargs = kwargs or {}
        written, views = _effects(func)
        for place, name in written:
            value = args[place] if place < len(args) else kwargs.get(name)
            if _any_lent(value):
                raise ReadOnly(_told(func.overloadpacket.__name__))
        plain = {name: _plain(value) for name, value in kwargs.items()}
        got = func(*map(_plain, args), **plain)
        return tree_map_only(torch.Tensor, Lent, got) if views else got

    def numpy(self, *, force: bool = False) -> Any:
        """An array over the same memory, which NumPy does not let anybody write."""
        array = self._lies.numpy(force=force)
        array.setflags(write=False)
        return array

    def tolist(self) -> Any:
        """Its numbers."""
        return self._lies.tolist()

    def __array__(self, dtype: Any = None) -> Any:
        """The same, for NumPy's functions."""
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def _refused(self, *_: Any, **__: Any) -> Any:
        raise ReadOnly(_told("giving its storage away"))

    storage = _typed_storage = untyped_storage = share_memory_ = __dlpack__ = _refused

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return repr(self._lies)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """A plain tensor of its own memory, wherever it is sent or copied to."""
        return self._lies.clone().__reduce_ex__(protocol)

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        return self._lies.clone()


def _plain(value: Any) -> Any:
    """An argument with the tensors that lent ones stand for."""
    if isinstance(value, Lent):
        return value._lies
    return tree_map_only(Lent, _plain, value) if isinstance(value, (list, tuple)) else value


def _any_lent(value: Any) -> bool:
    many = value if isinstance(value, (list, tuple)) else (value,)
    return any(isinstance(each, Lent) for each in many)


def _told(what: str) -> str:
    return (
        f"{what} could write into a batch that is lent: it lies in memory that other readers see. "
        "Write into a copy (batch.clone()), or attach without lend=True: batches are your own then."
    )


@lru_cache(maxsize=4096)
def _effects(func: Any) -> tuple[tuple[tuple[int, str], ...], bool]:
    """The arguments that an operation writes, by place and name, and whether it gives views."""
    arguments = func._schema.arguments
    written = tuple(
        (place, each.name)
        for place, each in enumerate(arguments)
        if each.alias_info is not None and each.alias_info.is_write
    )
    views = any(each.alias_info is not None for each in func._schema.returns)
    return written, views and not written


@cache
def accept_read_only() -> None:
    """Hear PyTorch's one warning of arrays that cannot be written; ours are meant to be so."""
    array = np.zeros(1)
    array.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.from_numpy(array)
