"""Measured against predicted: a dot for every row, and lines where both are equal or nearly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from types import MappingProxyType

from foretrain.evidence.validate import ValidationRow
from foretrain.measured.run import Subject
from foretrain.show.axis import Ticks, axis_of
from foretrain.show.words import percent, written
from foretrain.units import BYTES, SAMPLES, SECONDS, Quantity

COUNTED: Mapping[Subject, Quantity] = MappingProxyType(
    {
        Subject.STEP_TIME: SECONDS,
        Subject.TRANSFER_TIME: SECONDS,
        Subject.THROUGHPUT: SAMPLES,
        Subject.PEAK_MEMORY: BYTES,
        Subject.ACTIVATIONS: BYTES,
        Subject.STATE: BYTES,
    }
)
"""What each subject is counted in; a share is not drawn."""

COLOURS = (
    "forward", "expert", "recompute", "gradients", "backward",
    "bubble", "tensor", "parameters", "pipeline", "update",
)  # fmt: skip
"""Of the sources with most rows, by names of the style sheet; the rest share one more."""

REST = "other"
NEAR = 1.25
"""Ratio of predicted to measured at the dashed lines, and its inverse."""

ROOM = 9.0
"""Per cent between two ticks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """One row: per cent from the left and from the top."""

    x: float
    y: float
    colour: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """All rows of one subject; both axes are the same.

    Attributes:
        axis: of both.
        dots: the rows.
        near: per cent by which the dashed lines lie off the diagonal; 0 draws none.
        legend: colours and the sources that have them.
    """

    axis: Ticks
    dots: tuple[Dot, ...]
    near: float
    legend: tuple[tuple[str, str], ...]


def scatter(rows: Sequence[ValidationRow], quantity: Quantity) -> Scatter:
    """Rows that were measured and predicted, of one subject."""
    values = [value for row in rows for value in (row.measured, row.predicted) if value]
    axis = axis_of(values, quantity)
    largest = Counter(row.source_id for row in rows).most_common()
    colours = {
        source: COLOURS[place] if place < len(COLOURS) else REST
        for place, (source, _) in enumerate(largest)
    }
    legend = [(colour, source) for source, colour in colours.items() if colour != REST]
    if REST in colours.values():
        legend.append((REST, "other sources"))
    # Ticks that leave one another room.
    kept: list[tuple[float, str]] = []
    for at, text in sorted(axis.ticks):
        if not kept or at - kept[-1][0] >= ROOM:
            kept.append((at, text))
    dots = []
    for row in rows:
        measured, predicted = row.measured or axis.low, row.predicted or axis.low
        told = (written(quantity, value) for value in (measured, predicted))
        text = "{}: measured {}, predicted {}, {}".format(row.id, *told, percent(row.error or 0.0))
        dots.append(
            Dot(
                x=axis.place(measured),
                y=100 - axis.place(predicted),
                colour=colours[row.source_id],
                text=text,
            )
        )
    return Scatter(
        axis=Ticks(ticks=tuple(kept), logarithmic=axis.logarithmic),
        dots=tuple(dots),
        near=100 * log10(NEAR) / log10(axis.high / axis.low) if axis.logarithmic else 0.0,
        legend=tuple(legend),
    )
