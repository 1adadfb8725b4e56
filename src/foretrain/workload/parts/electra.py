"""ELECTRA: a small generator fills masked tokens in, a discriminator tells which it replaced.

Both are trained at once and share the embedding. The generator stands first; its logits belong to
its last layer.

Source: clark2020, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Split
from foretrain.workload.parts.block import Run, layer
from foretrain.workload.parts.ends import (
    Embedding,
    LanguageHead,
    embedding_layer,
    head_layer,
    whole,
)
from foretrain.workload.parts.feed_forward import activation
from foretrain.workload.parts.stream import HiddenStates, Norm, at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class Electra:
    """The shape of a generator and a discriminator.

    Attributes:
        embedding: shared; as wide as the discriminator.
        generator: layers of the generator.
        generator_hidden: its width.
        discriminator: layers of the discriminator.
        hidden: its width.
        masked: share of the tokens that the generator fills in.
    """

    embedding: Embedding
    generator: Run
    generator_hidden: int
    discriminator: Run
    hidden: int
    masked: float

    def __post_init__(self) -> None:
        at_least(self, 1, "generator_hidden", "hidden")


def electra(name: str, shape: Electra, *, sequence: int, source: str = "") -> Model:
    """The model of a shape for samples of `sequence` tokens."""
    if not sequence >= 1:
        raise InputError(f"sequence must be at least 1 token, got {sequence}.")
    stream = HiddenStates(
        tokens=sequence, hidden=shape.hidden, norm=Norm.SCALE_AND_SHIFT, dropout=True
    )
    return Model(
        name=name,
        layers=(
            _embedding(shape, stream),
            *_generator(shape, replace(stream, hidden=shape.generator_hidden)),
            layer(shape.discriminator, stream),
            _told(stream),
        ),
        tokens=sequence,
        tied=shape.embedding.vocabulary * shape.hidden,
        source=source,
        longest=shape.embedding.longest,
    )


def _embedding(shape: Electra, stream: HiddenStates) -> Layer:
    """The shared embedding, and its projection to the generator's width."""
    shared = embedding_layer(shape.embedding, stream)
    features = (shape.hidden, shape.generator_hidden)
    narrow = whole("projection to the generator", stream.tokens, features, bias=True)
    return replace(shared, operators=(*shared.operators, narrow))


def _generator(shape: Electra, stream: HiddenStates) -> tuple[Layer, ...]:
    run, wide = shape.generator, replace(shape.embedding, width=shape.hidden)
    filled = LanguageHead(norm=False, transform=True, bias=True, predicted=shape.masked)
    last = layer(replace(run, repeats=1, name=f"last {run.name}"), stream)
    last = replace(
        last,
        operators=(*last.operators, *head_layer(filled, wide, stream).operators),
        output=stream.tokens * shape.hidden,
    )
    before = run.repeats - 1
    return (*([layer(replace(run, repeats=before), stream)] if before else []), last)


def _told(stream: HiddenStates) -> Layer:
    """One product, an activation and one number for every token."""
    hidden = stream.hidden
    between = activation("transform activation", stream.values, branches=1)
    return Layer(
        name="head",
        operators=(
            whole("transform", stream.tokens, (hidden, hidden), bias=True),
            replace(between, split=Split.NONE, sequence=True),
            whole("replaced or not", stream.tokens, (hidden, 1), bias=True),
        ),
        input=stream.values,
        output=0.0,
        cuttable=False,
        recomputable=False,
    )
