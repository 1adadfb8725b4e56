"""What every shape asks of its sizes.

The residual stream: what flows from block to block, and the operators that every part needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from foretrain.errors import InputError
from foretrain.workload.operator import Matrices, Operator, Size, Split, matmul

MOST_LAYERS: Final = 10_000
"""The deepest published transformer has 1,000 layers (DeepNet, from memory)."""


def at_least(shape: object, least: float, *names: str) -> None:
    """Refuse a shape one of whose fields is below `least`.

    Raises:
        InputError: names the class, the field and its value.
    """
    for name in names:
        value = getattr(shape, name)
        if not value >= least:
            kind = type(shape).__name__
            raise InputError(f"{kind}.{name} must be at least {least:g}, got {value}.")


class Norm(IntEnum):
    """Weights of a norm for each value of its width."""

    PLAIN = 0
    """Normalised only."""
    SCALE = 1
    """RMS norm, or layer norm without bias."""
    SCALE_AND_SHIFT = 2
    """Layer norm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenStates:
    """The values of one sample between two blocks.

    Attributes:
        tokens: of one sample.
        hidden: width of a token.
        norm: the norms of this stream.
        dropout: whether what is added to the stream (and attention) drops some values.
    """

    tokens: int
    hidden: int
    norm: Norm
    dropout: bool

    @property
    def values(self) -> int:
        """Elements of all tokens."""
        return self.tokens * self.hidden


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """How the tensor axis divides a product. Fields as `Operator`'s."""

    split: Split
    units: int = 0
    unit: str = ""


def norm(name: str, stream: HiddenStates) -> Operator:
    """A norm of the stream, which keeps its input."""
    return Operator(
        name=name,
        weights=stream.hidden * stream.norm,
        forward=Size(values=2 * stream.values),
        backward=Size(values=3 * stream.values),
        kept=Size(values=stream.values),
        sequence=True,
    )


def residual(name: str, stream: HiddenStates) -> Operator:
    """Dropout, where there is one, and the addition to the stream."""
    mask = stream.values if stream.dropout else 0.0
    return Operator(
        name=name,
        forward=Size(values=3 * stream.values, fixed=mask),
        backward=Size(values=(5 if stream.dropout else 3) * stream.values, fixed=mask),
        kept=Size(fixed=mask),
        sequence=True,
    )


def linear(
    name: str, tokens: float, features: tuple[int, int], *, bias: bool, division: Division
) -> Operator:
    """A product with weights of (inputs, outputs) `features`, which keeps its input."""
    inputs, outputs = features
    return matmul(
        name,
        Matrices(rows=tokens, columns=outputs, depth=inputs),
        weights=inputs * outputs + (outputs if bias else 0),
        kept=Size(values=tokens * inputs),
        split=division.split,
        units=division.units,
        unit=division.unit,
    )
