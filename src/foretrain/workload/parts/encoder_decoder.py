"""Encoder-decoder transformers: two streams of tokens, as in translation and T5.

Both streams have the sample's number of tokens, unless the model learns to fill spans in that were
cut out of it (`spans`): then the decoder's has those alone. Their tokens are looked up in the first
layer; the output of the encoder travels with the decoder's stream from stage to stage.

Source: vaswani2017, section 3; raffel2020, section 3.1.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from foretrain.errors import InputError
from foretrain.workload.graph import Model
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run, ending, layer, structure
from foretrain.workload.parts.ends import (
    Embedding,
    LanguageHead,
    embedding_layer,
    head_layer,
    lookup,
)
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.stream import HiddenStates, Norm, at_least, norm


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
