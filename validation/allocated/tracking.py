"""What PyTorch allocates while a program runs on tensors that have sizes and no values.

Every storage that an operation makes counts from its first sight until it is freed, in blocks as
PyTorch's allocator for CUDA hands them out. What cannot be seen: workspaces within a kernel, the
context, and what libraries take for themselves.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed.tensor._sharding_prop as sharding
from torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from validation.allocated.holding import BLOCK, Allocator

WEIGHTS, GRADIENTS, OPTIMIZER = "weights", "gradients", "optimizer"
ACTIVATIONS, BUFFERS = "activations", "buffers"
COMPONENTS = (WEIGHTS, GRADIENTS, OPTIMIZER, ACTIVATIONS, BUFFERS)
FORWARD, BACKWARD, UPDATE = "forward", "backward", "update"
PHASES = (FORWARD, BACKWARD, UPDATE)


@dataclass
class Tracker(TorchDispatchMode):
    """Bytes that are allocated, by component.

    Attributes:
        phase: of the step, which the program sets.
        reduces: whether gradients are reduced layer by layer, so that whole ones pass.
        now: bytes by component.
        most: at the peak of each phase, bytes by component.
        allocator: what PyTorch's would hold for that.
    """

    phase: str = FORWARD
    reduces: bool = False
    now: Counter[str] = field(default_factory=Counter)
    most: dict[str, Counter[str]] = field(default_factory=dict)
    allocator: Allocator = field(default_factory=Allocator)
    _known: dict[int, list[Any]] = field(default_factory=dict)
    _apart: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def __hash__(self) -> int:
        return id(self)

    def __torch_dispatch__(self, func: Any, types: Any, *called: Any) -> Any:
        """Runs an operation and counts what it made; `called` are its arguments, and those named.

        Distributed tensors come again as the local ones that they are made of.
        """
        if any(issubclass(each, DTensor) for each in types):
            return NotImplemented
        arguments, named = (*called, {}, {})[:2]
        if func is torch.ops._c10d_functional.wait_tensor.default:
            # Without a device the operation makes a copy, which nothing makes with one.
            return arguments[0]
        made = func(*arguments, **(named or {}))
        if not self._apart:
            for each in _tensors(made):
                self._see(each, ACTIVATIONS if self.phase == FORWARD else BUFFERS)
            self._exchanged(str(func), arguments, made)
            self._mark()
        return made

    def _exchanged(self, name: str, arguments: Any, made: Any) -> None:
        """Counts what shards are gathered into, and what gradients are reduced from and into."""
        if "embedding_dense_backward" in name and not self.reduces:
            self.call(made, GRADIENTS)
        if "_reduce_scatter_base_" in name:
            self.call(arguments[0], GRADIENTS)
            self.call(arguments[1], BUFFERS)
        if "_allgather_base_" in name or "all_gather_copy_in" in name:
            for each in _tensors((arguments[:1], made)):
                if not self._is(each, WEIGHTS):
                    self.call(each, BUFFERS)

    def call(self, tensor: torch.Tensor, component: str) -> None:
        """Counts a tensor's storage as something else from now on."""
        # The storage of a distributed tensor itself has the size of all members.
        local = tensor._local_tensor if isinstance(tensor, DTensor) else tensor
        self._see(local, component)
        found = self._known[local.untyped_storage()._cdata]
        self.now[found[0]] -= found[1]
        self.now[component] += found[1]
        found[0] = component

    def _is(self, tensor: torch.Tensor, component: str) -> bool:
        local = tensor._local_tensor if isinstance(tensor, DTensor) else tensor
        found = self._known.get(local.untyped_storage()._cdata)
        return found is not None and found[0] == component

    def _see(self, tensor: torch.Tensor, component: str) -> None:
        storage = tensor.untyped_storage()
        key, size = storage._cdata, _blocks(storage.nbytes())
        if key not in self._known:
            self._known[key] = [component, size]
            self.now[component] += size
            self._held(key, size)
            weakref.finalize(storage, self._gone, key)
        elif size != self._known[key][1]:
            self.resized(storage)

    def resized(self, storage: torch.UntypedStorage) -> None:
        """Counts a storage anew that was given another size in place."""
        found = self._known.get(storage._cdata)
        if found is not None:
            size = _blocks(storage.nbytes())
            self.now[found[0]] += size - found[1]
            found[1] = size
            self._held(storage._cdata, size)
            self._mark()

    def _gone(self, key: int) -> None:
        component, size = self._known.pop(key)
        self.now[component] -= size
        self._held(key, 0)

    def _held(self, key: int, size: int) -> None:
        """Has the allocator give a block back, and hand out one of another size."""
        if key in self.allocator.taken:
            self.allocator.give(key)
        if size:
            self.allocator.take(key, size)

    def _mark(self) -> None:
        if self.phase not in self.most or self.now.total() > self.most[self.phase].total():
            self.most[self.phase] = Counter(self.now)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Sees what does not pass by as an operation: storages resized, shards gathered.

        Shapes of distributed tensors are found by running operations at the size of all members,
        which no device does.
        """
        resize, shapes = torch.UntypedStorage.resize_, sharding.ShardingPropagator
        found_apart, gather = (
            shapes._propagate_tensor_meta_non_cached,
            FSDPParam.init_all_gather_outputs,
        )

        def resized(storage: torch.UntypedStorage, size: int) -> Any:
            made = resize(storage, size)
            self.resized(storage)
            return made

        def apart(*args: Any, **kwargs: Any) -> Any:
            self._apart += 1
            try:
                return found_apart(*args, **kwargs)
            finally:
                self._apart -= 1

        def gathered(parameter: FSDPParam, *args: Any, **kwargs: Any) -> Any:
            made = gather(parameter, *args, **kwargs)
            for each in parameter.all_gather_outputs:
                self.call(each, BUFFERS)
            return made

        torch.UntypedStorage.resize_ = resized
        shapes._propagate_tensor_meta_non_cached = apart
        FSDPParam.init_all_gather_outputs = gathered
        try:
            with self:
                yield
        finally:
            torch.UntypedStorage.resize_ = resize
            shapes._propagate_tensor_meta_non_cached = found_apart
            FSDPParam.init_all_gather_outputs = gather


def _tensors(made: Any) -> Iterator[torch.Tensor]:
    return (each for each in tree_leaves(made) if isinstance(each, torch.Tensor))


def _blocks(size: int) -> int:
    return -(-size // BLOCK) * BLOCK
