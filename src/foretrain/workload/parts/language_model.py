"""Language models of one stream of tokens: decoders, and encoders such as BERT.

Dense decoder transformers: plain or gated, multi-head or grouped-query, tied or not.

Counts of what the backward pass keeps follow korthikanti2022, section 4 (34 bytes per token and
hidden value of one layer in 16 bit, plus 5 per attention score).
"""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run, block_operators, layer
from foretrain.workload.parts.ends import (
    Embedding,
    LanguageHead,
    embedding_layer,
    head_layer,
    whole,
)
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.stream import HiddenStates, Norm, at_least, norm


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageModel:
    """The shape of a language model.

    Attributes:
        hidden: width of the residual stream.
        embedding: how tokens become vectors.
        runs: layers, in order.
        head: how vectors become logits.
        norm: the norms of the stream.
        dropout: whether residual additions, attention and the embedding use dropout.
        predictions: multi-token prediction: layers after the last one, like it, each of which
            predicts one token further and shares embedding and logits. Source: deepseek2024v3,
            section 2.2.
    """

    hidden: int
    embedding: Embedding
    runs: tuple[Run, ...]
    head: LanguageHead
    norm: Norm = Norm.SCALE
    dropout: bool = False
    predictions: int = 0

    def __post_init__(self) -> None:
        at_least(self, 1, "hidden")
        at_least(self, 0, "predictions")
        if not self.runs:
            raise InputError("LanguageModel.runs needs at least one run of layers.")


def language_model(name: str, shape: LanguageModel, *, sequence: int, source: str = "") -> Model:
    """The model of a shape for samples of `sequence` tokens."""
    if not sequence >= 1:
        raise InputError(f"sequence must be at least 1 token, got {sequence}.")
    stream = HiddenStates(
        tokens=sequence, hidden=shape.hidden, norm=shape.norm, dropout=shape.dropout
    )
    embedding = shape.embedding
    return Model(
        name=name,
        layers=(
            embedding_layer(embedding, stream),
            *(layer(run, stream) for run in shape.runs),
            *_predictions(shape, stream),
            head_layer(shape.head, embedding, stream, predictions=shape.predictions),
        ),
        tokens=sequence,
        tied=embedding.vocabulary * (embedding.width or shape.hidden) if shape.head.tied else 0.0,
        source=source,
        longest=shape.embedding.longest,
    )


def _predictions(shape: LanguageModel, stream: HiddenStates) -> tuple[Layer, ...]:
    """Each reads the layer before and the embedding of the next token; the head has its logits."""
    if not shape.predictions:
        return ()
    both = (2 * stream.hidden, stream.hidden)
    further = Layer(
        name="multi-token prediction",
        operators=(
            norm("norm of the stream", stream),
            norm("norm of the next token", stream),
            whole("projection of both", stream.tokens, both, bias=False),
            *block_operators(shape.runs[-1].blocks[-1], stream),
            norm("prediction norm", stream),
        ),
        repeats=shape.predictions,
        input=stream.values,
        output=stream.values,
        cuttable=False,
    )
    return (further,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """The sizes of a dense decoder, as tables of papers state them.

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
        positions: whether positions are learned (a table as long as a sample) rather than rotated.
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
        at_least(self, 1, "layers", "hidden", "feed_forward", "heads", "kv_heads", "vocabulary")
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
    def composed(self) -> LanguageModel:
        """The same, composed of parts."""
        heads = Heads(
            heads=self.heads,
            kv_heads=self.kv_heads,
            width=self.width,
            bias=self.bias,
            output_bias=self.bias,
            rotary=not self.positions,
        )
        wide = FeedForward(width=self.feed_forward, gated=self.gated, bias=self.bias)
        return LanguageModel(
            hidden=self.hidden,
            embedding=Embedding(
                vocabulary=self.vocabulary,
                positions=0 if self.positions else None,
                follows=self.positions,
            ),
            runs=(Run(blocks=(Block(mixer=heads, feed_forward=wide),), repeats=self.layers),),
            head=LanguageHead(tied=self.tied),
            norm=Norm.SCALE_AND_SHIFT if self.bias else Norm.SCALE,
            dropout=self.dropout,
        )


def decoder(name: str, shape: Decoder, *, sequence: int, source: str = "") -> Model:
    """The model of a dense decoder for samples of `sequence` tokens."""
    return language_model(name, shape.composed, sequence=sequence, source=source)
