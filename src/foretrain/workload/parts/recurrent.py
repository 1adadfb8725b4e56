"""Recurrent translation: GNMT, an encoder and a decoder of LSTM layers with attention between them.

Both sides have the sample's number of tokens. The input of a layer meets its weights for all tokens
at once; the products with its own state come one token after another. The first decoder layer asks
the encoder by additive attention, and what it is told is an input of every decoder layer.

Sources: wu2016, section 3; luong2017 (the version that public benchmarks train).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from foretrain.errors import InputError
from foretrain.workload.convolution.speech import recurrent
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Matrices, Operator, Size, matmul
from foretrain.workload.parts.ends import Embedding, LanguageHead, head_layer, lookup, whole
from foretrain.workload.parts.stream import HiddenStates, Norm, at_least, residual

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
