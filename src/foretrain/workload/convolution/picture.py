"""Pictures and the windows that slide over them, in any number of dimensions."""

from __future__ import annotations

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
    """

    size: Sides = 1
    stride: Sides = 1
    padding: Sides | None = None

    def area(self, dimensions: int) -> int:
        """Pixels under the window."""
        return prod(along(self.size, dimensions))

    def over(self, picture: Picture) -> tuple[int, ...]:
        """Positions of the window along each dimension of a picture."""
        dimensions = len(picture.sides)
        size, stride = along(self.size, dimensions), along(self.stride, dimensions)
        if self.padding is None:
            return tuple(-(-side // step) for side, step in zip(picture.sides, stride, strict=True))
        padding = along(self.padding, dimensions)
        return tuple(
            (side + 2 * border - width) // step + 1
            for side, border, width, step in zip(picture.sides, padding, size, stride, strict=True)
        )


def along(sides: Sides, dimensions: int) -> tuple[int, ...]:
    """One number for each dimension."""
    return (sides,) * dimensions if isinstance(sides, int) else sides
