"""Decoders from the columns that state their sizes, or from their parameters alone.

Encoders of text from the columns that state their sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, stated
from foretrain.measured.run import TrainedNetwork
from foretrain.workload.graph import Model
from foretrain.workload.parts.encoder import encoder
from foretrain.workload.parts.language_model import Decoder


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderFamily:
    """What the name of a decoder's family says beyond its sizes.

    Attributes:
        gated: whether the feed-forward part is gated; then its width and the key-value heads must
            be stated.
        bias: whether linear layers and norms have biases.
        dropout: whether it is trained with dropout.
        positions: whether positions are learned.
        tied: whether the head shares the embedding's weights.
        source: where this is written.
    """

    gated: bool = False
    bias: bool = False
    dropout: bool = False
    positions: bool = False
    tied: bool = False
    source: str


_LLAMA = DecoderFamily(gated=True, source="touvron2023, section 2")

FAMILIES: Mapping[str, DecoderFamily] = MappingProxyType(
    {
        "gpt": DecoderFamily(
            bias=True,
            dropout=True,
            positions=True,
            tied=True,
            source="shoeybi2019, section 3; Megatron-LM's defaults (dropout 0.1)",
        ),
        "gpt-alibi": DecoderFamily(
            bias=True, tied=True, source="scao2022, section 3.2 (no dropout)"
        ),
        "mpt": DecoderFamily(
            positions=True,
            tied=True,
            source="llm-foundry, configuration of MPT (no bias, no dropout)",
        ),
        "llama": _LLAMA,
        "llama2": _LLAMA,
        "llama3": _LLAMA,
    }
)


def shape_of(network: TrainedNetwork, assumptions: Assumptions) -> Decoder:
    """The sizes that a row states, and what its family says of the rest.

    Raises:
        NotCovered: a size that must not be guessed is not stated.
    """
    family = FAMILIES[network.family]
    hidden, heads = stated(network.hidden, "hidden size"), stated(network.heads, "heads")
    layers = stated(network.layers, "layers")
    width, kv_heads, vocabulary = network.feed_forward, network.kv_heads, network.vocabulary
    if not family.gated:
        # Gated families have sizes of their own each, which must not be guessed.
        width = width or assumptions.take(defaults.FOUR_HIDDEN) * hidden
        kv_heads = kv_heads or heads // assumptions.take(defaults.HEADS_PER_KV_HEAD)
        vocabulary = vocabulary or assumptions.take(defaults.VOCABULARY)
    return Decoder(
        layers=layers,
        hidden=hidden,
        heads=heads,
        feed_forward=stated(width, "feed-forward width"),
        kv_heads=stated(kv_heads, "key-value heads"),
        vocabulary=stated(vocabulary, "vocabulary"),
        gated=family.gated,
        bias=family.bias,
        dropout=family.dropout,
        positions=0 if family.positions else None,
        tied=family.tied,
    )


def sized(network: TrainedNetwork, assumptions: Assumptions) -> Decoder:
    """A plain decoder of the stated parameters.

    Layers of width h hold 12 h^2 parameters (narayanan2021, equation 2), so that with h / layers
    fixed the parameters fix both; h is rounded to whole groups of eight heads.
    """
    family = FAMILIES[network.family]
    parameters = stated(network.parameters, "parameters")
    ratio, head = assumptions.take(defaults.DEPTH), assumptions.take(defaults.HEAD_WIDTH)
    group = 8 * head
    hidden = group * max(1, round((parameters * ratio / 12) ** (1 / 3) / group))
    return Decoder(
        layers=max(1, round(parameters / (12 * hidden**2))),
        hidden=hidden,
        heads=hidden // head,
        kv_heads=hidden // head,
        feed_forward=assumptions.take(defaults.FOUR_HIDDEN) * hidden,
        vocabulary=assumptions.fill(network.vocabulary, defaults.VOCABULARY),
        bias=family.bias,
        dropout=family.dropout,
        positions=0 if family.positions else None,
        tied=family.tied,
    )


FAMILY = "bert"


def encoder_of(network: TrainedNetwork, assumptions: Assumptions, *, sequence: int) -> Model:
    """A BERT of the stated sizes; its feed-forward part is four times as wide as the stream.

    Raises:
        NotCovered: a size that must not be guessed is not stated.
    """
    return _encoder(
        network.name,
        stated(network.layers, "layers"),
        stated(network.hidden, "hidden size"),
        heads=stated(network.heads, "heads"),
        vocabulary=assumptions.fill(network.vocabulary, defaults.WORD_PIECES),
        sequence=sequence,
    )


@lru_cache(maxsize=64)
def _encoder(
    name: str, layers: int, hidden: int, *, heads: int, vocabulary: int, sequence: int
) -> Model:
    shape = encoder(layers=layers, hidden=hidden, heads=heads, vocabulary=vocabulary, pooler=2)
    return shape.model(name, sequence)
