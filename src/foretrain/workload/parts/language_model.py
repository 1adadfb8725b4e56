"""Language models of one stream of tokens: decoders, and encoders such as BERT.

`Decoder` has the sizes of any decoder, as tables of papers and configurations state them: plain or
gated, multi-head or grouped-query, dense or of experts, with or without state-space layers. The
library and the reader of configurations both say them; `composed` is the one place that builds.

Counts of what the backward pass keeps follow korthikanti2022, section 4 (34 bytes per token and
hidden value of one layer in 16 bit, plus 5 per attention score).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.parts.attention import Heads, SlidingWindow
from foretrain.workload.parts.block import (
    Arrangement,
    Block,
    Run,
    block_operators,
    layer,
    structure,
)
from foretrain.workload.parts.ends import (
    Embedding,
    LanguageHead,
    embedding_layer,
    head_layer,
    whole,
)
from foretrain.workload.parts.feed_forward import Experts, FeedForward
from foretrain.workload.parts.mixers import Latent, StateSpace
from foretrain.workload.parts.stream import MOST_LAYERS, HiddenStates, Norm, at_least, norm


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

    def model(self, name: str, sequence: int) -> Model:
        """The model for samples of `sequence` tokens."""
        return language_model(name, self, sequence=sequence)

    @property
    def structure(self) -> str:
        """Its layers in words."""
        return structure(self.hidden, self.runs)


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
            *([_prediction(shape, stream)] if shape.predictions else []),
            head_layer(shape.head, embedding, stream, predictions=shape.predictions),
        ),
        tokens=sequence,
        tied=embedding.vocabulary * (embedding.width or shape.hidden) if shape.head.tied else 0.0,
        source=source,
        longest=shape.embedding.longest,
    )


def _prediction(shape: LanguageModel, stream: HiddenStates) -> Layer:
    """Each reads the layer before and the embedding of the next token; the head has its logits."""
    both = (2 * stream.hidden, stream.hidden)
    return Layer(
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


DENSE, SPARSE = "D", "S"
LAYERS = {
    DENSE: "dense block",
    SPARSE: "block",
    "M": "state-space block",
    "*": "attention block",
    "-": "feed-forward block",
    "E": "expert block",
}
"""Letters of `Decoder.pattern`, and what such layers are called among others.

Source: blakeman2025 (M, *, - and E, as Nemotron-H writes them); D and S are our own.
"""

MANY_RUNS = 8
"""Runs above which a pattern that repeats is read as layers of several blocks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """The sizes of a decoder, as tables of papers state them.

    Attributes:
        layers: of the whole model.
        hidden: width of the residual stream.
        feed_forward: width of the dense feed-forward part (of one branch where it is gated); None
            where no layer has one.
        heads: query heads.
        kv_heads: key-value heads; equal to `heads` without grouped queries.
        vocabulary: rows of the embedding, padding included.
        gated: whether the feed-forward part has a second branch that gates the first.
        bias: whether linear layers and norms have biases, but for what the next four say.
        attention_bias: whether queries, keys and values have biases.
        output_bias: whether the product after attention has; None for as the queries.
        feed_forward_bias: whether the feed-forward part has.
        layer_norm: whether norms shift besides scaling.
        dropout: whether attention and residual branches use dropout.
        positions: rows of a learned table of positions, 0 for as many as a sample has tokens; None
            where positions are rotated (or added to the scores).
        first: row of a sample's first token in that table.
        follows: whether that table is made as long as a longer sample.
        rotary: whether positions are rotated where they are not learned.
        tied: whether the head shares the embedding's weights.
        head_width: width of one head; None for hidden / heads.
        embedding_norm: whether a norm follows the embedding.
        embedding_width: width of a row that is projected to the stream's; None for the stream's.
        final_norm: whether a norm precedes the logits.
        head_bias: whether logits have biases.
        arrangement: how the parts of a layer meet the stream.
        query_norms: whether each query and each key is normalised.
        scaled: whether rotations carry a temperature.
        sinks: whether each head has a learned score that attends to nothing.
        window: tokens that a sliding window sees; None without.
        windowed: layers with that window; None for all.
        key_rank: width of the vector that keys and values are expanded from, in latent attention;
            None for plain heads. The fields of `Latent` are the next four.
        query_rank: as there.
        plain_width: as there.
        rotary_width: as there.
        value_width: as there.
        experts: what takes the place of the feed-forward part in layers of experts.
        dense_layers: first layers without experts.
        state_space: what layers M of `pattern` have.
        pattern: what each layer is, a letter each: D attention and a feed-forward part, S attention
            and experts; one part alone: M state space, * attention, - feed-forward, E experts.
            Empty for dense layers first and those of experts after them.
        predictions: layers of multi-token prediction.
    """

    layers: int
    hidden: int
    feed_forward: int | None = None
    heads: int
    kv_heads: int | None = None
    vocabulary: int
    gated: bool = False
    bias: bool = False
    attention_bias: bool | None = None
    output_bias: bool | None = None
    feed_forward_bias: bool | None = None
    layer_norm: bool | None = None
    dropout: bool = False
    positions: int | None = None
    first: int = 0
    follows: bool = False
    rotary: bool = True
    tied: bool = False
    head_width: int | None = None
    embedding_norm: bool = False
    embedding_width: int | None = None
    final_norm: bool = True
    head_bias: bool = False
    arrangement: Arrangement = Arrangement.SERIAL
    query_norms: bool = False
    scaled: bool = False
    sinks: bool = False
    window: int | None = None
    windowed: int | None = None
    key_rank: int | None = None
    query_rank: int | None = None
    plain_width: int = 0
    rotary_width: int = 0
    value_width: int = 0
    experts: Experts | None = None
    dense_layers: int = 0
    state_space: StateSpace | None = None
    pattern: str = ""
    predictions: int = 0

    def __post_init__(self) -> None:
        stated = [name for name in ("feed_forward", "kv_heads") if getattr(self, name) is not None]
        at_least(self, 1, "layers", "hidden", "heads", "vocabulary", *stated)
        if self.layers > MOST_LAYERS:
            raise InputError(f"Decoder.layers may be {MOST_LAYERS:,} at most, got {self.layers:,}.")
        if self.heads % (self.kv_heads or self.heads):
            raise InputError(
                f"Decoder.kv_heads must divide the {self.heads} heads, got {self.kv_heads}."
            )
        if self.head_width is None and self.key_rank is None and self.hidden % self.heads:
            raise InputError(
                f"Decoder.heads must divide the hidden size {self.hidden}, got {self.heads}."
            )
        if len(self.letters) != self.layers or not set(self.letters) <= set(LAYERS):
            raise InputError(
                f"Decoder.pattern must have a letter of {' '.join(LAYERS)} for each of the "
                f"{self.layers} layers, got '{self.letters}'."
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
    def letters(self) -> str:
        """What each layer is, in the letters of `pattern`."""
        dense = self.dense_layers if self.experts else self.layers
        return self.pattern or DENSE * dense + SPARSE * (self.layers - dense)

    @property
    def composed(self) -> LanguageModel:
        """The same, composed of parts."""
        return LanguageModel(
            hidden=self.hidden,
            embedding=Embedding(
                vocabulary=self.vocabulary,
                positions=self.positions,
                first=self.first,
                follows=self.follows or self.positions == 0,
                norm=self.embedding_norm,
                width=self.embedding_width,
            ),
            runs=self._runs(),
            head=LanguageHead(norm=self.final_norm, bias=self.head_bias, tied=self.tied),
            norm=Norm.SCALE_AND_SHIFT if self._or_bias(self.layer_norm) else Norm.SCALE,
            dropout=self.dropout,
            predictions=self.predictions,
        )

    @property
    def structure(self) -> str:
        """Its layers in words."""
        return self.composed.structure

    def model(self, name: str, sequence: int) -> Model:
        """The model for samples of `sequence` tokens."""
        return self.composed.model(name, sequence)

    def _or_bias(self, stated: bool | None) -> bool:
        return self.bias if stated is None else stated

    def _runs(self) -> tuple[Run, ...]:
        """Layers in order: equal neighbours folded, patterns that repeat as layers of blocks."""
        blocks = {letter: self._block(letter) for letter in dict.fromkeys(self.letters)}
        folded = [(letter, len(list(same))) for letter, same in groupby(self.letters)]
        period = next(
            each
            for each in range(1, self.layers + 1)
            if self.layers % each == 0 and self.letters[each:] == self.letters[:-each]
        )
        if len(folded) > MANY_RUNS and period < self.layers:
            repeated = tuple(blocks[letter] for letter in self.letters[:period])
            return (Run(blocks=repeated, repeats=self.layers // period),)
        alone = len(folded) == 1
        return tuple(
            Run(blocks=(blocks[letter],), repeats=count, name="block" if alone else LAYERS[letter])
            for letter, count in folded
        )

    def _block(self, letter: str) -> Block:
        """A layer of one kind."""
        part = None
        if letter in (DENSE, "-") and self.feed_forward is not None:
            bias = self._or_bias(self.feed_forward_bias)
            part = FeedForward(width=self.feed_forward, gated=self.gated, bias=bias)
        return Block(
            mixer=self.state_space if letter == "M" else self._mixer(letter),
            feed_forward=self.experts if letter in (SPARSE, "E") else part,
            arrangement=self.arrangement,
        )

    def _mixer(self, letter: str) -> Heads | Latent | None:
        """What lets the tokens of a layer with attention meet."""
        if letter not in (DENSE, SPARSE, "*"):
            return None
        if self.key_rank is not None:
            return Latent(
                heads=self.heads,
                query_rank=self.query_rank,
                key_rank=self.key_rank,
                plain=self.plain_width,
                rotary=self.rotary_width,
                value=self.value_width,
            )
        bias = self._or_bias(self.attention_bias)
        share = 1.0 if self.windowed is None else self.windowed / self.layers
        window = None
        if self.window is not None and share > 0:
            window = SlidingWindow(tokens=self.window, share=share)
        return Heads(
            heads=self.heads,
            kv_heads=self.kv_heads or self.heads,
            width=self.width,
            bias=bias,
            output_bias=bias if self.output_bias is None else self.output_bias,
            rotary=self.rotary and self.positions is None,
            scaled=self.scaled,
            norms=self.query_norms,
            sinks=self.sinks,
            window=window,
        )


def decoder(name: str, shape: Decoder, *, sequence: int, source: str = "") -> Model:
    """The model of a decoder for samples of `sequence` tokens."""
    return language_model(name, shape.composed, sequence=sequence, source=source)
