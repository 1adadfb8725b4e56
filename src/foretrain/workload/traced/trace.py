"""Traces: every operator that a network runs in a forward pass, with the memory it touches.

Whoever records one (`study.tracing`) knows a framework; here are names, shapes and numbers alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from foretrain.workload.operator import Size

RowOption = float | tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedTensor:
    """A tensor that an operator reads or writes.

    Attributes:
        storage: the memory it lies in; views of one tensor share it.
        shape: elements along each dimension.
        width: bytes of one element.
        narrow: whether elements have the precision of activations; others keep theirs whatever
            the precision of the workload is.
        real: whether elements are floating-point numbers.
        whole: elements that fit in the memory it lies in: more than its own for a part of it, fewer
            for a tensor that repeats itself. None for its own.
    """

    storage: int
    shape: tuple[int, ...]
    width: float
    narrow: bool = True
    real: bool = True
    whole: int | None = None

    @property
    def elements(self) -> int:
        """Elements; of an expanded tensor, those that it seems to have."""
        return prod(self.shape)

    @property
    def size(self) -> Size:
        """How much data that is."""
        return self._data(self.elements if self.whole is None else min(self.elements, self.whole))

    @property
    def memory(self) -> Size:
        """How much memory stays taken as long as somebody holds it."""
        return self._data(self.elements if self.whole is None else self.whole)

    def _data(self, elements: int) -> Size:
        return Size(values=elements) if self.narrow else Size(fixed=elements * self.width)


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRow:
    """One operator as it ran.

    Attributes:
        name: of the operator, such as `aten.mm`.
        module: the innermost module that was running, as a dotted path; empty for the root.
        reads: what it read.
        writes: what it wrote.
        view: whether it only looks at memory in another way.
        pointwise: whether each element that it writes follows from the elements at its place.
        kept: what it made the framework keep for the backward pass.
        options: what else decides what it does, such as the stride of a convolution.
        returned: what its backward pass read and wrote; None if it has none.
        returns: kernels of its backward pass.
        input_gradient: whether anything it reads but parameters has a gradient.
    """

    name: str
    module: str = ""
    reads: tuple[TracedTensor, ...] = ()
    writes: tuple[TracedTensor, ...] = ()
    view: bool = False
    pointwise: bool = False
    kept: tuple[TracedTensor, ...] = ()
    options: Mapping[str, RowOption] = field(default_factory=dict)
    returned: Size | None = None
    returns: int = 0
    input_gradient: bool = True

    def number(self, option: str, default: float = 0.0) -> float:
        """An option that is one number."""
        value = self.options.get(option, default)
        return default if isinstance(value, tuple) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedParameter:
    """A parameter of the network.

    Attributes:
        name: a dotted path.
        storage: the memory it lies in.
        count: numbers that it has.
        trained: whether it has a gradient.
    """

    name: str
    storage: int
    count: float
    trained: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedModule:
    """A module of the network.

    Attributes:
        kind: its class.
        children: names of the modules right below it, in the order in which they were added.
        chain: whether it is nothing but its children, one after the other.
        owns: whether it has parameters of its own, beside those of its children.
    """

    kind: str
    children: tuple[str, ...] = ()
    chain: bool = False
    owns: bool = False


@dataclass(frozen=True, kw_only=True)
class ModelTrace:
    """A forward pass of some samples, and what it kept for the backward pass.

    Attributes:
        name: of the network.
        rows: in the order in which they ran.
        parameters: each once, however many names it has.
        parts: modules by their dotted path; the root is "".
        inputs: storages of the samples.
        samples: that ran at once.
        remarks: what the recorder had to assume, in words.
    """

    name: str
    rows: tuple[TraceRow, ...]
    parameters: tuple[TracedParameter, ...]
    parts: Mapping[str, TracedModule]
    inputs: frozenset[int]
    samples: int
    remarks: tuple[str, ...] = field(default=())

    @cached_property
    def owners(self) -> Mapping[int, tuple[TracedParameter, ...]]:
        """The parameters that lie in each storage."""
        found: dict[int, tuple[TracedParameter, ...]] = {}
        for each in self.parameters:
            found[each.storage] = (*found.get(each.storage, ()), each)
        return found
