"""Language models of one stream of tokens: decoders, and encoders such as BERT."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.library.parts.block import Run, block_operators, layer
from foretrain.workload.library.parts.checks import at_least
from foretrain.workload.library.parts.ends import (
    Embedding,
    LanguageHead,
    embedding_layer,
    head_layer,
    whole,
)
from foretrain.workload.library.parts.stream import Norm, Stream, norm


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
    stream = Stream(tokens=sequence, hidden=shape.hidden, norm=shape.norm, dropout=shape.dropout)
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


def _predictions(shape: LanguageModel, stream: Stream) -> tuple[Layer, ...]:
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
