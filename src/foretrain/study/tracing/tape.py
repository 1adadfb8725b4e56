"""The tape: what a recorder has seen of a pass, and which of it belongs together.

Autograd counts up a number with each operator that has a backward pass, which links what runs
backward to what ran forward. The memory of a tensor has an address, which is its name here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from foretrain.workload.operator import Size
from foretrain.workload.traced.trace import RowOption, TracedTensor, TraceRow

if TYPE_CHECKING:
    import torch


@dataclass(slots=True)
class ReturnedSum:
    """What rows of the backward pass read and wrote: at the precision of activations, and else."""

    values: float = 0.0
    fixed: float = 0.0
    kernels: int = 0

    def add(self, tensors: list[TracedTensor]) -> None:
        """Another kernel."""
        for each in tensors:
            self.values += each.size.values
            self.fixed += each.size.fixed
        self.kernels += 1


@dataclass(slots=True)
class OperatorName:
    """An operator of the framework.

    Attributes:
        name: such as `aten.mm`.
        pointwise: whether it works value by value.
        mutable: whether it changes what it reads.
    """

    name: str
    pointwise: bool
    mutable: bool


@dataclass(slots=True)
class Tape:
    """What was seen so far.

    Attributes:
        narrow: the type of activations.
        path: modules that are running, innermost last.
        rows: operators of the forward pass.
        kept: position of a row and what it keeps: what it read, or what it wrote.
        numbers: position of the first row for each number that autograd counts up.
        back: the backward pass, by that number.
        alive: storages that were met, which must not be freed: their addresses are their names.
        names: operators that were met.
        number: the number of autograd when the last row ran.
        forward: whether the forward pass runs.
        checkpoints: whether it would recompute a part of itself.
    """

    narrow: torch.dtype
    path: list[str]
    rows: list[TraceRow] = field(default_factory=list)
    kept: list[tuple[int, TracedTensor]] = field(default_factory=list)
    numbers: dict[int, int] = field(default_factory=dict)
    back: dict[int, ReturnedSum] = field(default_factory=dict)
    alive: dict[int, object] = field(default_factory=dict)
    names: dict[Any, OperatorName] = field(default_factory=dict)
    number: int = -1
    forward: bool = True
    checkpoints: bool = False

    def tensor(self, tensor: torch.Tensor) -> TracedTensor:
        """A tensor without its content."""
        storage = tensor.untyped_storage()
        address, width = storage._cdata, tensor.element_size()
        self.alive.setdefault(address, storage)
        return TracedTensor(
            storage=address,
            shape=tuple(tensor.shape),
            width=width,
            narrow=tensor.dtype == self.narrow,
            real=tensor.dtype.is_floating_point or tensor.dtype.is_complex,
            whole=storage.nbytes() // width,
        )

    def keep(self, tensor: torch.Tensor) -> torch.Tensor:
        """Note that autograd keeps a tensor: of an operator about to run, or of the last one.

        The number has been counted up for one that is about to run.
        """
        import torch

        if self.forward:
            ahead = torch.autograd._get_sequence_nr() != self.number
            self.kept.append((len(self.rows) - (not ahead), self.tensor(tensor)))
        return tensor

    def ran(self, function: Any, args: Any, out: Any) -> None:
        """Note an operator."""
        told, inputs = self._told(function), list(tensors(args))
        reads = [self.tensor(each) for each in inputs]
        writes = [self.tensor(each) for each in tensors(out)]
        held = {each.storage for each in reads}
        view = bool(writes) and not told.mutable and all(it.storage in held for it in writes)
        if not self.forward:
            self._returned([] if view else [*reads, *writes])
            return
        self._count()
        row = TraceRow(
            name=told.name,
            module=self.path[-1],
            reads=tuple(reads),
            writes=tuple(writes),
            view=view,
            pointwise=told.pointwise,
            options=options_of(told.name, args),
            input_gradient=any(each.requires_grad and not each.is_leaf for each in inputs),
        )
        self.rows.append(row)

    def _told(self, function: Any) -> OperatorName:
        import torch

        found = self.names.get(function)
        if found is None:
            found = self.names[function] = OperatorName(
                name=str(function._overloadpacket),
                pointwise=torch.Tag.pointwise in function.tags,
                mutable=function._schema.is_mutable,
            )
        return found

    def _count(self) -> None:
        import torch

        self.number = torch.autograd._get_sequence_nr()
        self.numbers.setdefault(self.number - 1, len(self.rows))

    def _returned(self, moved: list[TracedTensor]) -> None:
        """Note an operator of the backward pass under what it belongs to."""
        import torch

        node = torch._C._current_autograd_node()
        if node is not None and moved:
            self.back.setdefault(node._sequence_nr(), ReturnedSum()).add(moved)

    def done(self) -> tuple[TraceRow, ...]:
        """The rows, with what each keeps and what came back of it."""
        keeps: dict[int, list[TracedTensor]] = {}
        for position, tensor in self.kept:
            place = max(0, min(position, len(self.rows) - 1))
            keeps.setdefault(place, []).append(tensor)
        back = {self.numbers[n]: found for n, found in self.back.items() if n in self.numbers}
        for position in {*keeps, *back}:
            came = back.get(position)
            self.rows[position] = replace(
                self.rows[position],
                kept=tuple(keeps.get(position, ())),
                returned=Size(values=came.values, fixed=came.fixed) if came else None,
                returns=came.kernels if came else 0,
            )
        return tuple(self.rows)


def tensors(tree: Any) -> Iterator[torch.Tensor]:
    """Tensors among arguments, in order."""
    import torch

    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, list | tuple):
        for each in tree:
            yield from tensors(each)
    elif isinstance(tree, dict):
        yield from tensors(list(tree.values()))


SLIDES: Final = ("stride", "padding", "dilation")


def _along(value: Any) -> tuple[int, ...]:
    """Numbers along each dimension, as they are given: one, or a list."""
    return (int(value),) if isinstance(value, int) else tuple(value)


def options_of(name: str, args: Any) -> Mapping[str, RowOption]:
    """What decides the work of an operator beside its tensors."""
    if name in ("aten.convolution", "aten._convolution"):
        numbers = {"transposed": float(args[6]), "groups": float(args[8])}
        return {**dict(zip(SLIDES, map(_along, args[3:6]), strict=True)), **numbers}
    if name.startswith(("aten.max_pool", "aten.avg_pool")):
        size, *more = map(_along, args[1:4])
        stride, padding = [*more, (), ()][:2]
        return {"size": size, "stride": stride or size, "padding": padding or (0,)}
    if name == "foretrain.attention":
        return {"causal": float(args[4]), "window": float(args[5]), "dropout": float(args[6])}
    return {}
