"""Decoders from the columns that state their sizes, or from their parameters alone.

Encoders of text, and encoders with a decoder, from the columns that state their sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log
from types import MappingProxyType

from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.run import TrainedNetwork
from foretrain.workload.graph import Model
from foretrain.workload.parts.encoder import encoder
from foretrain.workload.parts.encoder_decoder import SPANS, encoder_decoder
from foretrain.workload.parts.feed_forward import Experts, FeedForward
from foretrain.workload.parts.language_model import Decoder, decoder


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


FEED_FORWARD_MATRICES = {False: 2, True: 3}
"""Matrices of a feed-forward part, by whether it is gated."""


def family_of(network: TrainedNetwork, assumptions: Assumptions) -> DecoderFamily:
    """What the name of a family says; of one that is not known, what the stated sizes say."""
    if network.family in FAMILIES:
        return FAMILIES[network.family]
    gated = _looks_gated(network)
    kind = "gated" if gated else "plain"
    named = f"family '{network.family}'" if network.family else "the family"
    assumptions.note(f"{named} is not known: a decoder of the stated sizes, {kind}")
    return DecoderFamily(gated=gated, source="the stated sizes")


def _looks_gated(network: TrainedNetwork) -> bool:
    """Whether stated parameters are those of a gated feed-forward part.

    Without parameters: whether it is not four times as wide as the stream, as plain ones are.
    """
    hidden, width, layers = network.hidden, network.feed_forward, network.layers
    if hidden is None or width is None:
        return False
    if layers is None or network.parameters is None or network.experts is not None:
        return width != defaults.FOUR_HIDDEN.value * hidden
    around = (network.vocabulary or defaults.VOCABULARY.value) * hidden
    heads = network.heads or 1
    keys = 2 * hidden**2 * (network.kv_heads or heads) / heads
    off = {
        gated: abs(
            log(
                (around + layers * (2 * hidden**2 + keys + matrices * hidden * width))
                / network.parameters
            )
        )
        for gated, matrices in FEED_FORWARD_MATRICES.items()
    }
    return off[True] < off[False]


def heads_of(hidden: int, tensor: int) -> int:
    """Heads of a usual width: whole ones that the tensor axis divides, if there are such."""
    widths = defaults.HEAD_WIDTHS.value
    usual = next(width for least, width in widths.items() if hidden >= least)
    whole = [heads for heads in range(1, hidden + 1) if hidden % heads == 0]
    divided = [heads for heads in whole if heads % tensor == 0] or whole
    return min(divided, key=lambda heads: abs(log(hidden / heads / usual)))


def shape_of(network: TrainedNetwork, assumptions: Assumptions, *, tensor: int = 1) -> Decoder:
    """The sizes that a row states, and what its family says of the rest.

    Args:
        network: as stated.
        assumptions: takes what stands for blanks.
        tensor: degree of the tensor axis, which divides heads.

    Raises:
        NotCovered: a size that must not be guessed is not stated.
    """
    family = family_of(network, assumptions)
    hidden, heads = stated(network.hidden, "hidden size"), network.heads
    if heads is None:
        assumptions.take(defaults.HEAD_WIDTHS)
        heads = heads_of(hidden, tensor)
    width, kv_heads, vocabulary = network.feed_forward, network.kv_heads, network.vocabulary
    if not family.gated:
        # Gated families have sizes of their own each, which must not be guessed.
        width = width or assumptions.take(defaults.FOUR_HIDDEN) * hidden
        kv_heads = kv_heads or heads // assumptions.take(defaults.HEADS_PER_KV_HEAD)
        vocabulary = vocabulary or assumptions.take(defaults.VOCABULARY)
    shape = Decoder(
        layers=network.layers or 1,
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
        experts=_experts(network, width, gated=family.gated),
    )
    if network.layers is not None:
        return shape
    return replace(shape, layers=_layers(shape, network, assumptions))


def _experts(network: TrainedNetwork, width: int | None, *, gated: bool) -> Experts | None:
    """What takes the place of the feed-forward part where experts are stated, all of one width."""
    if network.experts is None:
        return None
    return Experts(
        count=network.experts,
        chosen=stated(network.chosen, "experts of a token"),
        each=FeedForward(width=stated(width, "feed-forward width"), gated=gated),
    )


def _layers(one: Decoder, network: TrainedNetwork, assumptions: Assumptions) -> int:
    """Layers that fill the stated parameters, by what a decoder of one layer has."""
    if network.parameters is None:
        raise NotCovered("layers not stated")
    assumptions.take(defaults.LAYERS_OF_PARAMETERS)
    first, second = (
        decoder("", replace(one, layers=count), sequence=1).parameters for count in (1, 2)
    )
    return max(1, 1 + round((network.parameters - first) / (second - first)))


def sized(network: TrainedNetwork, assumptions: Assumptions) -> Decoder:
    """A plain decoder of the stated parameters.

    Layers of width h hold 12 h^2 parameters (narayanan2021, equation 2), so that with h / layers
    fixed the parameters fix both; h is rounded to whole groups of eight heads.
    """
    family = replace(family_of(network, assumptions), gated=False)
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
    hidden, heads = stated(network.hidden, "hidden size"), network.heads
    if heads is None:
        assumptions.take(defaults.HEAD_WIDTHS)
        heads = heads_of(hidden, 1)
    return _encoder(
        network.name,
        stated(network.layers, "layers"),
        hidden,
        heads=heads,
        vocabulary=assumptions.fill(network.vocabulary, defaults.WORD_PIECES),
        sequence=sequence,
    )


@lru_cache(maxsize=64)
def _encoder(
    name: str, layers: int, hidden: int, *, heads: int, vocabulary: int, sequence: int
) -> Model:
    shape = encoder(layers=layers, hidden=hidden, heads=heads, vocabulary=vocabulary, pooler=2)
    return shape.model(name, sequence)


def both_sides_of(network: TrainedNetwork, assumptions: Assumptions, *, sequence: int) -> Model:
    """An encoder and a decoder of the stated sizes, each with the stated layers.

    Raises:
        NotCovered: a size that must not be guessed is not stated.
    """
    hidden, heads = stated(network.hidden, "hidden size"), network.heads
    width = network.feed_forward or assumptions.take(defaults.FOUR_HIDDEN) * hidden
    if heads is None:
        assumptions.take(defaults.HEAD_WIDTHS)
        heads = heads_of(hidden, 1)
    shape = encoder_decoder(
        layers=stated(network.layers, "layers"),
        hidden=hidden,
        heads=heads,
        feed_forward=width,
        vocabulary=assumptions.fill(network.vocabulary, defaults.VOCABULARY),
        gated=_looks_gated(replace(network, parameters=None)),
        spans=SPANS if "t5" in network.family.lower() else None,
    )
    return shape.model(network.name, sequence)
