"""Pictures, the windows that slide over them, and the operators between pictures.

Pictures and the windows that slide over them, in any number of dimensions.

Operators between pictures: what they compute, move, and keep for the backward pass.

A convolution and a normalisation keep their input. A ReLU works in place: its result is kept by
whatever reads it. Smooth activations keep their input.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from foretrain.errors import InputError
from foretrain.workload.operator import KernelFamily, Matrices, Operator, Size, matmul

Sides = int | tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Feature maps of one sample.

    Attributes:
        channels: maps.
        sides: pixels along each dimension of a map: (height, width) of an image, (frames,) of
            speech, three of a volume.
    """

    channels: int
    sides: tuple[int, ...]

    def __post_init__(self) -> None:
        if not all(size >= 1 for size in (self.channels, *self.sides)):
            raise InputError(
                f"image: {self} is left after the windows before it. Give a larger image."
            )

    def __str__(self) -> str:
        return f"a picture of {' x '.join(map(str, self.sides))} pixels"

    @property
    def pixels(self) -> int:
        """Pixels of one map."""
        return prod(self.sides)

    @property
    def values(self) -> float:
        """Elements of all maps."""
        return float(self.channels * self.pixels)


def square(side: int, *, channels: int = 3) -> Picture:
    """A square picture."""
    return Picture(channels=channels, sides=(side, side))


def cube(side: int, *, channels: int) -> Picture:
    """A volume of equal sides."""
    return Picture(channels=channels, sides=(side, side, side))


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The window of a convolution or pooling; one number stands for all dimensions.

    Attributes:
        size: pixels along each dimension.
        stride: pixels from one position to the next.
        padding: pixels added at each border; None for as many as keep (pixels / stride, rounded
            up) positions, which is also what half a window of padding gives.
        dilation: pixels from one tap of the window to the next.
    """

    size: Sides = 1
    stride: Sides = 1
    padding: Sides | None = None
    dilation: Sides = 1

    def area(self, dimensions: int) -> int:
        """Pixels under the window."""
        return prod(along(self.size, dimensions))

    def over(self, picture: Picture) -> tuple[int, ...]:
        """Positions of the window along each dimension of a picture."""
        dimensions = len(picture.sides)
        stride = along(self.stride, dimensions)
        if self.padding is None:
            return tuple(-(-side // step) for side, step in zip(picture.sides, stride, strict=True))
        padding = along(self.padding, dimensions)
        return tuple(
            (side + 2 * border - width) // step + 1
            for side, border, width, step in zip(
                picture.sides, padding, self.reach(dimensions), stride, strict=True
            )
        )

    def reach(self, dimensions: int) -> tuple[int, ...]:
        """Pixels from the first to the last tap along each dimension, both counted."""
        taps, steps = along(self.size, dimensions), along(self.dilation, dimensions)
        return tuple((size - 1) * step + 1 for size, step in zip(taps, steps, strict=True))

    def borders(self, dimensions: int) -> tuple[tuple[int, int], ...]:
        """Planes of the input beyond the lower and upper edge of a part that its windows reach.

        A window that loses pixels at the borders of the picture (no padding) is taken as centred
        within each part.
        """
        return tuple(
            (before, max(0, reach - stride - before))
            for reach, stride, before in self._edges(dimensions)
        )

    def gradient_borders(self, dimensions: int) -> tuple[tuple[int, int], ...]:
        """Planes of the result's gradient beyond either edge that reach into a part's input."""
        return tuple(
            ((reach - 1 - before) // stride, (before + stride - 1) // stride)
            for reach, stride, before in self._edges(dimensions)
        )

    def _edges(self, dimensions: int) -> Iterator[tuple[int, int, int]]:
        """Reach, stride, and taps before the pixel that a window stands on, per dimension."""
        strides = along(self.stride, dimensions)
        given = along(self.padding or 0, dimensions)
        for reach, stride, padding in zip(self.reach(dimensions), strides, given, strict=True):
            yield reach, stride, padding or max(0, reach - stride + 1) // 2


def along(sides: Sides, dimensions: int) -> tuple[int, ...]:
    """One number for each dimension."""
    return (sides,) * dimensions if isinstance(sides, int) else sides


TAPS = 16
"""Values that one value of an aligned region reads: four points, each between four pixels.

Source: he2017, section 3 (RoIAlign).
"""


def convolution(
    name: str,
    pictures: tuple[Picture, Picture],
    window: Window,
    *,
    groups: int = 1,
    bias: bool = False,
    kept: float = 0.0,
) -> Operator:
    """The convolution that makes the second picture of the first.

    A window over every channel alone is no matrix product: it is limited by memory traffic.
    """
    picture, result = pictures
    area = window.area(len(picture.sides))
    weights = picture.channels * result.channels * area // groups + bias * result.channels
    if groups == picture.channels > 1:
        moved = _depthwise(
            name, pictures, flop=2.0 * area * result.values, weights=weights, kept=kept
        )
        return replace(moved, filters=groups, channels=groups)
    dimensions = len(picture.sides)
    shape = along(window.size, dimensions), along(window.stride, dimensions)
    family = KernelFamily.SQUARE if shape == ((3, 3), (1, 1)) else KernelFamily.CONVOLUTION
    product = matmul(
        name,
        Matrices(
            rows=result.pixels,
            columns=result.channels // groups,
            depth=picture.channels // groups * area,
            batch=float(groups),
            reuse=result.pixels * area / picture.pixels,
        ),
        weights=weights,
        kept=Size(values=kept),
    )
    product = replace(product, window=float(area))
    if groups > 1:
        # Groups are divided as a whole: no member needs partial sums of another.
        return replace(product, family=KernelFamily.GROUPED, filters=groups, channels=groups)
    return replace(product, family=family, filters=result.channels, channels=picture.channels)


def _depthwise(
    name: str, pictures: tuple[Picture, Picture], *, flop: float, weights: float, kept: float
) -> Operator:
    """Its backward pass reads the input and, twice, the gradient of the result."""
    moved = pictures[0].values + pictures[1].values
    return Operator(
        name=name,
        weights=weights,
        flop=flop,
        backward_flop=2.0 * flop,
        forward=Size(values=moved),
        backward=Size(values=2.0 * moved),
        kept=Size(values=kept),
        family=KernelFamily.DEPTHWISE,
        window=flop / (2.0 * pictures[1].values),
    )


def transposed(
    name: str, pictures: tuple[Picture, Picture], window: Window, *, bias: bool, kept: float
) -> Operator:
    """The convolution whose backward pass would make the first picture of the second."""
    picture, result = pictures
    area = window.area(len(picture.sides))
    product = matmul(
        name,
        Matrices(rows=picture.pixels, columns=result.channels * area, depth=picture.channels),
        weights=picture.channels * result.channels * area + bias * result.channels,
        kept=Size(values=kept),
    )
    return replace(product, filters=result.channels, channels=picture.channels)


def connection(
    name: str, inputs: int, outputs: int, *, rows: int = 1, bias: bool = True
) -> Operator:
    """A fully connected layer, which keeps its input."""
    product = matmul(
        name,
        Matrices(rows=rows, columns=outputs, depth=inputs),
        weights=(inputs + bias) * outputs,
        kept=Size(values=rows * inputs),
    )
    return replace(product, filters=outputs, channels=inputs)


def normalisation(name: str, picture: Picture, *, kept: float) -> Operator:
    """Batch, instance or group normalisation: statistics first, so it reads twice."""
    return Operator(
        name=name,
        weights=2 * picture.channels,
        forward=Size(values=3 * picture.values),
        backward=Size(values=5 * picture.values),
        kept=Size(values=kept),
        family=KernelFamily.NORM,
    )


def scaling(name: str, picture: Picture) -> Operator:
    """A frozen normalisation: every channel times a number, plus another; nothing is kept."""
    frozen = pointwise(name, picture.values, read=1, family=KernelFamily.FUSIBLE)
    return replace(
        frozen, backward=frozen.forward, weights=float(2 * picture.channels), trained=0.0
    )


def shift(name: str, picture: Picture) -> Operator:
    """A number added to every pixel of a channel in place; its gradient is a sum of what arrives.

    The number itself belongs to the convolution before it.
    """
    added = pointwise(name, picture.values, read=1, family=KernelFamily.FUSIBLE)
    return replace(added, backward=Size(values=picture.values))


def pointwise(
    name: str,
    values: float,
    *,
    read: int,
    kept: float = 0.0,
    family: KernelFamily = KernelFamily.PICTURE,
) -> Operator:
    """An activation, addition or pooling of `read` inputs."""
    return Operator(
        name=name,
        forward=Size(values=(read + 1) * values),
        backward=Size(values=(read + 2) * values),
        kept=Size(values=kept),
        family=family,
    )


def regions(name: str, values: float) -> Operator:
    """Aligned regions of pictures: gradients are added up where they were read."""
    return Operator(
        name=name,
        forward=Size(values=(TAPS + 1) * values),
        backward=Size(values=(2 * TAPS + 1) * values),
        family=KernelFamily.PICTURE,
    )


def loss(values: float) -> Operator:
    """Softmax or sigmoid of the outputs, and the loss, in fp32, which keeps the probabilities."""
    return Operator(
        name="loss",
        forward=Size(values=values, fixed=16 * values),
        backward=Size(values=values, fixed=12 * values),
        kept=Size(fixed=4 * values),
        kernels=4,
        family=KernelFamily.PICTURE,
    )
