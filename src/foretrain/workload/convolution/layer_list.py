"""Layer lists: networks of pictures as a table of layers, with or without what each was measured.

A row has the sizes of one layer. What it computes, moves and keeps follows from its kind, as in the
library, unless the row says otherwise; so do its seconds, unless somebody measured them. One time
for the whole network is spread over the rows by what each computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby

from foretrain.errors import InputError
from foretrain.workload.convolution import operators
from foretrain.workload.convolution.operators import Picture, Window
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import KernelFamily, Operator, Pixels, Size


class LayerKind(StrEnum):
    """What a layer of a list does."""

    CONVOLUTION = "convolution"
    CONNECTED = "connected"
    POOLING = "pooling"
    NORM = "norm"
    ACTIVATION = "activation"
    ADDITION = "addition"
    DROPOUT = "dropout"
    OTHER = "other"


POINT = Window()

WHOLE = (LayerKind.CONNECTED, LayerKind.OTHER)
"""Kinds of layers that may need the whole picture, however few of its pixels they write."""

WEIGHTED = (LayerKind.CONVOLUTION, LayerKind.CONNECTED, LayerKind.NORM)
"""Kinds of layers that have weights of themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedLayer:
    """One row. All counts are of one sample; None for what follows from the sizes.

    Attributes:
        name: shown to users.
        kind: what it does.
        picture: what it reads.
        result: what it writes.
        window: of a convolution or pooling.
        groups: groups of channels that a convolution keeps apart.
        weights: parameters.
        inputs: values that it reads and whose gradient it hands back.
        outputs: values that it hands on.
        kept: values that the backward pass needs.
        flop: of the forward pass; by it a time of the whole network is spread.
        forward: measured seconds of the forward pass.
        backward: measured seconds of the backward pass.
        both: measured seconds of both passes together, in the place of these two.
        layer: rows of one name that follow one another stay together on a pipeline stage; empty
            for a layer of its own.
    """

    name: str
    kind: LayerKind
    picture: Picture
    result: Picture
    window: Window = POINT
    groups: int = 1
    weights: float | None = None
    inputs: float | None = None
    outputs: float | None = None
    kept: float | None = None
    flop: float | None = None
    forward: float | None = None
    backward: float | None = None
    both: float | None = None
    layer: str = ""

    def __post_init__(self) -> None:
        if (self.forward is None) != (self.backward is None):
            lacking = "backward" if self.backward is None else "forward"
            raise InputError(
                f"{lacking}: is missing; state the seconds of each pass, or of both "
                "together as 'both'."
            )
        if self.both is not None and self.forward is not None:
            raise InputError(
                "both: is the sum of 'forward' and 'backward'; state one or the other."
            )
        counts = {"channels": self.picture.channels, "filters": self.result.channels}
        for name, count in counts.items():
            if self.kind is LayerKind.CONVOLUTION and count % self.groups:
                raise InputError(f"groups: {self.groups} do not divide the {count} {name}.")

    @property
    def timed(self) -> bool:
        """Whether somebody measured it."""
        return self.both is not None or self.forward is not None

    @property
    def computes(self) -> float:
        """FLOP of the forward pass, by which a time of a whole network is spread.

        Source: kahira2021, the layer costs of its oracle (a connected layer counts a multiply-add
        as one; a pooling without the factor of its filters that the program multiplies by).
        """
        if self.flop is not None:
            return self.flop
        area = self.window.area(len(self.picture.sides))
        channels, result = self.picture.channels / self.groups, self.result
        return {
            LayerKind.CONVOLUTION: 2.0 * channels * result.channels * area * result.pixels,
            LayerKind.CONNECTED: self.picture.values * result.values,
            LayerKind.POOLING: float(self.picture.channels * area * result.pixels),
            LayerKind.NORM: 4.0 * self.picture.values,
            LayerKind.ACTIVATION: result.values,
            LayerKind.ADDITION: result.values,
        }.get(self.kind, 0.0)

    @property
    def operator(self) -> Operator:
        """What is priced."""
        found = _BUILT[self.kind](self)
        changes: dict[str, object] = {}
        if self.weights is not None or self.kind not in WEIGHTED:
            changes["weights"] = self.weights or 0.0
        if self.kind not in WHOLE:
            dimensions = len(self.picture.sides)
            averaged = self.kind is LayerKind.POOLING and self.result.pixels == 1
            slid = self.window if self.kind in (LayerKind.CONVOLUTION, LayerKind.POOLING) else POINT
            changes["pixels"] = Pixels(
                read=self.picture.sides,
                written=self.result.sides,
                channels=(self.picture.channels, self.result.channels),
                borders=slid.borders(dimensions),
                gradients=slid.gradient_borders(dimensions),
                averaged=averaged,
                returned=self.kind is LayerKind.POOLING and not averaged,
            )
        if self.kept is not None:
            changes["kept"] = Size(values=self.kept)
        if self.flop is not None and found.matrices is None:
            changes |= {"flop": self.flop, "backward_flop": self.flop}
        if self.timed:
            changes |= dict(zip(("seconds", "backward_seconds"), self._seconds(found), strict=True))
        return replace(found, **changes)  # type: ignore[arg-type]

    def _seconds(self, operator: Operator) -> tuple[float, float]:
        """Of both passes; a sum is shared out by FLOP, or by what the passes move."""
        if self.both is None:
            return self.forward or 0.0, self.backward or 0.0
        there, back = operator.flop, operator.backward_flop
        if not operator.matrices:
            there, back = operator.forward.values, operator.backward.values
        forward = self.both * there / (there + back) if there + back else self.both
        return forward, self.both - forward


def _convolution(row: ListedLayer) -> Operator:
    pictures = (row.picture, row.result)
    return operators.convolution(
        row.name, pictures, row.window, groups=row.groups, kept=row.picture.values
    )


def _connected(row: ListedLayer) -> Operator:
    inputs, outputs = round(row.picture.values), round(row.result.values)
    return operators.connection(row.name, inputs, outputs, bias=False)


def _norm(row: ListedLayer) -> Operator:
    return operators.normalisation(row.name, row.picture, kept=row.picture.values)


def _moved(row: ListedLayer) -> Operator:
    """What reads and writes values, forward and, with what is kept, backward.

    A ReLU works in place, and what reads its result keeps that; so it is with sums.
    """
    fused = row.kind in (LayerKind.ACTIVATION, LayerKind.ADDITION)
    reads = 2 if row.kind is LayerKind.ADDITION else 1
    kept = {LayerKind.POOLING: row.picture.values, LayerKind.DROPOUT: row.result.values}
    return operators.pointwise(
        row.name,
        max(row.picture.values, row.result.values),
        read=reads,
        kept=kept.get(row.kind, 0.0),
        family=KernelFamily.FUSIBLE if fused else KernelFamily.PICTURE,
    )


_BUILT = {
    **dict.fromkeys(LayerKind, _moved),
    LayerKind.CONVOLUTION: _convolution,
    LayerKind.CONNECTED: _connected,
    LayerKind.NORM: _norm,
}


def spread(rows: Sequence[ListedLayer], seconds: float) -> tuple[ListedLayer, ...]:
    """The rows with their parts of the seconds that both passes of a sample take.

    By twice what each computes forward, and once for each weight.

    Raises:
        InputError: a row has seconds of its own, or no row computes anything.

    Source: kahira2021, the layer costs of its oracle.
    """
    timed = next((row for row in rows if row.timed), None)
    if timed is not None:
        raise InputError(
            f"layer '{timed.name}' has seconds of its own; leave out those of the whole network."
        )
    costs = [2.0 * row.computes + row.operator.weights for row in rows]
    if not sum(costs):
        raise InputError("no layer computes anything that seconds could be spread by.")
    return tuple(
        replace(row, both=seconds * cost / sum(costs))
        for row, cost in zip(rows, costs, strict=True)
    )


def model_of_layers(name: str, rows: Sequence[ListedLayer]) -> Model:
    """The network of a list.

    Args:
        name: shown to users.
        rows: in the order in which they run; the first reads the samples.
    """
    return Model(
        name=name,
        layers=tuple(_layers(rows)),
        dimensions=len(rows[0].picture.sides),
    )


def _layers(rows: Sequence[ListedLayer]) -> Iterator[Layer]:
    """Rows that stay together, one layer after the other."""
    numbered = enumerate(rows)
    for _, together in groupby(numbered, key=lambda each: each[1].layer or each[0]):
        several = [*together]
        (_, first), (_, last) = several[0], several[-1]
        inputs = first.picture.values if first.inputs is None else first.inputs
        outputs = last.result.values if last.outputs is None else last.outputs
        yield Layer(
            name=first.layer or first.name,
            operators=tuple(
                row.operator if place else replace(row.operator, first=True, channels=0)
                for place, row in several
            ),
            input=inputs,
            output=outputs,
        )
