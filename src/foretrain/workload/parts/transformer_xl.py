"""Transformer-XL: decoders that also attend to the segment before, by relative positions.

A sample is a segment; as many tokens of the segment before it are kept in every layer and attended
to. Scores are the sum of two products: of queries with keys, and of queries with relative
positions. The positions' keys are made once per micro-batch, which is left out.

Sources: dai2019, sections 3.2 and 3.3; grave2017 (adaptive embedding and softmax).

Transformer-XL as NVIDIA's examples train it on WikiText-103.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Attention, Operator, Size, Split
from foretrain.workload.parts.attention import Core, core
from foretrain.workload.parts.feed_forward import FeedForward, feed_forward
from foretrain.workload.parts.stream import (
    Division,
    HiddenStates,
    Norm,
    at_least,
    linear,
    norm,
    residual,
)

HARMONIC = 0.577
"""Euler's constant: the sum of 1/rank up to n is about log(n) + 0.577."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerXL:
    """The shape of a Transformer-XL.

    Attributes:
        layers: of the decoder.
        hidden: width of the stream.
        heads: that share it.
        feed_forward: width between the two products.
        clusters: words of each cluster of the vocabulary, the commonest first.
        narrowing: how many times narrower the table of each cluster is than the one before.
    """

    layers: int
    hidden: int
    heads: int
    feed_forward: int
    clusters: tuple[int, ...]
    narrowing: int = 1

    def __post_init__(self) -> None:
        at_least(self, 1, "layers", "hidden", "heads", "feed_forward", "narrowing")

    @property
    def widths(self) -> tuple[int, ...]:
        """Width of the table of each cluster."""
        return tuple(self.hidden // self.narrowing**place for place in range(len(self.clusters)))

    @property
    def shares(self) -> tuple[float, ...]:
        """Share of the tokens in each cluster, if words are as frequent as 1 over their rank."""
        ends = [sum(self.clusters[: place + 1]) for place in range(len(self.clusters))]
        upto = [(log(end) + HARMONIC) / (log(ends[-1]) + HARMONIC) for end in ends]
        return tuple(this - before for this, before in zip(upto, [0.0, *upto[:-1]], strict=True))

    def model(self, name: str, sequence: int) -> Model:
        """The model for segments of `sequence` tokens."""
        return transformer_xl(name, self, sequence=sequence)


def transformer_xl(name: str, shape: TransformerXL, *, sequence: int) -> Model:
    """The model of a shape for segments of `sequence` tokens, and as many of the one before."""
    stream = HiddenStates(
        tokens=sequence, hidden=shape.hidden, norm=Norm.SCALE_AND_SHIFT, dropout=True
    )
    head = _head(shape, stream)
    wide = FeedForward(width=shape.feed_forward, bias=True)
    block = Layer(
        name="block",
        operators=(
            norm("attention norm", stream),
            *_attention(shape, stream),
            residual("attention residual", stream),
            norm("feed-forward norm", stream),
            *feed_forward(wide, stream),
            residual("feed-forward residual", stream),
        ),
        repeats=shape.layers,
        input=stream.values,
        output=stream.values,
    )
    return Model(
        name=name,
        layers=(_embedding(shape, stream), block, head),
        tokens=sequence,
        # Weights between a narrow table and the stream are used on both ends, as the tables are.
        tied=sum(size * width for size, width in _tables(shape))
        + (shape.narrowing > 1) * sum(shape.hidden * width for width in shape.widths[1:]),
    )


def _tables(shape: TransformerXL) -> tuple[tuple[int, int], ...]:
    return tuple(zip(shape.clusters, shape.widths, strict=True))


def _embedding(shape: TransformerXL, stream: HiddenStates) -> Layer:
    """Lookup in the table of each cluster, projected to the stream where tables are narrow."""
    hidden, clusters = stream.hidden, zip(_tables(shape), shape.shares, strict=True)
    looked_up = Operator(
        name="lookup",
        weights=sum(size * width for size, width in _tables(shape)),
        forward=Size(values=2 * stream.values),
        backward=Size(values=3 * stream.values),
    )
    projections = [
        _whole(f"projection {place}", share * stream.tokens, (width, hidden))
        for place, ((_, width), share) in enumerate(clusters, start=1)
        if shape.narrowing > 1
    ]
    biases = Operator(
        name="position biases and dropout",
        weights=2 * hidden,
        forward=Size(values=2 * stream.values, fixed=stream.values),
        backward=Size(values=2 * stream.values, fixed=stream.values),
        kept=Size(fixed=stream.values),
    )
    return Layer(
        name="embedding",
        operators=(looked_up, *projections, biases),
        input=0.0,
        output=stream.values,
        cuttable=False,
        recomputable=False,
    )


def _attention(shape: TransformerXL, stream: HiddenStates) -> tuple[Operator, ...]:
    """Queries, keys and values of both segments; no fused kernel adds the positions."""
    hidden, both = stream.hidden, 2 * stream.tokens
    scores, softmax, *context = _core(shape, stream)
    query_key_value = linear(
        "query-key-value", both, (hidden, 3 * hidden), bias=False, division=_heads(shape)
    )
    return (
        replace(query_key_value, kept=Size(values=both * hidden)),
        # Queries, keys and values are kept; the weights make the keys of the positions.
        Operator(
            name="queries, keys, values",
            weights=hidden * hidden,
            kept=Size(values=5 * stream.values),
            kernels=0,
            split=Split.HEADS,
        ),
        scores,
        replace(scores, name="position scores"),
        _shift(shape, stream),
        softmax,
        *context,
        linear(
            "attention output",
            stream.tokens,
            (hidden, hidden),
            bias=False,
            division=_heads(shape, Split.DEPTH),
        ),
    )


def _core(shape: TransformerXL, stream: HiddenStates) -> tuple[Operator, ...]:
    """Scores, softmax and context as kernels of their own, whatever kernel a plan asks for."""
    plain = core(
        Core(
            queries=stream.tokens,
            keys=2 * stream.tokens,
            heads=shape.heads,
            kv_heads=shape.heads,
            key_width=shape.hidden // shape.heads,
            value_width=shape.hidden // shape.heads,
            pairs=0.0,
            dropout=False,
        )
    )
    return tuple(
        replace(each, attention=None) for each in plain if each.attention is Attention.PLAIN
    )


def _shift(shape: TransformerXL, stream: HiddenStates) -> Operator:
    """The relative shift of the positions' scores, and the sum of both kinds of scores."""
    scores = 2 * shape.heads * stream.tokens * stream.tokens
    return Operator(
        name="relative shift",
        forward=Size(values=5 * scores),
        backward=Size(values=4 * scores),
        kernels=3,
        split=Split.HEADS,
        selective=True,
    )


def _heads(shape: TransformerXL, split: Split = Split.COLUMNS) -> Division:
    return Division(split=split, units=shape.heads, unit="attention heads")


def _head(shape: TransformerXL, stream: HiddenStates) -> Layer:
    """Every token has the logits of the first cluster; those of another, where a word is in it."""
    tokens = [stream.tokens, *(share * stream.tokens for share in shape.shares[1:])]
    narrow = enumerate(zip(tokens, shape.widths, strict=True), start=1)
    projections = [
        _whole(f"projection out {place}", rows, (shape.hidden, width))
        for place, (rows, width) in narrow
        if shape.narrowing > 1
    ]
    logits = [
        replace(_whole(f"logits {place}", rows, (width, size)), weights=width * size + size)
        for place, (rows, (size, width)) in enumerate(
            zip(tokens, _tables(shape), strict=True), start=1
        )
    ]
    values = sum(rows * size for rows, size in zip(tokens, shape.clusters, strict=True))
    loss = Operator(
        name="loss",
        forward=Size(values=values, fixed=16 * values),
        backward=Size(values=values, fixed=12 * values),
        kept=Size(fixed=4 * values),
        kernels=4 * len(tokens),
    )
    return Layer(
        name="head",
        operators=(*projections, *logits, loss),
        input=stream.values,
        output=0.0,
        cuttable=False,
        recomputable=False,
    )


def _whole(name: str, tokens: float, features: tuple[int, int]) -> Operator:
    return linear(name, tokens, features, bias=False, division=Division(split=Split.NONE))
