"""Pictures and the windows that slide over them, in any number of dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from foretrain.errors import InputError

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
