"""Products of a trace, and what a plan may divide of them.

Products of a trace: the matrices that they multiply, for one sample.

A parameter's rows are those of all samples stacked, so a product with one has `rows / samples` of
them; a product of two computed matrices is made for every sample by itself.

What a plan may divide of a traced network of pictures: pixels, filters and input channels.

The same as in the networks of the library: a grid divides the pixels of the front of a network, up
to the first operator that needs the whole of what it reads; filter and channel parallelism divide
convolutions and connected layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
from typing import Final

from foretrain.workload.convolution.operators import Window
from foretrain.workload.operator import (
    UNDIVIDED,
    KernelFamily,
    Matrices,
    Operator,
    Pixels,
    Size,
    matmul,
)
from foretrain.workload.traced.trace import RowKind, TracedTensor, TraceRow, kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFacts:
    """What is known of a row beside what it says itself.

    Attributes:
        samples: that ran at once.
        weights: parameters that it reads and nothing before it did.
        trained: those of them that are trained.
        learned: which of its reads are parameters, or made of nothing else.
        pictures: whether the network is one of pictures.
        kept: what it keeps, of one sample.
    """

    samples: int
    weights: float
    trained: float
    learned: tuple[bool, ...]
    pictures: bool
    kept: Size


def product(name: str, row: TraceRow, facts: RowFacts) -> Operator:
    """The operator of a product; one without a single multiplication only moves data."""
    if row.name in CONVOLUTIONS:
        return convolution(name, row, facts)
    matrices = MATRICES[row.name](row, facts)
    if matrices is None:
        moved = sum(each.elements for each in (*row.reads, *row.writes)) / facts.samples
        return Operator(
            name=name, weights=facts.weights, forward=Size(values=moved), kept=facts.kept
        )
    return _trainable(matmul(name, matrices, weights=facts.weights), row, facts)


def _trainable(operator: Operator, row: TraceRow, facts: RowFacts) -> Operator:
    """With what comes back: nothing, or all but the gradient of samples."""
    comes_back = row.returned is not None
    return replace(
        operator,
        kept=facts.kept,
        units=1,
        unit=TRACED_UNIT,
        backward_flop=operator.backward_flop if comes_back else 0.0,
        trained=None if facts.trained == facts.weights else facts.trained,
        first=comes_back and facts.weights > 0 and not row.input_gradient,
    )


TRACED_UNIT: Final = f"products of a traced model have {UNDIVIDED}"


def _factors(row: TraceRow) -> tuple[int, int]:
    """Places of the left and the right factor among what a product reads; a sum comes first."""
    first = len(row.reads) - 2 if row.name.startswith("aten.add") or "baddbmm" in row.name else 0
    return first, first + 1


def _plain(row: TraceRow, facts: RowFacts) -> Matrices | None:
    """(rows x depth) by (depth x columns); vectors are thin matrices."""
    left, right = (row.reads[place] for place in _factors(row))
    rows = prod(left.shape[:-1])
    depth = left.shape[-1] if left.shape else 1
    columns = right.elements // depth if depth else 0
    if not (rows and depth and columns):
        return None
    learned = [facts.learned[place] for place in _factors(row)]
    if learned[0] and not learned[1]:  # the weights stand on the left
        rows, columns = columns, rows
    if any(learned):
        return Matrices(rows=rows / facts.samples, columns=columns, depth=depth)
    return Matrices(rows=rows, columns=columns, depth=depth, batch=1.0 / facts.samples)


def _linear(row: TraceRow, facts: RowFacts) -> Matrices | None:
    """As `torch.nn.functional.linear` has it: the weights are (columns x depth)."""
    left, weights = row.reads[:2]
    columns, depth = weights.shape if len(weights.shape) == 2 else (1, weights.elements)
    rows = left.elements // depth if depth else 0
    if not (rows and columns):
        return None
    return Matrices(rows=rows / facts.samples, columns=columns, depth=depth)


def _batched(row: TraceRow, facts: RowFacts) -> Matrices | None:
    """`batch` products side by side."""
    places = _factors(row)
    left, right = (row.reads[place] for place in places)
    batch, rows, depth = left.shape
    columns = right.shape[-1]
    if not (batch and rows and depth and columns):
        return None
    learned = [facts.learned[place] for place in places]
    if learned[0] and not learned[1]:
        rows, columns = columns, rows
    if any(learned):
        return Matrices(rows=rows / facts.samples, columns=columns, depth=depth, batch=float(batch))
    return Matrices(rows=rows, columns=columns, depth=depth, batch=batch / facts.samples)


def _grouped(row: TraceRow, facts: RowFacts) -> Matrices | None:
    """Rows dealt out to experts, each with weights of its own: (experts x depth x columns)."""
    left, right = row.reads[:2]
    if len(left.shape) == len(right.shape) == 3:
        return _batched(row, facts)
    if len(left.shape) == 2 and len(right.shape) == 2:  # the gradient of weights, summed over rows
        return _plain(row, facts)
    experts, depth, columns = right.shape if len(right.shape) == 3 else (1, *right.shape)
    rows = left.elements // depth if depth else 0
    if not (experts and rows and columns):
        return None
    each = rows / experts / facts.samples
    return Matrices(rows=each, columns=columns, depth=depth, batch=float(experts))


MATRICES: Final[Mapping[str, Callable[[TraceRow, RowFacts], Matrices | None]]] = MappingProxyType(
    {
        "aten.mm": _plain,
        "aten.addmm": _plain,
        "aten.mv": _plain,
        "aten.addmv": _plain,
        "aten.dot": _plain,
        "aten.vdot": _plain,
        "aten.matmul": _plain,
        "aten._scaled_mm": _plain,
        "aten.linear": _linear,
        "aten.bmm": _batched,
        "aten.baddbmm": _batched,
        "aten.addbmm": _batched,
        "aten._grouped_mm": _grouped,
        "transformers.grouped_mm_fallback": _grouped,
    }
)

CONVOLUTIONS: Final = frozenset({"aten.convolution", "aten._convolution"})


def convolution(name: str, row: TraceRow, facts: RowFacts) -> Operator:
    """A convolution, transposed or not, in any number of dimensions and groups."""
    read, weight, *_ = row.reads
    written = row.writes[0]
    groups = int(row.number("groups", 1))
    transposed = bool(row.number("transposed"))
    area = prod(weight.shape[2:])
    if not transposed and groups == read.shape[1] > 1:
        return _depthwise(name, row, facts)
    ours, others = (read, written) if transposed else (written, read)
    pixels = ours.shape[0] * prod(ours.shape[2:]) / facts.samples
    matrices = Matrices(
        rows=pixels,
        columns=weight.shape[1] * area if transposed else weight.shape[0] / groups,
        depth=weight.shape[0] / groups if transposed else weight.shape[1] * area,
        batch=float(groups),
        reuse=1.0 if transposed else prod(written.shape[2:]) * area / prod(others.shape[2:]),
    )
    found = _trainable(matmul(name, matrices, weights=facts.weights), row, facts)
    if transposed or not facts.pictures:
        return found
    return replace(found, family=_family(row, weight, groups=groups), window=float(area))


def _family(row: TraceRow, weight: TracedTensor, *, groups: int) -> KernelFamily:
    if groups > 1:
        return KernelFamily.GROUPED
    strides = row.options.get("stride", (1,))
    square = weight.shape[2:] == (3, 3) and set(strides if isinstance(strides, tuple) else ()) == {
        1
    }
    return KernelFamily.SQUARE if square else KernelFamily.CONVOLUTION


def _depthwise(name: str, row: TraceRow, facts: RowFacts) -> Operator:
    """Windows of single channels, which memory limits."""
    read, weight, *_ = row.reads
    written = row.writes[0]
    area = prod(weight.shape[2:])
    flop = 2.0 * area * written.elements / facts.samples
    moved = (read.elements + written.elements) / facts.samples
    comes_back = row.returned is not None
    return Operator(
        name=name,
        weights=facts.weights,
        trained=None if facts.trained == facts.weights else facts.trained,
        flop=flop,
        backward_flop=2.0 * flop * comes_back,
        forward=Size(values=moved),
        backward=Size(values=2.0 * moved * comes_back),
        kept=facts.kept,
        family=KernelFamily.DEPTHWISE if facts.pictures else KernelFamily.GENERAL,
        window=float(area),
    )


MAXIMA: Final = ("aten.max_pool2d", "aten.max_pool3d")
POOLS: Final = (*MAXIMA, "aten.avg_pool")
AVERAGES: Final = ("aten._adaptive_avg_pool", "aten.mean")
BY_CHANNEL: Final = frozenset({"aten.native_batch_norm", "aten.cudnn_batch_norm"})


def divisible(operator: Operator, rows: Sequence[TraceRow], *, dimensions: int) -> Operator:
    """An operator with what a plan may divide of it.

    Args:
        operator: of a network of pictures.
        rows: that it is made of.
        dimensions: along which windows slide over a sample.
    """
    row = rows[0]
    found = replace(operator, pixels=pixels_of(rows, dimensions=dimensions))
    if kind_of(row) is not RowKind.PRODUCT:
        return found
    if row.name in CONVOLUTIONS:
        # Filters and input channels; groups are divided as a whole.
        groups = int(row.number("groups", 1))
        filters, channels = (
            (groups, groups) if groups > 1 else (row.writes[0].shape[1], row.reads[0].shape[1])
        )
    elif operator.matrices is not None and operator.weights:
        filters, channels = round(operator.matrices.columns), round(operator.matrices.depth)
    else:
        filters, channels = 0, 0
    # A sample has too few channels to divide, and needs no gradient.
    channels = 0 if operator.first else channels
    return replace(found, units=0, unit="", filters=filters, channels=channels)


def pixels_of(rows: Sequence[TraceRow], *, dimensions: int) -> Pixels | None:
    """What a grid divides of an operator; None if it needs the whole of what it reads."""
    read = _picture([it for row in rows[:1] for it in row.reads], dimensions)
    written = _picture([it for row in reversed(rows) for it in row.writes], dimensions)
    averaged = any(row.name.startswith(AVERAGES) for row in rows)
    if averaged and read is not None:
        told = [it for it in rows[-1].writes if it.elements == prod(read.shape[:2])]
        written = replace(read, shape=(*read.shape[:2], *[1] * dimensions)) if told else None
    if read is None or written is None:
        return None
    window = _window(rows, same=read.shape[2:] == written.shape[2:] or averaged)
    if window is None:
        return None
    return Pixels(
        read=read.shape[2:],
        written=written.shape[2:],
        channels=(read.shape[1], written.shape[1]),
        borders=window.borders(dimensions),
        gradients=window.gradient_borders(dimensions),
        averaged=averaged,
        returned=rows[0].name.startswith(MAXIMA),
    )


def _picture(tensors: Sequence[TracedTensor], dimensions: int) -> TracedTensor | None:
    """The first tensor that has samples, channels and so many sides."""
    return next((it for it in tensors if it.real and len(it.shape) == dimensions + 2), None)


def _window(rows: Sequence[TraceRow], *, same: bool) -> Window | None:
    """The window that slides over a picture; None where another one is meant, or none is known."""
    row, kind = rows[0], kind_of(rows[0])
    if row.name in CONVOLUTIONS:
        size = row.reads[1].shape[2:]
        spread = bool(row.number("transposed"))
        return None if spread and row.options.get("stride") != size else _slid(row, size)
    if row.name.startswith(POOLS):
        taps = row.options.get("size")
        return _slid(row, taps) if isinstance(taps, tuple) else None
    by_value = kind is RowKind.FUSIBLE or row.name in BY_CHANNEL
    return Window() if same and (by_value or row.name.startswith(AVERAGES)) else None


def _slid(row: TraceRow, size: tuple[int, ...]) -> Window:
    """A window of some size, with the row's stride, padding and dilation."""
    told = {name: row.options.get(name) for name in ("stride", "padding", "dilation")}
    whole = {
        name: value if len(value) == len(size) else value[0]
        for name, value in told.items()
        if isinstance(value, tuple) and value
    }
    return Window(size=size, **whole)
