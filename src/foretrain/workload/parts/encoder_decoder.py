"""Encoder-decoder transformers: two streams of tokens, as in translation and T5.

Both streams have the sample's number of tokens. Their tokens are looked up in the first layer; the
output of the encoder travels with the decoder's stream from stage to stage.

Source: vaswani2017, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.parts.block import Run, layer
from foretrain.workload.parts.ends import (
    Embedding,
    LanguageHead,
    embedding_layer,
    head_layer,
    lookup,
)
from foretrain.workload.parts.stream import HiddenStates, Norm, at_least, norm


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
    """

    hidden: int
    embedding: Embedding
    encoder: Run
    decoder: Run
    head: LanguageHead
    norm: Norm = Norm.SCALE
    dropout: bool = False

    def __post_init__(self) -> None:
        at_least(self, 1, "hidden")
        if not all(block.cross for block in self.decoder.blocks):
            raise InputError("EncoderDecoder.decoder: every block needs cross attention.")


def encoder_decoder(name: str, shape: EncoderDecoder, *, sequence: int, source: str = "") -> Model:
    """The model of a shape for samples of `sequence` tokens in each stream."""
    if not sequence >= 1:
        raise InputError(f"sequence must be at least 1 token, got {sequence}.")
    stream = HiddenStates(
        tokens=sequence, hidden=shape.hidden, norm=shape.norm, dropout=shape.dropout
    )
    return Model(
        name=name,
        layers=(
            _embedding(shape, stream),
            *_encoder(shape, stream),
            layer(shape.decoder, stream, memory=sequence),
            head_layer(shape.head, shape.embedding, stream),
        ),
        tokens=sequence,
        tied=shape.embedding.vocabulary * shape.hidden if shape.head.tied else 0.0,
        source=source,
        longest=shape.embedding.longest,
    )


def _embedding(shape: EncoderDecoder, stream: HiddenStates) -> Layer:
    """One lookup of both streams, then what each of them adds to its own."""
    whole = embedding_layer(shape.embedding, stream)
    both = replace(stream, tokens=2 * stream.tokens)
    added = whole.operators[1:]
    return replace(
        whole,
        operators=(
            lookup(shape.embedding, both),
            *(replace(each, name=f"encoder {each.name}") for each in added),
            *(replace(each, name=f"decoder {each.name}") for each in added),
        ),
    )


def _encoder(shape: EncoderDecoder, stream: HiddenStates) -> tuple[Layer, ...]:
    """The encoder's layers; where it ends in a norm, its last layer is of a kind of its own."""
    run = shape.encoder
    if not shape.head.norm:
        return (layer(run, stream),)
    last = layer(replace(run, repeats=1, name=f"last {run.name}"), stream)
    last = replace(last, operators=(*last.operators, norm("encoder norm", stream)))
    before = run.repeats - 1
    return (*([layer(replace(run, repeats=before), stream)] if before else []), last)
