"""Blocks: operators with the pictures on both sides; sections of them are a model's layers.

A network written down from input to output: every call adds one operator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.workload.convolution import operators
from foretrain.workload.convolution.operators import Picture, Window, along
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import KernelFamily, Operator, Pixels, Size
from foretrain.workload.trainable import forward_only


@dataclass(frozen=True, slots=True, kw_only=True)
class TrunkOperator:
    """One operator and the pictures on both sides of it.

    Attributes:
        operator: what is priced.
        picture: what it reads.
        result: what it writes.
        window: of a convolution or pooling; None for operators without.
        groups: groups of channels that a convolution keeps apart.
    """

    operator: Operator
    picture: Picture
    result: Picture
    window: Window | None = None
    groups: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Blocks that stay together on one pipeline stage.

    Attributes:
        name: shown to users.
        blocks: in the order in which they run.
        repeats: how many such sections follow one another.
        input: values per sample that the section reads, skip connections past it included.
        output: values per sample that it hands on, skip connections past it included.
        cuttable: whether a pipeline can be cut before and after it.
        frozen: whether it is not trained, nor anything before it.
    """

    name: str
    blocks: tuple[TrunkOperator, ...]
    repeats: int
    input: float
    output: float
    cuttable: bool
    frozen: bool = False

    @property
    def layer(self) -> Layer:
        """The section without its pictures."""
        layer = Layer(
            name=self.name,
            operators=tuple(block.operator for block in self.blocks),
            repeats=self.repeats,
            input=self.input,
            output=self.output,
            cuttable=self.cuttable,
            recomputable=self.cuttable,
        )
        return forward_only(layer) if self.frozen else layer


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvolutionalNetwork:
    """Sections in order.

    Attributes:
        sections: in the order in which they run.
    """

    sections: tuple[Section, ...]

    def model(self, name: str, *, tokens: int = 1) -> Model:
        """The network as the layers that are priced; `tokens` of a sample of speech or text."""
        read = self.sections[0].blocks[0].picture
        return Model(
            name=name,
            layers=tuple(part.layer for part in self.sections),
            tokens=tokens,
            dimensions=sum(side > 1 for side in read.sides),
        )


POINT = Window()
"""The window of a 1 x 1 convolution."""


class Trunk:
    """Follows one picture through a network and writes down the blocks that it passes.

    What several operators read is kept for the backward pass once, by the first of them. The
    result of a ReLU, which works in place, is owed to it: whoever reads the result keeps it.
    """

    def __init__(self, picture: Picture, *, frozen_norms: bool = False) -> None:
        self.picture = picture
        self._frozen_norms = frozen_norms
        self._blocks: list[TrunkOperator] = []
        self._sections: list[Section] = []
        self._start = picture.values
        self._skips: list[Picture] = []
        self._kept = False
        self._owed = False

    def convolve(
        self,
        name: str,
        channels: int,
        *,
        window: Window = POINT,
        groups: int = 1,
        bias: bool = False,
        shared: bool = False,
    ) -> None:
        """A convolution; `shared` if its weights are those of another one, which counts them."""
        result = Picture(channels=channels, sides=window.over(self.picture))
        operator = operators.convolution(
            name, (self.picture, result), window, groups=groups, bias=bias, kept=self._keep()
        )
        if not (self._sections or self._blocks):
            # A sample has too few channels to divide, and needs no gradient.
            operator = replace(operator, first=True, channels=0)
        if shared:
            operator = replace(operator, weights=0.0)
        self._append(operator, result, window=window, groups=groups)
        self._shift(name, bias=bias)

    def enlarge(self, name: str, channels: int, *, factor: int = 2, bias: bool = True) -> None:
        """A transposed convolution whose window is its stride."""
        window = Window(size=factor, stride=factor)
        sides = tuple(factor * side for side in self.picture.sides)
        result = Picture(channels=channels, sides=sides)
        operator = operators.transposed(
            name, (self.picture, result), window, bias=bias, kept=self._keep()
        )
        self._append(operator, result, window=window)
        self._shift(name, bias=bias)

    def _shift(self, name: str, *, bias: bool) -> None:
        """A bias, added in place by a kernel of its own where nothing fuses it."""
        if bias and self.picture.pixels > 1:
            self._append(operators.shift(f"{name} bias", self.picture), self.picture)

    def normalise(self, name: str) -> None:
        """A normalisation with a scale and a shift per channel, or these alone if it is frozen."""
        if self._frozen_norms:
            self._append(operators.scaling(name, self.picture), self.picture)
            return
        operator = operators.normalisation(name, self.picture, kept=self._keep())
        self._append(operator, self.picture)

    def activate(self, name: str, *, smooth: bool = False) -> None:
        """A ReLU in place, or a smooth activation, which keeps its input."""
        kept = self._keep() if smooth else 0.0
        operator = operators.pointwise(
            name, self.picture.values, read=1, kept=kept, family=KernelFamily.FUSIBLE
        )
        self._append(operator, self.picture)
        self._owed = not smooth

    def unit(
        self,
        name: str,
        channels: int,
        *,
        window: Window = POINT,
        groups: int = 1,
        smooth: bool = False,
    ) -> None:
        """A convolution without bias, its normalisation and activation."""
        self.convolve(name, channels, window=window, groups=groups)
        self.normalise(f"{name} norm")
        self.activate(f"{name} activation", smooth=smooth)

    def pool(self, name: str, window: Window, *, average: bool = False) -> None:
        """The largest value under each window, or the average, which keeps nothing."""
        result = Picture(channels=self.picture.channels, sides=window.over(self.picture))
        kept = 0.0 if average else self._keep()
        operator = operators.pointwise(name, self.picture.values, read=1, kept=kept)
        self._append(operator, result, window=window, returned=not average)

    def average(self, name: str, *, sides: int = 1) -> None:
        """The average of each channel's pixels, down to a few of them."""
        dimensions = len(self.picture.sides)
        result = Picture(channels=self.picture.channels, sides=along(sides, dimensions))
        pooled = operators.pointwise(name, self.picture.values, read=1)
        # A pass that reads, and one that writes: what is averaged hardly counts.
        once = Size(values=self.picture.values)
        self._append(replace(pooled, forward=once, backward=once), result, averaged=sides == 1)

    def connect(self, name: str, features: int, *, bias: bool = True) -> None:
        """A fully connected layer over all values of the picture, flattened."""
        inputs = round(self.picture.values)
        result = Picture(channels=features, sides=along(1, len(self.picture.sides)))
        self.append(operators.connection(name, inputs, features, bias=bias), result)

    def view(self, picture: Picture) -> None:
        """The same values as a picture of other sides."""
        assert picture.values == self.picture.values
        self.picture = picture

    def squeeze(self, name: str, channels: int, *, smooth: bool = False) -> None:
        """Squeeze and excitation: channels scaled by what two small layers make of their means."""
        gate = self.fork()
        gate.average(f"{name} means")
        gate.convolve(f"{name} in", channels, bias=True)
        gate.activate(f"{name} activation", smooth=smooth)
        gate.convolve(f"{name} out", self.picture.channels, bias=True)
        kept = self._keep() + self.picture.channels
        scale = operators.pointwise(f"{name} scale", self.picture.values, read=1, kept=kept)
        # Gradients: of pixels, their sum with that of the means, and of the scales, whose products
        # are written before they are added up.
        backward = Size(values=9.0 * self.picture.values)
        self._append(replace(scale, backward=backward), self.picture)

    def fork(self) -> Trunk:
        """Another branch from this picture, which the trunk's next convolution keeps for both."""
        return self.at(self.picture)

    def at(self, picture: Picture, *, kept: bool = True) -> Trunk:
        """A branch from a picture that was made before, and whether somebody keeps that already."""
        branch = Trunk(picture, frozen_norms=self._frozen_norms)
        branch._sections = self._sections
        branch._blocks = self._blocks
        branch._kept = kept
        return branch

    def add(self, name: str, *, read: int = 2) -> None:
        """The sum with other branches, and its activation if it has one, in one kernel."""
        operator = operators.pointwise(
            name, self.picture.values, read=read, family=KernelFamily.FUSIBLE
        )
        self._append(operator, self.picture)

    def join(self, name: str, *others: Trunk) -> None:
        """The channels of all branches, copied side by side.

        The copy is not what the activations at the end of branches need: those are kept here.
        """
        parts = (self, *others)
        channels = sum(part.picture.channels for part in parts)
        result = Picture(channels=channels, sides=self.picture.sides)
        kept = sum(part.picture.values for part in parts if part._owed)
        self._append(operators.pointwise(name, result.values, read=1, kept=kept), result)

    def append(
        self, operator: Operator, result: Picture | None = None, *, by_pixel: bool = False
    ) -> None:
        """Any other operator, which needs the whole of what it reads, or works `by_pixel`."""
        if by_pixel:
            self._append(operator, result or self.picture)
        else:
            self._write(operator, result or self.picture)

    def skip(self) -> None:
        """Carry this picture past the sections to come, until `take`."""
        self._skips.append(self.picture)

    def take(self) -> Picture:
        """The picture that was carried last."""
        return self._skips.pop()

    def drop(self) -> None:
        """Carry no picture any further."""
        self._skips.clear()

    def section(
        self, name: str, *, repeats: int = 1, cuttable: bool = True, frozen: bool = False
    ) -> None:
        """Close a section: what was written down since the last one, which may repeat."""
        output = self.picture.values + sum(picture.values for picture in self._skips)
        self._close(name, output, repeats=repeats, cuttable=cuttable, frozen=frozen)

    def classify(self, classes: int) -> ConvolutionalNetwork:
        """Average, one fully connected layer, and the network is complete."""
        self.average("average pooling")
        self.connect("classes", classes)
        return self.finish("classifier", cuttable=False)

    def finish(self, name: str, *, cuttable: bool = True) -> ConvolutionalNetwork:
        """Close the last section, which hands nothing on."""
        self._close(name, 0.0, repeats=1, cuttable=cuttable)
        return ConvolutionalNetwork(sections=tuple(self._sections))

    def _close(
        self, name: str, output: float, *, repeats: int, cuttable: bool, frozen: bool = False
    ) -> None:
        section = Section(
            name=name,
            blocks=tuple(self._blocks),
            repeats=repeats,
            input=self._start,
            output=output,
            cuttable=cuttable,
            frozen=frozen,
        )
        self._sections.append(section)
        self._blocks.clear()
        self._start = output

    def _keep(self) -> float:
        """Values to keep of the current picture: all, or none if somebody keeps it already."""
        kept = 0.0 if self._kept else self.picture.values
        self._kept = True
        return kept

    def _append(
        self,
        operator: Operator,
        result: Picture,
        *,
        window: Window | None = None,
        groups: int = 1,
        averaged: bool = False,
        returned: bool = False,
    ) -> None:
        """An operator that knows its pixels, of which a device may have a part."""
        dimensions = len(self.picture.sides)
        slid = window or POINT
        pixels = Pixels(
            read=self.picture.sides,
            written=result.sides,
            channels=(self.picture.channels, result.channels),
            borders=slid.borders(dimensions),
            gradients=slid.gradient_borders(dimensions),
            averaged=averaged,
            returned=returned,
        )
        self._write(replace(operator, pixels=pixels), result, window=window, groups=groups)

    def _write(
        self,
        operator: Operator,
        result: Picture,
        *,
        window: Window | None = None,
        groups: int = 1,
    ) -> None:
        block = TrunkOperator(
            operator=operator, picture=self.picture, result=result, window=window, groups=groups
        )
        self._blocks.append(block)
        self.picture, self._kept, self._owed = result, False, False
