"""Encoders, of text and of pictures.

Encoders of text: BERT and RoBERTa with the heads of their pre-training, and ELECTRA.

ELECTRA trains two at once, which share the embedding: a small generator fills masked tokens in, a
discriminator tells which it replaced. The generator stands first; its logits belong to its last
layer.

Sources: devlin2019, section 3; liu2019, section 4; clark2020, section 3.

Vision transformers: an encoder whose tokens are patches of an image.

Source: dosovitskiy2021, section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from foretrain.errors import InputError
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Operator, Size, Split
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run, ending, layer
from foretrain.workload.parts.ends import (
    Embedding,
    LanguageHead,
    embedding_layer,
    head_layer,
    whole,
)
from foretrain.workload.parts.feed_forward import FeedForward, activation
from foretrain.workload.parts.language_model import LanguageModel
from foretrain.workload.parts.stream import HiddenStates, Norm, at_least, norm

MASKED = 0.15
"""Share of the tokens that are predicted. Source: devlin2019, section 3.1."""


def encoder_run(
    layers: int,
    hidden: int,
    heads: int,
    *,
    feed_forward: int | None = None,
    bias: bool = True,
    name: str = "block",
) -> Run:
    """Layers that see every token, with biases and a norm after each part.

    Args:
        layers: how many.
        hidden: width of the residual stream.
        heads: of attention.
        feed_forward: width of that part; None for four times the stream's.
        bias: whether queries, keys and values have biases.
        name: of the layers.
    """
    block = Block(
        mixer=Heads(
            heads=heads,
            kv_heads=heads,
            width=hidden // heads,
            bias=bias,
            output_bias=True,
            rotary=False,
            causal=False,
        ),
        feed_forward=FeedForward(width=feed_forward or 4 * hidden, bias=True),
    )
    return Run(blocks=(block,), repeats=layers, name=name)


def encoder(
    *,
    layers: int,
    hidden: int,
    heads: int,
    vocabulary: int,
    feed_forward: int | None = None,
    positions: int = 512,
    first: int = 0,
    types: int = 2,
    embedding_width: int | None = None,
    predicted: float = MASKED,
    pooler: int = 0,
    tied: bool = True,
    dropout: bool = True,
) -> LanguageModel:
    """An encoder that predicts masked words.

    Args:
        layers: how many.
        hidden: width of the residual stream.
        heads: of attention.
        vocabulary: rows of the embedding.
        feed_forward: width of that part; None for four times the stream's.
        positions: rows of the table of positions.
        first: row of a sample's first token in that table.
        types: rows of the table of token types.
        embedding_width: of a row that is projected to the stream's width; None for that width.
        predicted: share of the tokens that have logits.
        pooler: classes told from the first token, such as BERT's two: whether the second sentence
            follows the first; 0 without.
        tied: whether the embedding's table makes the logits.
        dropout: whether it is trained with dropout.
    """
    return LanguageModel(
        hidden=hidden,
        embedding=Embedding(
            vocabulary=vocabulary,
            positions=positions,
            first=first,
            types=types,
            norm=True,
            width=embedding_width,
            projection_bias=embedding_width is not None,
        ),
        runs=(encoder_run(layers, hidden, heads, feed_forward=feed_forward),),
        head=LanguageHead(
            norm=False, transform=True, bias=True, tied=tied, predicted=predicted, pooler=pooler
        ),
        norm=Norm.SCALE_AND_SHIFT,
        dropout=dropout,
    )


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

    def model(self, name: str, sequence: int) -> Model:
        """The model for samples of `sequence` tokens."""
        if not sequence >= 1:
            raise InputError(f"sequence must be at least 1 token, got {sequence}.")
        stream = HiddenStates(
            tokens=sequence, hidden=self.hidden, norm=Norm.SCALE_AND_SHIFT, dropout=True
        )
        narrow = replace(stream, hidden=self.generator_hidden)
        shared = embedding_layer(self.embedding, stream)
        features = (self.hidden, self.generator_hidden)
        projection = whole("projection to the generator", sequence, features, bias=True)
        filled = head_layer(
            LanguageHead(norm=False, transform=True, bias=True, predicted=self.masked),
            replace(self.embedding, width=self.hidden),
            narrow,
        )
        *before, last = ending(self.generator, narrow, filled.operators)
        return Model(
            name=name,
            layers=(
                replace(shared, operators=(*shared.operators, projection)),
                *before,
                replace(last, output=sequence * self.hidden),
                layer(self.discriminator, stream),
                _told(stream),
            ),
            tokens=sequence,
            tied=self.embedding.vocabulary * self.hidden,
            longest=self.embedding.longest,
        )


def _told(stream: HiddenStates) -> Layer:
    """Whether a token was replaced: one product, an activation and one number for every token."""
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


def electra(
    *,
    layers: int,
    hidden: int,
    heads: int,
    vocabulary: int,
    generator: tuple[int, int, int],
    masked: float = MASKED,
) -> Electra:
    """An ELECTRA.

    Args:
        layers: of the discriminator.
        hidden: its width.
        heads: its heads.
        vocabulary: rows of the shared embedding.
        generator: layers, width and heads of the generator.
        masked: share of the tokens that the generator fills in.
    """
    return Electra(
        embedding=Embedding(vocabulary=vocabulary, positions=512, types=2, norm=True),
        generator=encoder_run(*generator, name="generator block"),
        generator_hidden=generator[1],
        discriminator=encoder_run(layers, hidden, heads, name="discriminator block"),
        hidden=hidden,
        masked=masked,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionTransformer:
    """The shape of a vision transformer.

    Attributes:
        patch: pixels per side of a patch.
        hidden: width of the residual stream.
        run: layers of the encoder.
        classes: told from the class token.
        channels: of the image.
    """

    patch: int
    hidden: int
    run: Run
    classes: int = 1000
    channels: int = 3

    def __post_init__(self) -> None:
        at_least(self, 1, "patch", "hidden", "classes", "channels")

    def model(self, name: str, image: int) -> Model:
        """The model for square images of `image` pixels per side."""
        if not image >= 1 or image % self.patch:
            raise InputError(
                f"image must be a multiple of the {self.patch} pixels of a patch for {name}, "
                f"got {image}."
            )
        patches = (image // self.patch) ** 2
        stream = HiddenStates(
            tokens=patches + 1, hidden=self.hidden, norm=Norm.SCALE_AND_SHIFT, dropout=False
        )
        classifier = Layer(
            name="classifier",
            operators=(
                norm("final norm", stream),
                whole("classes", 1, (self.hidden, self.classes), bias=True),
            ),
            input=stream.values,
            output=0.0,
            cuttable=False,
            recomputable=False,
        )
        return Model(
            name=name,
            layers=(_patches(self, stream, patches), layer(self.run, stream), classifier),
            tokens=stream.tokens,
        )


def vision_transformer(
    *,
    patch: int,
    layers: int,
    hidden: int,
    heads: int,
    feed_forward: int | None = None,
    bias: bool = True,
    classes: int = 1000,
    channels: int = 3,
) -> VisionTransformer:
    """A vision transformer of some sizes.

    Args:
        patch: pixels per side of a patch.
        layers: of the encoder.
        hidden: width of the residual stream.
        heads: of attention.
        feed_forward: width of that part; None for four times the stream's.
        bias: whether queries, keys and values have biases.
        classes: told from the class token.
        channels: of the image.
    """
    run = encoder_run(layers, hidden, heads, feed_forward=feed_forward, bias=bias)
    return VisionTransformer(
        patch=patch, hidden=hidden, run=run, classes=classes, channels=channels
    )


def _patches(shape: VisionTransformer, stream: HiddenStates, patches: int) -> Layer:
    """Every patch becomes a token by one product; a class token and positions are added."""
    pixels = shape.channels * shape.patch * shape.patch
    product = whole("patches", patches, (pixels, shape.hidden), bias=True)
    positions = Operator(
        name="class token and positions",
        weights=(stream.tokens + 1) * shape.hidden,
        forward=Size(values=3 * stream.values),
        backward=Size(values=2 * stream.values),
        sequence=True,
    )
    return Layer(
        name="embedding",
        operators=(replace(product, sequence=False), positions),
        input=patches * pixels,
        output=stream.values,
        cuttable=False,
        recomputable=False,
    )
