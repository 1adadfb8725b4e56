"""How a sample is laid out: its fields, found once.

A sample is a tensor, an array, a number, a text, or a tuple, list or dict of samples. Fields of
one shape lie side by side for all slots, so that a batch is a slice; fields whose shape varies
get as many bytes as the longest may have, with their shape beside them. Whatever else a sample
may hold (nothing, a picture, an object of the user's, a list of any length) is packed into such a
field as well. Batches that cannot be cut into samples are packed as they are, over as many slots
as they need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from batchcast.errors import SampleFailed
from batchcast.packing import pack

Tree: TypeAlias = Any
"""A sample or a batch: leaves within tuples, lists and dicts."""

Form: TypeAlias = Any
"""The nesting as JSON: ["leaf"], ["tuple", [form ...]], ["list", ...], ["dict", [[key, form]]].

In the form of a batch, ["leaf", "tuple"] is a column of texts or bytes that come in a tuple.
"""

DIMENSIONS = 8
"""Of a field whose shape varies, at most."""

_STORED = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
"""Number types that NumPy lacks, and what their bytes are stored as."""


SPARE = 512
"""Bytes that packing adds to the fields of an object, allowed beside what the user allows."""

COLUMNS = ("text", "bytes")
"""Kinds of fields that come as a list of them in a batch."""

PLAIN = ("tensor", "array", "number", "int", "float", "bool")
"""Kinds of fields that PyTorch puts side by side in a tensor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """One field of a sample.

    Attributes:
        dtype: PyTorch's name of its numbers; uint8 for texts, bytes and objects.
        shape: of the field; only its number of dimensions counts where it varies.
        most: bytes that a field of varying shape may have; 0 where the shape is fixed.
        kind: one of `PLAIN` or `COLUMNS`, or "object".
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
    """The fields of a sample and how they are nested.

    Attributes:
        form: of a sample.
        batch: form of a batch of them.
        leaves: the fields.
        whole: why batches are handed on whole, each over slots of bytes; empty where a slot is a
            sample.
    """

    form: Form
    batch: Form
    leaves: tuple[Leaf, ...]
    whole: str = ""

    @property
    def sample_bytes(self) -> int:
        """Bytes of a sample in the arena."""
        return sum(leaf.size for leaf in self.leaves)

    @property
    def is_stackable(self) -> bool:
        """Whether batches can be made of whole columns, without looking at a sample."""
        return all(leaf.kind in COLUMNS or not leaf.most for leaf in self.leaves)

    def as_json(self) -> dict[str, object]:
        """The layout as it travels."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Layout:
        """The layout that travelled."""
        leaves = [Leaf(**{**leaf, "shape": tuple(leaf["shape"])}) for leaf in value["leaves"]]
        return cls(**{**value, "leaves": tuple(leaves)})


def layout_of(samples: Sequence[Tree], *, most: int | None) -> Layout:
    """The layout that all these samples share.

    Args:
        samples: a few samples of the source.
        most: bytes that a field may have whose shape, length or type varies; nothing for twice the
            longest here, and only what varies here varies.
    """
    form = _common([form_of(sample) for sample in samples])
    columns = zip(*(list(fields(form, sample)) for sample in samples), strict=True)
    leaves = tuple(_leaf(column, most) for column in columns)
    return Layout(form=form, batch=collated(form), leaves=leaves)


def layout_of_bytes(slot: int, *, whole: str) -> Layout:
    """The layout of batches that are handed on whole.

    Args:
        slot: bytes of a slot.
        whole: why.
    """
    leaf = Leaf(dtype="uint8", shape=(slot,))
    return Layout(form=["leaf"], batch=["leaf"], leaves=(leaf,), whole=whole)


def form_of(sample: Tree) -> Form:
    """How a sample is nested.

    Lists of plain values are one field, for in most data their length varies; and so are
    containers of other types, which a batch must have again.
    """
    kind = type(sample)
    if kind is dict and sample and all(type(key) in (str, int) for key in sample):
        return ["dict", [[key, form_of(value)] for key, value in sample.items()]]
    if kind is tuple and sample:
        return ["tuple", [form_of(value) for value in sample]]
    if kind is list and sample and not all(isinstance(each, _VALUES) for each in sample):
        return ["list", [form_of(value) for value in sample]]
    return ["leaf"]


_VALUES = (bool, int, float, str, bytes, type(None))


def collated(form: Form, *, within: bool = False) -> Form:
    """The form of a batch of samples of a form, as PyTorch's `default_collate` puts them together.

    Args:
        form: of a sample.
        within: whether it is part of a tuple or a list, whose columns of texts are tuples.
    """
    if form[0] == "leaf":
        return ["leaf", "tuple"] if within else form
    if form[0] == "dict":
        return ["dict", [[key, collated(inner)] for key, inner in form[1]]]
    return ["list", [collated(inner, within=True) for inner in form[1]]]


def _common(forms: Sequence[Form]) -> Form:
    """The form that all samples have; where they differ it is one field."""
    first = forms[0]
    if all(form == first for form in forms):
        return first
    if any(form[0] != first[0] or _keys(form) != _keys(first) for form in forms):
        return ["leaf"]
    if first[0] == "dict":
        values = zip(*([inner for _, inner in form[1]] for form in forms), strict=True)
        keys = [key for key, _ in first[1]]
        return ["dict", [list(each) for each in zip(keys, map(_common, values), strict=True)]]
    return [first[0], [_common(each) for each in zip(*(form[1] for form in forms), strict=True)]]


def _keys(form: Form) -> object:
    return [key for key, _ in form[1]] if form[0] == "dict" else len(form[1:] and form[1])


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
            f"{len(form[1])}; all samples must have the same fields. Give it the same, or share a "
            "DataLoader whose collate_fn takes such samples"
        )


def columns_of(form: Form, samples: Sequence[Tree]) -> Iterator[Sequence[Any]]:
    """The leaves of many samples: for each, what it is in every one of them.

    Raises:
        SampleFailed: a sample is nested in another way.
        ValueError: samples have fields of other numbers.
    """
    if form[0] == "leaf":
        yield samples
    elif form[0] == "dict" and all(len(each) == len(form[1]) for each in samples):
        for key, inner in form[1]:
            yield from columns_of(inner, [each[key] for each in samples])
    elif form[0] != "dict" and set(map(type, samples)) <= {tuple, list}:
        for inner, column in zip(form[1], zip(*samples, strict=True), strict=True):
            yield from columns_of(inner, column)
    else:
        yield from zip(*(fields(form, sample) for sample in samples), strict=True)


def nested(form: Form, leaves: Iterator[Any]) -> Tree:
    """Leaves nested again."""
    if form[0] == "leaf":
        value = next(leaves)
        return tuple(value) if len(form) > 1 and isinstance(value, list) else value
    if form[0] == "dict":
        return {key: nested(inner, leaves) for key, inner in form[1]}
    inner = [nested(each, leaves) for each in form[1]]
    return inner if form[0] == "list" else tuple(inner)


def as_array(value: Any) -> tuple[NDArray[Any], str, str]:
    """A leaf as an array, with its PyTorch type and its kind."""
    import torch

    if isinstance(value, (str, bytes)):
        data = value.encode() if isinstance(value, str) else value
        return np.frombuffer(data, np.uint8), "uint8", "text" if isinstance(value, str) else "bytes"
    kind = _KINDS.get(type(value))
    if kind == "tensor" or (kind is None and isinstance(value, torch.Tensor)):
        return _of_tensor(value)
    if kind is None and isinstance(value, np.generic):
        kind = "number"
    if kind is None or (kind == "int" and not -(1 << 63) <= value < 1 << 63):
        return packed(value)
    array = np.asarray(value)
    known = array.dtype.kind in "biufc" and hasattr(torch, array.dtype.name)
    return (array, array.dtype.name, kind) if known else packed(value)


def as_column(values: Any) -> tuple[NDArray[Any], str]:
    """Fields of many samples, stacked already or in a list, as one array with its PyTorch type."""
    array, dtype, kind = as_array(values if not isinstance(values, list) else np.asarray(values))
    if kind == "object":
        raise SampleFailed("its fields are of other types than those of the first batch")
    return array, dtype


def stacked(values: Sequence[Any], kind: str) -> tuple[NDArray[Any], str] | None:
    """Fields of many samples as one array with its PyTorch type; nothing where each is seen to.

    Args:
        values: of one field.
        kind: that they should have, one of `PLAIN`.
    """
    import torch

    of = type(values[0])
    if len(values) == 1 or set(map(type, values)) != {of}:
        return None
    alike = "tensor" if of is torch.Tensor else "number" if issubclass(of, np.generic) else None
    if kind != (alike or _KINDS.get(of)):
        return None
    if kind in ("tensor", "array") and len(set(map(_DTYPE, values))) > 1:
        return None
    try:
        array, dtype, _ = as_array(
            torch.stack(list(values)) if alike == "tensor" else np.array(values)
        )
    except (RuntimeError, ValueError, SampleFailed):
        return None
    return array, dtype


def packed(value: object) -> tuple[NDArray[Any], str, str]:
    """A leaf that is no array, as an array of bytes."""
    return pack(value).whole(), "uint8", "object"


_DTYPE = attrgetter("dtype")

_KINDS: dict[type, str] = {bool: "bool", int: "int", float: "float", np.ndarray: "array"}


def _of_tensor(value: Any) -> tuple[NDArray[Any], str, str]:
    import torch

    if value.device.type != "cpu" or value.requires_grad:
        wrong = "requires a gradient" if value.requires_grad else f"lies on {value.device}"
        raise SampleFailed(
            f"one of its tensors {wrong}, and a stream carries plain tensors of the host. Call "
            "detach().cpu() on it where it is made, and move batches to a device in the reader"
        )
    name = str(value.dtype).removeprefix("torch.")
    plain = type(value) is torch.Tensor and value.layout is torch.strided and not value.is_nested
    if not plain or value.is_quantized or not hasattr(np, _STORED.get(name, name)):
        return packed(value)
    value = value.view(getattr(torch, _STORED[name])) if name in _STORED else value
    return value.resolve_conj().resolve_neg().numpy(), name, "tensor"


def _leaf(column: Sequence[Any], most: int | None) -> Leaf:
    arrays = [as_array(value) for value in column]
    first, dtype, kind = arrays[0]
    alike = all(each[1:] == (dtype, kind) and each[0].ndim == first.ndim for each in arrays)
    if kind == "object" or not alike or first.ndim > DIMENSIONS:
        longest = max(packed(value)[0].nbytes for value in column)
        room = _room(longest, most and most + SPARE)
        return Leaf(dtype="uint8", shape=(0,), most=room, kind="object")
    longest = max(array.nbytes for array, _, _ in arrays)
    one_shape = len({array.shape for array, _, _ in arrays}) == 1
    may_vary = most is not None and first.ndim > 0 and longest <= most
    if kind in PLAIN and one_shape and not may_vary:
        return Leaf(dtype=dtype, shape=first.shape, kind=kind)
    return Leaf(dtype=dtype, shape=first.shape, most=_room(longest, most), kind=kind)


def _room(longest: int, most: int | None) -> int:
    """Bytes for a field that varies."""
    if most is not None and longest > most:
        raise SampleFailed(
            f"A field of the first samples has {longest} bytes and longest=... allows {most}. Give "
            f"share(...) longest={2 * longest}."
        )
    return most or max(2 * longest, 256)
