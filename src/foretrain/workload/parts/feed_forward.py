"""Feed-forward parts: one for all tokens, or experts that a router chooses.

The feed-forward part of a block: plain or gated.

Mixture of experts: a router sends every token to a few of many feed-forward parts.

The products of all experts are one operator, whose rows are the tokens of one of them. The weights
of the router are multiplied in before the second product, so that combining keeps nothing.
Selective recomputation runs the activation between the products again.

Sources: shazeer2017, section 2; fedus2022 (capacity); deepseek2024, section 2.2 (shared experts);
deepseek2024v3, section 3.2.3 (recomputation).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from foretrain.errors import InputError
from foretrain.workload.operator import NOTHING, Matrices, Operator, Reach, Size, Split, matmul
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterLimit:
    """Groups of experts, and of how many of them a token may choose its experts.

    Attributes:
        groups: equal parts of all experts, neighbours each.
        most: of these that a token may reach.

    Source: deepseek2024v3, section 2.1.2 (node-limited routing).
    """

    groups: int = 1
    most: int = 1


ANYWHERE = RouterLimit()
"""Experts that are chosen from all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experts:
    """The shape of a feed-forward part made of experts.

    Attributes:
        count: routed experts.
        chosen: experts that a token is sent to.
        each: the shape of one routed expert.
        shared: a part that every token passes besides, as wide as all shared experts together.
        shared_gate: whether a learned number per token weighs the shared part.
        router_bias: whether the router has one more number per expert.
        latent: width that tokens are brought to before they are sent, and back from afterwards;
            None for the stream's.
        capacity: room of an expert over its mean number of tokens; what overflows is dropped and
            the rest is padding. None drops no token.
        imbalance: tokens of the busiest member of the expert axis over the mean, where no token is
            dropped.
        groups: equal parts of the experts, neighbours each, in some of which a token looks for its
            own; 1 where it looks in all.
        most: groups in which it looks.
        clamped: whether both branches of a gated expert are clamped before one gates the other.
    """

    count: int
    chosen: int
    each: FeedForward
    shared: FeedForward | None = None
    shared_gate: bool = False
    router_bias: bool = False
    latent: int | None = None
    capacity: float | None = None
    imbalance: float = 1.0
    groups: int = field(default=1, metadata={"if_set": True})
    most: int = field(default=1, metadata={"if_set": True})
    clamped: bool = False

    def __post_init__(self) -> None:
        at_least(self, 1, "count", "chosen", "imbalance")
        if self.latent is not None:
            at_least(self, 1, "latent")
        if self.chosen > self.count:
            raise InputError(
                f"Experts.chosen must be at most the {self.count} experts, got {self.chosen}."
            )
        if not (1 <= self.most <= self.groups and self.count % self.groups == 0):
            raise InputError(
                f"Experts.groups must divide the {self.count} experts and hold Experts.most of "
                f"them, got {self.groups} groups of which a token reaches {self.most}."
            )
        if self.capacity is not None and not self.capacity > 0:
            raise InputError(f"Experts.capacity must be above 0, got {self.capacity}.")
        if self.capacity is not None and self.imbalance != 1:
            raise InputError(
                "expert_imbalance has no meaning beside expert_capacity, which every expert "
                "fills; give one of them."
            )
        if self.clamped and not self.each.gated:
            raise InputError("Experts.clamped needs gated experts: give Experts.each.gated.")
        if self.shared_gate and self.shared is None:
            raise InputError("Experts.shared_gate needs a shared part: give Experts.shared.")

    def copies(self, tokens: int) -> float:
        """Tokens that all experts together work on, padding included."""
        return tokens * self.chosen * (1.0 if self.capacity is None else self.capacity)


def experts(shape: Experts, stream: HiddenStates) -> tuple[Operator, ...]:
    """From the norm (without it) to the residual (without it)."""
    sent = replace(stream, hidden=shape.latent or stream.hidden)
    copies = shape.copies(stream.tokens)
    gating = activation(
        "expert activation", copies * shape.each.width, branches=shape.each.branches
    )
    shared = []
    if shape.shared is not None:
        # The router keeps what shared experts read.
        first, *others = feed_forward(shape.shared, stream, prefix="shared expert")
        gate = [_shared_gate(stream)] if shape.shared_gate else []
        shared = [replace(first, kept=NOTHING), *others, *gate]
    return (
        *_router(shape, stream),
        *shared,
        *([replace(_whole("latent down", stream, sent), kept=NOTHING)] if shape.latent else []),
        _exchange("dispatch", shape, sent, kernels=5),
        _product("experts in", shape, sent, split=Split.COLUMNS),
        *([_clamps(shape, copies)] if shape.clamped else []),
        replace(
            gating,
            experts=shape.count,
            imbalance=shape.imbalance,
            selective=True,
            dropped=shape.clamped,
        ),
        _product("experts out", shape, sent, split=Split.DEPTH),
        *([_bias(shape, copies * sent.hidden)] if shape.each.bias else []),
        _exchange("combine", shape, sent, kernels=3),
        *([_whole("latent up", sent, stream)] if shape.latent else []),
    )


def _whole(name: str, before: HiddenStates, after: HiddenStates) -> Operator:
    """A product from one width to another, on the tokens that a member has."""
    features = (before.hidden, after.hidden)
    return replace(
        linear(name, before.tokens, features, bias=False, division=Division(split=Split.NONE)),
        sequence=True,
    )


def _router(shape: Experts, stream: HiddenStates) -> tuple[Operator, ...]:
    """Scores in fp32, of which the best are chosen; every member of the tensor axis does it.

    The input is kept at the precision of activations, however narrow other products read it.
    """
    scores = stream.tokens * shape.count
    product = linear(
        "router",
        stream.tokens,
        (stream.hidden, shape.count),
        bias=shape.router_bias,
        division=Division(split=Split.NONE),
    )
    choice = Operator(
        name="choice of experts",
        forward=Size(fixed=3 * 4 * scores),
        backward=Size(fixed=3 * 4 * scores),
        kept=Size(values=stream.values, fixed=4 * scores),
        kernels=8,
        sequence=True,
    )
    return replace(product, sequence=True, wide=True, kept=NOTHING), choice


def _shared_gate(stream: HiddenStates) -> Operator:
    """A learned number per token weighs the shared part."""
    return Operator(
        name="shared expert gate",
        weights=stream.hidden,
        forward=Size(values=3 * stream.values),
        backward=Size(values=5 * stream.values),
        kept=Size(values=stream.values),
        sequence=True,
    )


def _bias(shape: Experts, values: float) -> Operator:
    """Biases of the second product, weighed by the router in fp32 before they are added.

    Forward a product, a sum, a copy of all experts' rows and a cast; backward their gradients,
    those of the bias and of the weight, and the rows of all experts joined again. Source:
    megatron-core, grouped experts (from memory).
    """
    return Operator(
        name="expert bias",
        forward=Size(values=2 * values, fixed=6 * 4 * values),
        backward=Size(values=4 * values, fixed=8 * 4 * values),
        kernels=4,
        experts=shape.count,
        imbalance=shape.imbalance,
        reach=Reach.STRETCHED,
    )


def _clamps(shape: Experts, copies: float) -> Operator:
    """Both branches clamped, each by itself, and joined again for the kernel that gates.

    Backward each reads its gradient and what it clamped, and both are joined.
    Source: megatron-core, weighted quick GeGLU (from memory).
    """
    values = shape.each.branches * copies * shape.each.width
    return Operator(
        name="expert clamps",
        forward=Size(values=4 * values),
        backward=Size(values=5 * values),
        kept=Size(values=values),
        kernels=3,
        split=Split.HEADS,
        selective=True,
        experts=shape.count,
        imbalance=shape.imbalance,
        reach=Reach.STRETCHED,
    )


def _exchange(name: str, shape: Experts, stream: HiddenStates, *, kernels: int) -> Operator:
    """Tokens sorted by expert, and back; the expert axis exchanges them.

    Kernels count what goes where, send, receive and sort. Source: deepep, its README.
    """
    values = shape.copies(stream.tokens) * stream.hidden
    return Operator(
        name=name,
        forward=Size(values=2 * values),
        backward=Size(values=2 * values),
        kernels=kernels,
        sequence=True,
        imbalance=shape.imbalance,
        routed=values,
        copies=shape.chosen,
        groups=shape.groups,
        most=shape.most,
    )


def _product(name: str, shape: Experts, stream: HiddenStates, *, split: Split) -> Operator:
    """The first or second product of every expert, one independent product each."""
    each, copies = shape.each, shape.copies(stream.tokens)
    into = split is Split.COLUMNS
    inputs = stream.hidden if into else each.width
    outputs = each.branches * each.width if into else stream.hidden
    product = matmul(
        name,
        Matrices(rows=copies / shape.count, columns=outputs, depth=inputs, batch=shape.count),
        weights=shape.count * (inputs * outputs + (outputs if each.bias else 0)),
        kept=Size(values=copies * inputs),
        split=split,
        units=each.width,
        unit="expert columns",
    )
    return replace(
        product, experts=shape.count, imbalance=shape.imbalance, dropped=split is Split.DEPTH
    )
