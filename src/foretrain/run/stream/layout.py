"""How a sample is laid out: its fields, found once, written and read without pickle.

A sample is a tensor, an array, a number, a text, or a tuple, list or dict of samples. Fields of
one shape lie side by side for all slots, so that a batch is a slice; fields whose shape varies
get as many bytes as the longest may have, with their shape beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from foretrain.run.stream.errors import SampleFailed

Tree: TypeAlias = Any
"""A sample or a batch: leaves within tuples, lists and dicts."""

Form: TypeAlias = Any
"""The nesting as JSON: ["leaf"], ["tuple", [form ...]], ["list", ...], ["dict", [[key, form]]]."""

DIMENSIONS = 8
"""Of a field whose shape varies, at most."""

_STORED = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
"""Number types that NumPy lacks, and what their bytes are stored as."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One field of a sample.

    Attributes:
        dtype: PyTorch's name of its numbers; uint8 for texts and bytes.
        shape: of the field; only its number of dimensions counts where it varies.
        most: bytes that a field of varying shape may have; 0 where the shape is fixed.
        kind: "tensor", "text" or "bytes".
    """

    dtype: str
    shape: tuple[int, ...]
    most: int = 0
    kind: str = "tensor"

    @property
    def stored(self) -> np.dtype[Any]:
        """What its numbers are stored as."""
        return np.dtype(_STORED.get(self.dtype, self.dtype))

    @property
    def is_renamed(self) -> bool:
        """Whether its numbers are stored as another type's of the same size."""
        return self.dtype in _STORED

    @property
    def size(self) -> int:
        """Bytes of one field in the arena."""
        if self.most:
            return self.most
        return int(np.prod(self.shape, dtype=np.int64)) * self.stored.itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The fields of a sample and how they are nested."""

    form: Form
    leaves: tuple[Leaf, ...]

    @property
    def sample_bytes(self) -> int:
        """Bytes of a sample in the arena."""
        return sum(leaf.size for leaf in self.leaves)

    def as_json(self) -> dict[str, object]:
        """The layout as it travels."""
        return {"form": self.form, "leaves": [asdict(leaf) for leaf in self.leaves]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Layout:
        """The layout that travelled."""
        leaves = [Leaf(**{**leaf, "shape": tuple(leaf["shape"])}) for leaf in value["leaves"]]
        return cls(form=value["form"], leaves=tuple(leaves))


def layout_of(samples: Sequence[Tree], *, most: int | None) -> Layout:
    """The layout that all these samples share.

    Args:
        samples: a few samples of the source.
        most: bytes that a field of varying shape may have; nothing for twice the longest here.

    Raises:
        SampleFailed: the samples are nested differently, or hold what cannot be laid out.
    """
    form = form_of(samples[0])
    columns = zip(*(list(fields(form, sample)) for sample in samples), strict=True)
    return Layout(form=form, leaves=tuple(_leaf(column, most) for column in columns))


def form_of(sample: Tree) -> Form:
    """How a sample is nested."""
    if isinstance(sample, Mapping):
        return ["dict", [[key, form_of(value)] for key, value in sample.items()]]
    if isinstance(sample, (tuple, list)):
        name = "list" if isinstance(sample, list) else "tuple"
        return [name, [form_of(value) for value in sample]]
    return ["leaf"]


def fields(form: Form, sample: Tree) -> Iterator[Any]:
    """The leaves of a sample, in the order of the form.

    Raises:
        SampleFailed: the sample is nested in another way.
    """
    if form[0] == "leaf":
        yield sample
    elif form[0] == "dict" and isinstance(sample, Mapping) and len(sample) == len(form[1]):
        for key, inner in form[1]:
            yield from fields(inner, sample[key])
    elif form[0] != "dict" and isinstance(sample, (tuple, list)) and len(sample) == len(form[1]):
        for value, inner in zip(sample, form[1], strict=True):
            yield from fields(inner, value)
    else:
        raise SampleFailed(
            f"it is a {type(sample).__name__} where the first samples had a {form[0]} of "
            f"{len(form[1])}; all samples must have the same fields"
        )


def nested(form: Form, leaves: Iterator[Any]) -> Tree:
    """Leaves nested again."""
    if form[0] == "leaf":
        return next(leaves)
    if form[0] == "dict":
        return {key: nested(inner, leaves) for key, inner in form[1]}
    inner = [nested(each, leaves) for each in form[1]]
    return inner if form[0] == "list" else tuple(inner)


def as_array(value: Any) -> tuple[NDArray[Any], str, str]:
    """A leaf as an array, with its PyTorch type and its kind."""
    import torch

    if isinstance(value, torch.Tensor):
        name = str(value.dtype).removeprefix("torch.")
        value = value.detach().cpu()
        if name in _STORED:
            value = value.view(getattr(torch, _STORED[name]))
        return value.numpy(), name, "tensor"
    if isinstance(value, (str, bytes)):
        data = value.encode() if isinstance(value, str) else value
        return np.frombuffer(data, np.uint8), "uint8", "text" if isinstance(value, str) else "bytes"
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise SampleFailed(
            f"A field is a {type(value).__name__}, which a stream cannot carry. Allowed: tensors, "
            "arrays, numbers, texts and bytes, nested in tuples, lists and dicts."
        )
    return array, array.dtype.name, "tensor"


def _leaf(column: Sequence[Any], most: int | None) -> Leaf:
    arrays = [as_array(value) for value in column]
    _, dtype, kind = arrays[0]
    if any(each[1:] != (dtype, kind) for each in arrays):
        raise SampleFailed(
            f"A field is {dtype} in one sample and "
            f"{next(each[1] for each in arrays if each[1:] != (dtype, kind))} in another. "
            "Convert it in shared=...."
        )
    shapes = {array.shape for array, _, _ in arrays}
    if len({len(shape) for shape in shapes}) > 1:
        raise SampleFailed("A field has other numbers of dimensions in different samples.")
    shape = arrays[0][0].shape
    if kind == "tensor" and len(shapes) == 1:
        return Leaf(dtype=dtype, shape=shape)
    longest = max(array.nbytes for array, _, _ in arrays)
    return Leaf(dtype=dtype, shape=shape, most=most or max(2 * longest, 256), kind=kind)
