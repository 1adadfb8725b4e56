"""The ends of a language model: the embedding of tokens, and the logits with their loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from foretrain.errors import InputError
from foretrain.workload.graph import Layer
from foretrain.workload.operator import Operator, Size, Split
from foretrain.workload.parts.feed_forward import activation
from foretrain.workload.parts.stream import Division, HiddenStates, at_least, linear, norm


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """How tokens become vectors.

    Attributes:
        vocabulary: rows of the table, padding included.
        positions: rows of a learned table of positions; None without a table.
        first: row of a sample's first token; those before it are for padding.
        follows: whether the table is made as long as a longer sample, as trainers do that take its
            length from their own configuration.
        types: rows of a table of token types.
        norm: whether a norm follows.
        width: of a row, projected to the stream's; None for the stream's.
        projection_bias: whether that projection has biases.
        biases: numbers in tables of relative positions.
    """

    vocabulary: int
    positions: int | None = None
    first: int = 0
    follows: bool = False
    types: int = 0
    norm: bool = False
    width: int | None = None
    projection_bias: bool = False
    biases: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, "vocabulary")
        at_least(self, 0, "types", "biases", "first")

    @property
    def longest(self) -> int | None:
        """Tokens of the longest sample that has a position for each; None for any number."""
        if self.positions is None or self.follows:
            return None
        return self.positions - self.first


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageHead:
    """How vectors become logits.

    Attributes:
        norm: whether a norm of the stream comes first.
        transform: whether a product, an activation and a norm come before the logits.
        bias: whether logits have biases.
        tied: whether the embedding's table makes the logits.
        predicted: share of the tokens that have logits.
        pooler: classes told from the first token, by a product, an activation and a second
            product; 0 without.
    """

    norm: bool = True
    transform: bool = False
    bias: bool = False
    tied: bool = False
    predicted: float = 1.0
    pooler: int = 0

    def __post_init__(self) -> None:
        at_least(self, 0, "pooler")
        if not 0 < self.predicted <= 1:
            raise InputError(
                f"LanguageHead.predicted must be above 0 and at most 1, got {self.predicted}."
            )


def embedding_layer(shape: Embedding, stream: HiddenStates) -> Layer:
    """Lookup of tokens (and positions); the tensor axis divides the vocabulary."""
    projection = []
    if shape.width is not None:
        features = (shape.width, stream.hidden)
        projection = [whole("projection", stream.tokens, features, bias=shape.projection_bias)]
    return Layer(
        name="embedding",
        operators=(
            lookup(shape, stream),
            *projection,
            *_positions(shape, stream),
            *([norm("embedding norm", stream)] if shape.norm else []),
        ),
        input=0.0,
        output=stream.values,
        cuttable=False,
        recomputable=False,
    )


def head_layer(
    shape: LanguageHead, embedding: Embedding, stream: HiddenStates, *, predictions: int = 0
) -> Layer:
    """Logits and their loss.

    Args:
        shape: what stands between the stream and the logits.
        embedding: whose vocabulary the logits have.
        stream: what the last block hands on.
        predictions: further streams, as long, whose logits the same table makes.
    """
    tokens = ceil(stream.tokens * shape.predicted)
    told = replace(stream, tokens=tokens)
    more = replace(told, tokens=tokens * (1 + predictions))
    pooler = []
    if shape.pooler:
        # Two products on the first token of a sample.
        hidden = stream.hidden
        pooler = [
            whole("pooler", 1, (hidden, hidden), bias=True),
            whole("pooled classes", 1, (hidden, shape.pooler), bias=True),
        ]
    return Layer(
        name="head",
        operators=(
            *([norm("final norm", stream)] if shape.norm else []),
            *pooler,
            *_transform(shape, embedding, told),
            *logits(shape, embedding, more),
        ),
        input=stream.values,
        output=0.0,
        cuttable=False,
        recomputable=False,
    )


def logits(shape: LanguageHead, embedding: Embedding, stream: HiddenStates) -> tuple[Operator, ...]:
    """The product with the table in 16 bits, and the loss in fp32, which keeps its softmax.

    Sources: korthikanti2022, section 4.3; deepseek2024v3, section 3.3.1 (which products of a model
    stay wide).
    """
    values = stream.tokens * embedding.vocabulary
    width = embedding.width or stream.hidden
    product = linear(
        "logits",
        stream.tokens,
        (width, embedding.vocabulary),
        bias=shape.bias,
        division=Division(split=Split.COLUMNS, units=embedding.vocabulary, unit="vocabulary rows"),
    )
    loss = Operator(
        name="loss",
        forward=Size(values=values, fixed=16 * values),
        backward=Size(values=values, fixed=12 * values),
        kept=Size(fixed=4 * values),
        kernels=4,
        split=Split.HEADS,
    )
    return replace(product, wide=True), loss


def lookup(shape: Embedding, stream: HiddenStates) -> Operator:
    """Rows of the table; each member of the tensor axis adds those that it has."""
    width = shape.width or stream.hidden
    values = stream.tokens * width
    return Operator(
        name="lookup",
        weights=shape.vocabulary * width,
        forward=Size(values=2 * values),
        backward=Size(values=3 * values),
        # Beside itself, what hands a batch over: cut, shifted, masked, with positions.
        kernels=3,
        split=Split.DEPTH,
        units=shape.vocabulary,
        unit="vocabulary rows",
        output=values,
    )


def whole(name: str, tokens: int, features: tuple[int, int], *, bias: bool) -> Operator:
    """A product that every member of the tensor axis has whole, on its part of the tokens."""
    product = linear(name, tokens, features, bias=bias, division=Division(split=Split.NONE))
    return replace(product, sequence=tokens > 1)


def _positions(shape: Embedding, stream: HiddenStates) -> tuple[Operator, ...]:
    """Tables of positions and types added, and dropout."""
    rows = shape.types
    if shape.positions is not None:
        rows += max(shape.positions, stream.tokens)
    if not (rows or shape.biases or stream.dropout):
        return ()
    mask = stream.values if stream.dropout else 0.0
    added = Operator(
        name="positions and dropout",
        weights=rows * stream.hidden + shape.biases,
        forward=Size(values=3 * stream.values, fixed=mask),
        backward=Size(values=2 * stream.values, fixed=mask),
        kept=Size(fixed=mask),
        sequence=True,
    )
    return (added,)


def _transform(
    shape: LanguageHead, embedding: Embedding, stream: HiddenStates
) -> tuple[Operator, ...]:
    """What stands between the stream and the logits, which also brings it to the table's width."""
    width = embedding.width or stream.hidden
    features = (stream.hidden, width)
    if shape.transform:
        inner = replace(stream, hidden=width)
        between = activation("transform activation", inner.values, branches=1)
        return (
            whole("transform", stream.tokens, features, bias=True),
            replace(between, split=Split.NONE, sequence=True),
            norm("transform norm", inner),
        )
    if embedding.width is None:
        return ()
    bias = embedding.projection_bias
    return (whole("projection out", stream.tokens, features, bias=bias),)
