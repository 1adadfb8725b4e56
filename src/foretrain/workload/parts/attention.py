"""The core of attention: scores, softmax and context, as four kernels or as a fused one.

The plain kernels compute every score and mask afterwards, and model FLOP are counted that way
(chowdhery2022, appendix B); the fused kernel computes only what causality and windows leave.

Multi-head attention: grouped or multi-query, windowed, normed, causal or not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.errors import InputError
from foretrain.workload.operator import (
    NOTHING,
    Attention,
    Matrices,
    Operator,
    OperatorKind,
    Reach,
    Size,
    Split,
    matmul,
)
from foretrain.workload.parts.stream import Division, HiddenStates, at_least, linear

HEADS = "attention heads"
"""What the tensor axis divides."""

FLASH_BACKWARD_PRODUCTS = 5 / 2
"""Products of the backward pass over those of the forward pass. Source: dao2022, algorithm 4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """Queries that meet keys, in one sample.

    Attributes:
        queries: tokens that ask.
        keys: tokens that are asked.
        heads: query heads.
        kv_heads: heads of keys and values.
        key_width: of one query or key.
        value_width: of one value.
        pairs: pairs of a query and a key that no mask hides, for one head.
        dropout: whether some of the weights are dropped.
        prefix: of the operators' names.
    """

    queries: int
    keys: int
    heads: int
    kv_heads: int
    key_width: int
    value_width: int
    pairs: float
    dropout: bool
    prefix: str = ""

    @property
    def both_widths(self) -> int:
        """Of a query and an output, or of a key and a value."""
        return self.key_width + self.value_width


def core(shape: Core) -> tuple[Operator, ...]:
    """The operators of both kernels; a plan has those of one."""
    scores = shape.heads * shape.queries * shape.keys
    softmax = _moving(
        f"{shape.prefix}softmax", moved=(2 * scores, 3 * scores), kept=Size(values=scores)
    )
    dropout = _moving(
        f"{shape.prefix}attention dropout",
        moved=(2 * scores, 2 * scores),
        mask=scores,
        kept=Size(values=scores, fixed=scores),
    )
    # One fused kernel; it skips what is masked and keeps one sum per row.
    ends = shape.queries * shape.heads + shape.keys * shape.kv_heads
    flop = 2.0 * shape.pairs * shape.heads * shape.both_widths
    flash = Operator(
        name=f"{shape.prefix}flash attention",
        kind=OperatorKind.FUSED_ATTENTION,
        flop=flop,
        backward_flop=FLASH_BACKWARD_PRODUCTS * flop,
        exponentials=shape.pairs * shape.heads,
        forward=Size(values=ends * shape.both_widths),
        backward=Size(values=2 * ends * shape.both_widths),
        kept=Size(fixed=4 * shape.heads * shape.queries),
        split=Split.HEADS,
        attention=Attention.FLASH,
    )
    return (
        _product("scores", shape, columns=shape.keys, depth=shape.key_width),
        softmax,
        *([dropout] if shape.dropout else []),
        _product("context", shape, columns=shape.value_width, depth=shape.keys),
        flash,
    )


def _moving(name: str, *, moved: tuple[float, float], mask: float = 0.0, kept: Size) -> Operator:
    return Operator(
        name=name,
        forward=Size(values=moved[0], fixed=mask),
        backward=Size(values=moved[1], fixed=mask),
        kept=kept,
        split=Split.HEADS,
        selective=True,
        dropped=True,
        attention=Attention.PLAIN,
    )


def _product(name: str, shape: Core, *, columns: int, depth: int) -> Operator:
    return matmul(
        f"{shape.prefix}{name}",
        Matrices(rows=shape.queries, columns=columns, depth=depth, batch=shape.heads),
        split=Split.HEADS,
        selective=True,
        attention=Attention.PLAIN,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindow:
    """Sliding-window attention, in some of a run of layers.

    Layers with and without a window differ in nothing but the pairs that a fused kernel computes,
    so a run of both is one kind of layer that computes their mean.

    Attributes:
        tokens: that a query sees, its own included.
        share: of the layers that have the window (1/2 where they alternate).
    """

    tokens: int
    share: float = 1.0

    def __post_init__(self) -> None:
        at_least(self, 1, "tokens")
        if not 0 < self.share <= 1:
            raise InputError(
                f"SlidingWindow.share must be above 0 and at most 1, got {self.share}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """The shape of multi-head attention.

    Attributes:
        heads: query heads.
        kv_heads: key-value heads: `heads` without grouped queries, 1 for multi-query attention.
        width: of one head.
        bias: whether the products to queries, keys and values have biases.
        output_bias: whether the product after the core has one.
        rotary: whether positions are rotations of queries and keys.
        scaled: whether rotations carry a temperature (YaRN), which fused kernels do not know.
        norms: whether each query and each key is normalised (one weight per value of a head).
        sinks: whether each head has a learned score that attends to nothing.
        causal: whether a token sees only those before it.
        window: sliding windows; None where every token is seen.
    """

    heads: int
    kv_heads: int
    width: int
    bias: bool = False
    output_bias: bool = False
    rotary: bool = True
    scaled: bool = False
    norms: bool = False
    sinks: bool = False
    causal: bool = True
    window: SlidingWindow | None = None

    def __post_init__(self) -> None:
        at_least(self, 1, "heads", "kv_heads", "width")
        if self.heads % self.kv_heads:
            raise InputError(
                f"Heads.kv_heads must divide the {self.heads} heads, got {self.kv_heads}."
            )

    @property
    def query(self) -> int:
        """Width of all query heads together."""
        return self.heads * self.width

    @property
    def keys(self) -> int:
        """Width of all key heads together (the values' is the same)."""
        return self.kv_heads * self.width

    def pairs(self, tokens: int) -> float:
        """Pairs of a query and a key that no mask hides, the mean over the layers of a run."""
        if self.window is None:
            return _seen(tokens, tokens, causal=self.causal)
        windowed = _seen(tokens, self.window.tokens, causal=self.causal)
        whole = _seen(tokens, tokens, causal=self.causal)
        return self.window.share * windowed + (1 - self.window.share) * whole


def attention(shape: Heads, stream: HiddenStates) -> tuple[Operator, ...]:
    """Self-attention: every operator from the norm (without it) to the residual (without it)."""
    if shape.kv_heads > 1 or shape.heads == 1:
        inputs = [
            linear(
                "query-key-value",
                stream.tokens,
                (stream.hidden, shape.query + 2 * shape.keys),
                bias=shape.bias,
                division=_key_heads(shape),
            )
        ]
    else:
        # Two products where only the queries are divided.
        inputs = [*_query_and_keys(shape, stream, stream.tokens)]
    if shape.norms:
        # Norms of queries and keys, whose few weights every member has; counted as if divided.
        values = stream.tokens * (shape.query + shape.keys)
        inputs.append(
            Operator(
                name="query and key norms",
                weights=2 * shape.width,
                forward=Size(values=2 * values),
                backward=Size(values=3 * values),
                kept=Size(values=values),
                kernels=2,
                split=Split.HEADS,
            )
        )
    return (
        *inputs,
        _kept_heads(shape, stream),
        *core(_core(shape, stream)),
        _output(shape, stream),
    )


def cross_attention(shape: Heads, stream: HiddenStates, *, memory: int) -> tuple[Operator, ...]:
    """Attention of a decoder's tokens to `memory` tokens of an encoder of the same width.

    The encoder's output is kept once for all layers and left out here.
    """
    return (
        *_query_and_keys(shape, stream, memory, prefix="cross "),
        _kept_heads(shape, stream, memory=memory, name="cross queries, keys, values"),
        *core(_core(shape, stream, memory=memory, prefix="cross ")),
        _output(shape, stream, name="cross output"),
    )


def _seen(tokens: int, window: int, *, causal: bool) -> float:
    width = min(window, tokens)
    return width * tokens - width * width / 2 if causal else width * tokens


def _query_heads(shape: Heads, split: Split) -> Division:
    return Division(split=split, units=shape.heads, unit=HEADS)


def _key_heads(shape: Heads) -> Division:
    """Members of the tensor axis share the heads; the one of multi-query attention each has."""
    if shape.kv_heads == shape.heads:
        return _query_heads(shape, Split.COLUMNS)
    if shape.kv_heads == 1:
        return Division(split=Split.NONE)
    return Division(split=Split.COLUMNS, units=shape.kv_heads, unit="key-value heads")


def _query_and_keys(
    shape: Heads, stream: HiddenStates, memory: int, *, prefix: str = ""
) -> tuple[Operator, Operator]:
    """A product to queries, and one of `memory` tokens, kept elsewhere, to keys and values."""
    query = linear(
        f"{prefix}query",
        stream.tokens,
        (stream.hidden, shape.query),
        bias=shape.bias,
        division=_query_heads(shape, Split.COLUMNS),
    )
    keys = linear(
        f"{prefix}key-value",
        memory,
        (stream.hidden, 2 * shape.keys),
        bias=shape.bias,
        division=_key_heads(shape),
    )
    return query, replace(keys, kept=NOTHING)


def _kept_heads(
    shape: Heads,
    stream: HiddenStates,
    *,
    memory: int | None = None,
    name: str = "queries, keys, values",
) -> Operator:
    """Queries, keys and values, which any attention core keeps; rotated where not learned.

    One kernel rotates; with a temperature, queries and keys are each multiplied by cosines, turned
    (negated and joined), multiplied by sines, added and joined: 12 values moved for one, backward
    10. Source: megatron-core, rotary embeddings (from memory).
    """
    tokens = stream.tokens
    keys = tokens if memory is None else memory
    turned = (tokens * shape.query + keys * shape.keys) * shape.rotary
    forward, backward, kernels = (12, 10, 12) if shape.scaled else (2, 2, 1)
    heads = _key_heads(shape) if shape.kv_heads > 1 else _query_heads(shape, Split.HEADS)
    return Operator(
        name=name,
        weights=shape.heads if shape.sinks else 0,
        forward=Size(values=forward * turned),
        backward=Size(values=backward * turned),
        kept=Size(values=tokens * shape.query + 2 * keys * shape.keys),
        kernels=kernels * shape.rotary,
        reach=Reach.STRETCHED if shape.scaled else Reach.WHOLE,
        split=Split.HEADS,
        units=heads.units,
        unit=heads.unit,
        keys=2 * keys * shape.keys,
        queries=2 * tokens * shape.query,
    )


def _core(
    shape: Heads, stream: HiddenStates, *, memory: int | None = None, prefix: str = ""
) -> Core:
    return Core(
        queries=stream.tokens,
        keys=stream.tokens if memory is None else memory,
        heads=shape.heads,
        kv_heads=shape.kv_heads,
        key_width=shape.width,
        value_width=shape.width,
        pairs=shape.pairs(stream.tokens) if memory is None else float(stream.tokens * memory),
        dropout=stream.dropout,
        prefix=prefix,
    )


def _output(shape: Heads, stream: HiddenStates, *, name: str = "attention output") -> Operator:
    """The product after the core, whose backward pass needs its output too."""
    product = linear(
        name,
        stream.tokens,
        (shape.query, stream.hidden),
        bias=shape.output_bias,
        division=_query_heads(shape, Split.DEPTH),
    )
    return replace(product, shared_input=True)
