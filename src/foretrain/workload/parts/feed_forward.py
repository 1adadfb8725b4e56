"""The feed-forward part of a block: plain or gated."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.workload.operator import Operator, Size, Split
from foretrain.workload.parts.stream import Division, HiddenStates, at_least, linear


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedForward:
    """The shape of a dense feed-forward part.

    Attributes:
        width: between the two products (of one branch where it is gated).
        gated: whether a second branch gates the first.
        bias: whether both products have biases.
    """

    width: int
    gated: bool = False
    bias: bool = False

    def __post_init__(self) -> None:
        at_least(self, 1, "width")

    @property
    def branches(self) -> int:
        """Products that read the input."""
        return 2 if self.gated else 1


def feed_forward(
    shape: FeedForward, stream: HiddenStates, *, prefix: str = "feed-forward"
) -> tuple[Operator, ...]:
    """From the norm (without it) to the residual (without it)."""
    return (
        linear(
            f"{prefix} in",
            stream.tokens,
            (stream.hidden, shape.branches * shape.width),
            bias=shape.bias,
            division=_columns(shape, Split.COLUMNS),
        ),
        activation(
            "activation" if prefix == "feed-forward" else f"{prefix} activation",
            stream.tokens * shape.width,
            branches=shape.branches,
        ),
        linear(
            f"{prefix} out",
            stream.tokens,
            (shape.width, stream.hidden),
            bias=shape.bias,
            division=_columns(shape, Split.DEPTH),
        ),
    )


def activation(name: str, values: float, *, branches: int) -> Operator:
    """What stands between the products: it keeps the values of every branch."""
    return Operator(
        name=name,
        forward=Size(values=(branches + 1) * values),
        backward=Size(values=(2 * branches + 1) * values),
        kept=Size(values=branches * values),
        split=Split.HEADS,
    )


def _columns(shape: FeedForward, split: Split) -> Division:
    return Division(split=split, units=shape.width, unit="feed-forward columns")
