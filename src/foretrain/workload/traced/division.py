"""What a plan may divide of a traced network of pictures: pixels, filters and input channels.

The same as in the networks of the library: a grid divides the pixels of the front of a network, up
to the first operator that needs the whole of what it reads; filter and channel parallelism divide
convolutions and connected layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Final

from foretrain.workload.convolution.picture import Window
from foretrain.workload.operator import Operator, Pixels
from foretrain.workload.traced.kinds import RowKind, kind_of
from foretrain.workload.traced.products import CONVOLUTIONS
from foretrain.workload.traced.trace import TracedTensor, TraceRow

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
        filters, channels = _of_convolution(row)
    elif operator.matrices is not None and operator.weights:
        filters, channels = round(operator.matrices.columns), round(operator.matrices.depth)
    else:
        filters, channels = 0, 0
    # A sample has too few channels to divide, and needs no gradient.
    channels = 0 if operator.first else channels
    return replace(found, units=0, unit="", filters=filters, channels=channels)


def _of_convolution(row: TraceRow) -> tuple[int, int]:
    """Filters and input channels; groups are divided as a whole."""
    groups = int(row.number("groups", 1))
    return (groups, groups) if groups > 1 else (row.writes[0].shape[1], row.reads[0].shape[1])


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
