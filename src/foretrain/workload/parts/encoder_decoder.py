"""Encoders and decoders: two streams of tokens, by transformers or by recurrent layers.

Encoder-decoder transformers: two streams of tokens, as in translation and T5.

Both streams have the sample's number of tokens, unless the model learns to fill spans in that were
cut out of it (`spans`): then the decoder's has those alone. Their tokens are looked up in the first
layer; the output of the encoder travels with the decoder's stream from stage to stage.

Source: vaswani2017, section 3; raffel2020, section 3.1.4.

Recurrent translation: GNMT, an encoder and a decoder of LSTM layers with attention between them.

Both sides have the sample's number of tokens. The input of a layer meets its weights for all tokens
at once; the products with its own state come one token after another. The first decoder layer asks
the encoder by additive attention, and what it is told is an input of every decoder layer.

Sources: wu2016, section 3; luong2017 (the version that public benchmarks train).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from foretrain.errors import InputError
from foretrain.workload.convolution.speech import recurrent
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Matrices, Operator, Size, matmul
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run, ending, layer, structure
from foretrain.workload.parts.ends import (
    Embedding,
    LanguageHead,
    embedding_layer,
    head_layer,
    lookup,
    whole,
)
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.stream import HiddenStates, Norm, at_least, norm, residual


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """Spans of a text that are cut out, each with a mark in its place, and written behind it.

    Attributes:
        share: of the tokens of a text that are cut out.
        mean: tokens of a span, on average.

    Source: raffel2020, sections 3.1.4 and 3.3.4; xue2021, section 3.2, does the same.
    """

    share: float
    mean: float

    def __post_init__(self) -> None:
        if not (0 < self.share < 1 and self.mean >= 1):
            raise InputError(
                f"Spans: share must be above 0 and below 1, mean at least 1 token, "
                f"got {self.share} and {self.mean}."
            )

    def targets(self, sequence: int) -> int:
        """Tokens that the decoder writes of the longest text of which `sequence` tokens are read.

        Either side has a mark for each span, and one for its end.
        """
        kept = 1.0 - self.share + self.share / self.mean
        text = max(0, int((sequence - 1) / kept) - 2)
        while self._sides(text + 1)[0] <= sequence:
            text += 1
        return self._sides(text)[1]

    def _sides(self, text: int) -> tuple[int, int]:
        """Tokens that are read, and that are written, of a text of so many."""
        cut = round(self.share * text)
        spans = round(cut / self.mean)
        return text - cut + spans + 1, cut + spans + 1


SPANS: Final = Spans(share=0.15, mean=3.0)
"""What T5 is trained with. Source: raffel2020, section 3.3.4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderDecoder:
    """The shape of an encoder and a decoder of one width.

    Attributes:
        hidden: width of both residual streams.
        embedding: one table for both streams; positions, biases and norm once for each.
        encoder: layers of the encoder.
        decoder: layers of the decoder, whose blocks have cross attention.
        head: how vectors become logits; with its norm the encoder ends in one too.
        norm: the norms of both streams.
        dropout: whether residual additions, attention and the embedding use dropout.
        spans: what is cut out of a text and to be written by the decoder; None where both streams
            have as many tokens.
    """

    hidden: int
    embedding: Embedding
    encoder: Run
    decoder: Run
    head: LanguageHead
    norm: Norm = Norm.SCALE
    dropout: bool = False
    spans: Spans | None = None

    def __post_init__(self) -> None:
        at_least(self, 1, "hidden")
        if not all(block.cross for block in self.decoder.blocks):
            raise InputError("EncoderDecoder.decoder: every block needs cross attention.")

    @property
    def structure(self) -> str:
        """Its layers in words."""
        return structure(self.hidden, (self.encoder, self.decoder))

    def model(self, name: str, sequence: int) -> Model:
        """The model for samples of which the encoder reads `sequence` tokens."""
        if not sequence >= 1:
            raise InputError(f"sequence must be at least 1 token, got {sequence}.")
        stream = HiddenStates(
            tokens=sequence, hidden=self.hidden, norm=self.norm, dropout=self.dropout
        )
        written = sequence if self.spans is None else self.spans.targets(sequence)
        decoded = replace(stream, tokens=written)
        # One lookup of both streams, then what each of them adds to its own.
        both = lookup(self.embedding, replace(stream, tokens=sequence + written))
        ends = embedding_layer(self.embedding, stream)
        added = tuple(
            replace(each, name=f"{side} {each.name}")
            for side, its in (("encoder", stream), ("decoder", decoded))
            for each in embedding_layer(self.embedding, its).operators[1:]
        )
        norms = (norm("encoder norm", stream),)
        return Model(
            name=name,
            layers=(
                replace(ends, operators=(both, *added)),
                *(
                    ending(self.encoder, stream, norms)
                    if self.head.norm
                    else [layer(self.encoder, stream)]
                ),
                layer(self.decoder, decoded, memory=sequence),
                head_layer(self.head, self.embedding, decoded),
            ),
            tokens=sequence,
            tied=self.embedding.vocabulary * self.hidden if self.head.tied else 0.0,
            longest=self.embedding.longest,
        )


def encoder_decoder(
    *,
    layers: int,
    hidden: int,
    heads: int,
    feed_forward: int,
    vocabulary: int,
    decoder: tuple[int, int, int] | None = None,
    head_width: int | None = None,
    gated: bool = False,
    attention_bias: bool = False,
    feed_forward_bias: bool = False,
    layer_norm: bool = False,
    distances: int = 0,
    positions: int | None = None,
    first: int = 0,
    embedding_norm: bool = False,
    final_norm: bool = True,
    tied: bool = True,
    dropout: bool = True,
    spans: Spans | None = None,
) -> EncoderDecoder:
    """An encoder-decoder of some sizes.

    Args:
        layers: of each side.
        hidden: width of both streams.
        heads: of attention.
        feed_forward: width of that part.
        vocabulary: rows of the embedding.
        decoder: layers, heads and feed-forward width of the decoder; None for the encoder's.
        head_width: of one head; None for hidden / heads.
        gated: whether the feed-forward part is gated.
        attention_bias: whether the products of attention have biases.
        feed_forward_bias: whether those of the feed-forward part have.
        layer_norm: whether norms shift besides scaling.
        distances: that a head's tables of relative positions tell apart, all tables of a stream
            together.
        positions: rows of a learned table of positions; None without.
        first: row of a sample's first token in that table.
        embedding_norm: whether a norm follows the embedding.
        final_norm: whether a norm ends each side.
        tied: whether the embedding's table makes the logits.
        dropout: whether it is trained with dropout.
        spans: what is cut out of a text and to be written; None where both streams are as long.
    """

    def block(heads: int, feed_forward: int, *, decodes: bool) -> Block:
        attention = Heads(
            heads=heads,
            kv_heads=heads,
            width=head_width or hidden // heads,
            bias=attention_bias,
            output_bias=attention_bias,
            rotary=False,
            causal=decodes,
        )
        wide = FeedForward(width=feed_forward, gated=gated, bias=feed_forward_bias)
        crossing = replace(attention, causal=False) if decodes else None
        return Block(mixer=attention, cross=crossing, feed_forward=wide)

    depth, *widths = decoder or (layers, heads, feed_forward)
    return EncoderDecoder(
        hidden=hidden,
        embedding=Embedding(
            vocabulary=vocabulary,
            positions=positions,
            first=first,
            norm=embedding_norm,
            biases=distances * heads,
        ),
        encoder=Run(
            blocks=(block(heads, feed_forward, decodes=False),),
            repeats=layers,
            name="encoder block",
        ),
        decoder=Run(blocks=(block(*widths, decodes=True),), repeats=depth, name="decoder block"),
        head=LanguageHead(norm=final_norm, tied=tied),
        norm=Norm.SCALE_AND_SHIFT if layer_norm else Norm.SCALE,
        dropout=dropout,
        spans=spans,
    )


GATES = 4
"""Of an LSTM: input, forget, output and the new content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentTranslation:
    """The shape of a recurrent encoder and decoder of one width.

    Attributes:
        layers: of each side; the first of the encoder reads in both directions.
        hidden: width of embedding and layers.
        vocabulary: rows of the embedding, which both sides share.
    """

    layers: int
    hidden: int
    vocabulary: int

    def __post_init__(self) -> None:
        at_least(self, 1, "hidden", "vocabulary")
        at_least(self, 2, "layers")

    def model(self, name: str, sequence: int) -> Model:
        """The model for samples of `sequence` tokens on each side."""
        if not sequence >= 1:
            raise InputError(f"sequence must be at least 1 token, got {sequence}.")
        return recurrent_translation(name, self, tokens=sequence)


def recurrent_translation(name: str, shape: RecurrentTranslation, *, tokens: int) -> Model:
    """The model of a shape for samples of so many tokens on each side.

    Tokens of a sample are those of both sides, as trainers of recurrent translation count them.
    """
    stream = HiddenStates(tokens=tokens, hidden=shape.hidden, norm=Norm.PLAIN, dropout=True)
    both = HiddenStates(tokens=2 * tokens, hidden=shape.hidden, norm=Norm.PLAIN, dropout=True)
    embedding = Embedding(vocabulary=shape.vocabulary)
    hidden, values = shape.hidden, float(both.values)
    encoder = (
        _layer("bidirectional encoder layer", _lstm(stream, hidden, directions=2), values),
        _layer("joining encoder layer", _lstm(stream, 2 * hidden), values),
        _layer("encoder layer", _lstm(stream, hidden), values, repeats=shape.layers - 2),
    )
    first = (*_lstm(stream, 2 * hidden), *_attention(stream))
    decoder = (
        _layer("asking decoder layer", first, values),
        _layer("decoder layer", _lstm(stream, 2 * hidden), values, repeats=shape.layers - 1),
    )
    return Model(
        name=name,
        layers=(
            Layer(
                name="embedding",
                operators=(lookup(embedding, both),),
                input=0.0,
                output=values,
                cuttable=False,
                recomputable=False,
            ),
            *(each for each in (*encoder, *decoder) if each.repeats),
            head_layer(LanguageHead(norm=False, bias=True), embedding, stream),
        ),
        tokens=2 * tokens,
    )


def _layer(name: str, operators: tuple[Operator, ...], values: float, *, repeats: int = 1) -> Layer:
    """A layer of one side; what both sides know travels with it."""
    return Layer(name=name, operators=operators, repeats=repeats, input=values, output=values)


def _lstm(stream: HiddenStates, inputs: int, *, directions: int = 1) -> tuple[Operator, ...]:
    """The gates of all tokens from below, then those of each token from the one before."""
    gates = directions * GATES * stream.hidden
    return (
        whole("inputs", stream.tokens, (inputs, gates), bias=True),
        recurrent(
            "recurrence", stream.tokens, hidden=stream.hidden, gates=GATES, directions=directions
        ),
        residual("dropout and residual", stream),
    )


def _attention(stream: HiddenStates) -> Iterator[Operator]:
    """Scores v tanh(query + key), a value of the width for every pair, and the mean of keys."""
    tokens, hidden = stream.tokens, stream.hidden
    square = (hidden, hidden)
    yield whole("query", tokens, square, bias=False)
    yield whole("keys", tokens, square, bias=False)
    pairs = float(tokens * tokens)
    yield Operator(
        name="additive scores",
        weights=2 * hidden,
        forward=Size(values=3 * pairs * hidden),
        backward=Size(values=4 * pairs * hidden),
        kept=Size(values=pairs * hidden),
        kernels=4,
    )
    yield matmul(
        "context",
        Matrices(rows=tokens, columns=hidden, depth=tokens),
        weights=0.0,
        kept=Size(values=pairs + stream.values),
    )
