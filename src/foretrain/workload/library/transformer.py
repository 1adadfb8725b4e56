"""Dense decoder transformers: plain or gated, multi-head or grouped-query, tied or not.

Counts of what the backward pass keeps follow korthikanti2022, section 4 (34 bytes per token and
hidden value of one layer in 16 bit, plus 5 per attention score).
"""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import (
    Attention,
    Kind,
    Matrices,
    Operator,
    Size,
    Split,
    matmul,
)

FLASH_BACKWARD_PRODUCTS = 5 / 2
"""Products of the backward pass over those of the forward pass. Source: dao2022, algorithm 4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """The shape of a dense decoder.

    Attributes:
        layers: transformer layers.
        hidden: width of the residual stream.
        feed_forward: width of the feed-forward part (of one branch where it is gated).
        heads: query heads.
        kv_heads: key-value heads; equal to `heads` without grouped queries.
        vocabulary: rows of the embedding, padding included.
        gated: whether the feed-forward part has a second branch that gates the first.
        bias: whether linear layers and norms have biases.
        dropout: whether attention and residual branches use dropout.
        positions: whether positions are learned (a table) rather than rotated.
        tied: whether the head shares the embedding's weights.
        head_width: width of one head; None for hidden / heads.
    """

    layers: int
    hidden: int
    feed_forward: int
    heads: int
    kv_heads: int
    vocabulary: int
    gated: bool = False
    bias: bool = False
    dropout: bool = False
    positions: bool = False
    tied: bool = False
    head_width: int | None = None

    def __post_init__(self) -> None:
        for name in ("layers", "hidden", "feed_forward", "heads", "kv_heads", "vocabulary"):
            if not getattr(self, name) >= 1:
                raise InputError(f"Decoder.{name} must be at least 1, got {getattr(self, name)}.")
        if self.heads % self.kv_heads:
            raise InputError(
                f"Decoder.kv_heads must divide the {self.heads} heads, got {self.kv_heads}."
            )
        if self.head_width is None and self.hidden % self.heads:
            raise InputError(
                f"Decoder.heads must divide the hidden size {self.hidden}, got {self.heads}."
            )

    @property
    def width(self) -> int:
        """Width of one head."""
        return self.head_width or self.hidden // self.heads

    @property
    def query(self) -> int:
        """Width of all query heads together."""
        return self.heads * self.width

    @property
    def keys(self) -> int:
        """Width of all key heads together (the values' is the same)."""
        return self.kv_heads * self.width


def decoder(name: str, shape: Decoder, *, sequence: int, source: str = "") -> Model:
    """The model of a decoder for samples of `sequence` tokens."""
    if not sequence >= 1:
        raise InputError(f"sequence must be at least 1 token, got {sequence}.")
    block = Layer(
        name="block",
        operators=(*_attention(shape, sequence), *_feed_forward(shape, sequence)),
        repeats=shape.layers,
        input=sequence * shape.hidden,
        output=sequence * shape.hidden,
    )
    return Model(
        name=name,
        layers=(_embedding(shape, sequence), block, _head(shape, sequence)),
        tokens=sequence,
        tied=shape.vocabulary * shape.hidden if shape.tied else 0.0,
        source=source,
    )


def _norm(name: str, shape: Decoder, sequence: int) -> Operator:
    values = sequence * shape.hidden
    return Operator(
        name=name,
        kind=Kind.MEMORY,
        weights=shape.hidden * (2 if shape.bias else 1),
        forward=Size(values=2 * values),
        backward=Size(values=3 * values),
        kept=Size(values=values),
        sequence=True,
    )


def _linear(
    name: str,
    shape: Decoder,
    *,
    sequence: int,
    inputs: int,
    outputs: int,
    split: Split,
    units: int,
    unit: str,
) -> Operator:
    return matmul(
        name,
        Matrices(rows=sequence, columns=outputs, depth=inputs),
        weights=inputs * outputs + (outputs if shape.bias else 0),
        kept=Size(values=sequence * inputs),
        split=split,
        units=units,
        unit=unit,
    )


def _residual(name: str, shape: Decoder, sequence: int) -> Operator:
    values = sequence * shape.hidden
    mask = values if shape.dropout else 0.0
    return Operator(
        name=name,
        kind=Kind.MEMORY,
        forward=Size(values=3 * values, fixed=mask),
        backward=Size(values=(5 if shape.dropout else 3) * values, fixed=mask),
        kept=Size(fixed=mask),
        sequence=True,
    )


def _attention(shape: Decoder, sequence: int) -> tuple[Operator, ...]:
    return (
        _norm("attention norm", shape, sequence),
        _linear(
            "query-key-value",
            shape,
            sequence=sequence,
            inputs=shape.hidden,
            outputs=shape.query + 2 * shape.keys,
            split=Split.COLUMNS,
            units=shape.kv_heads,
            unit="key-value heads" if shape.kv_heads != shape.heads else "attention heads",
        ),
        _heads(shape, sequence),
        *_plain_core(shape, sequence),
        _flash_core(shape, sequence),
        _linear(
            "attention output",
            shape,
            sequence=sequence,
            inputs=shape.query,
            outputs=shape.hidden,
            split=Split.DEPTH,
            units=shape.heads,
            unit="attention heads",
        ),
        _residual("attention residual", shape, sequence),
    )


def _heads(shape: Decoder, sequence: int) -> Operator:
    """Queries, keys and values, which any attention core keeps; rotated where not learned."""
    rotated = 0 if shape.positions else 2 * sequence * (shape.query + shape.keys)
    return Operator(
        name="queries, keys, values",
        kind=Kind.MEMORY,
        forward=Size(values=rotated),
        backward=Size(values=rotated),
        kept=Size(values=sequence * (shape.query + 2 * shape.keys)),
        kernels=0 if shape.positions else 1,
        split=Split.HEADS,
    )


def _plain_core(shape: Decoder, sequence: int) -> tuple[Operator, ...]:
    scores = shape.heads * sequence * sequence
    softmax = _core_memory("softmax", moved=(2 * scores, 3 * scores), kept=Size(values=scores))
    dropout = _core_memory(
        "attention dropout",
        moved=(2 * scores, 2 * scores),
        mask=scores,
        kept=Size(values=scores, fixed=scores),
    )
    return (
        _core_product("scores", shape, rows=sequence, columns=sequence, depth=shape.width),
        softmax,
        *([dropout] if shape.dropout else []),
        _core_product("context", shape, rows=sequence, columns=shape.width, depth=sequence),
    )


def _core_memory(
    name: str, *, moved: tuple[float, float], mask: float = 0.0, kept: Size
) -> Operator:
    return Operator(
        name=name,
        kind=Kind.MEMORY,
        forward=Size(values=moved[0], fixed=mask),
        backward=Size(values=moved[1], fixed=mask),
        kept=kept,
        split=Split.HEADS,
        selective=True,
        attention=Attention.PLAIN,
    )


def _core_product(name: str, shape: Decoder, *, rows: int, columns: int, depth: int) -> Operator:
    return matmul(
        name,
        Matrices(rows=rows, columns=columns, depth=depth, batch=shape.heads),
        split=Split.HEADS,
        selective=True,
        attention=Attention.PLAIN,
    )


def _flash_core(shape: Decoder, sequence: int) -> Operator:
    """One fused kernel; it skips the masked half of the scores and keeps one sum per row."""
    values = sequence * (2 * shape.query + 2 * shape.keys)
    flop = 2 * 2.0 * sequence * sequence * shape.query / 2
    return Operator(
        name="flash attention",
        kind=Kind.FUSED_ATTENTION,
        flop=flop,
        backward_flop=FLASH_BACKWARD_PRODUCTS * flop,
        forward=Size(values=values),
        backward=Size(values=2 * values),
        kept=Size(fixed=4 * shape.heads * sequence),
        split=Split.HEADS,
        attention=Attention.FLASH,
    )


def _feed_forward(shape: Decoder, sequence: int) -> tuple[Operator, ...]:
    branches = 2 if shape.gated else 1
    values = sequence * shape.feed_forward
    return (
        _norm("feed-forward norm", shape, sequence),
        _linear(
            "feed-forward in",
            shape,
            sequence=sequence,
            inputs=shape.hidden,
            outputs=branches * shape.feed_forward,
            split=Split.COLUMNS,
            units=shape.feed_forward,
            unit="feed-forward columns",
        ),
        Operator(
            name="activation",
            kind=Kind.MEMORY,
            forward=Size(values=(branches + 1) * values),
            backward=Size(values=(2 * branches + 1) * values),
            kept=Size(values=branches * values),
            split=Split.HEADS,
        ),
        _linear(
            "feed-forward out",
            shape,
            sequence=sequence,
            inputs=shape.feed_forward,
            outputs=shape.hidden,
            split=Split.DEPTH,
            units=shape.feed_forward,
            unit="feed-forward columns",
        ),
        _residual("feed-forward residual", shape, sequence),
    )


def _embedding(shape: Decoder, sequence: int) -> Layer:
    """Lookup of tokens (and positions); the tensor axis divides the vocabulary."""
    values = sequence * shape.hidden
    mask = values if shape.dropout else 0.0
    lookup = Operator(
        name="lookup",
        kind=Kind.MEMORY,
        weights=shape.vocabulary * shape.hidden,
        forward=Size(values=2 * values),
        backward=Size(values=3 * values),
        split=Split.DEPTH,
        units=shape.vocabulary,
        unit="vocabulary rows",
        output=values,
    )
    position = Operator(
        name="positions and dropout",
        kind=Kind.MEMORY,
        weights=values if shape.positions else 0.0,
        forward=Size(values=3 * values, fixed=mask),
        backward=Size(values=2 * values, fixed=mask),
        kept=Size(fixed=mask),
        sequence=True,
    )
    return Layer(
        name="embedding",
        operators=(lookup, position) if shape.positions or shape.dropout else (lookup,),
        input=0.0,
        output=values,
        cuttable=False,
        recomputable=False,
    )


def _head(shape: Decoder, sequence: int) -> Layer:
    """Final norm, logits and the loss in fp32, which keeps its softmax (korthikanti2022, 4.3)."""
    logits = sequence * shape.vocabulary
    loss = Operator(
        name="loss",
        kind=Kind.MEMORY,
        forward=Size(values=logits, fixed=16 * logits),
        backward=Size(values=logits, fixed=12 * logits),
        kept=Size(fixed=4 * logits),
        kernels=4,
        split=Split.HEADS,
    )
    product = matmul(
        "logits",
        Matrices(rows=sequence, columns=shape.vocabulary, depth=shape.hidden),
        weights=shape.vocabulary * shape.hidden,
        kept=Size(values=sequence * shape.hidden),
        split=Split.COLUMNS,
        units=shape.vocabulary,
        unit="vocabulary rows",
    )
    return Layer(
        name="head",
        operators=(_norm("final norm", shape, sequence), product, loss),
        input=sequence * shape.hidden,
        output=0.0,
        cuttable=False,
        recomputable=False,
    )
