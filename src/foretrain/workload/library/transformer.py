"""Dense decoder transformers: plain or gated, multi-head or grouped-query, tied or not.

Counts of what the backward pass keeps follow korthikanti2022, section 4 (34 bytes per token and
hidden value of one layer in 16 bit, plus 5 per attention score).
"""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.errors import InputError
from foretrain.workload.graph import Model
from foretrain.workload.library.language_model import LanguageModel, language_model
from foretrain.workload.library.parts.attention import Heads
from foretrain.workload.library.parts.block import Block, Run
from foretrain.workload.library.parts.checks import at_least
from foretrain.workload.library.parts.ends import Embedding, LanguageHead
from foretrain.workload.library.parts.feed_forward import FeedForward
from foretrain.workload.library.parts.stream import Norm


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
