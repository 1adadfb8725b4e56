"""The model of a measured run, from the columns that state its structure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from foretrain.errors import InputError
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.defaults import FOUR_HIDDEN, HEADS_PER_KV_HEAD, IMAGE, RESNET_VERSION
from foretrain.measured.run import Network, Table
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import build
from foretrain.workload.library.transformer import Decoder, decoder


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
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


_LLAMA = Family(gated=True, source="touvron2023, section 2")

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "gpt": Family(
            bias=True,
            dropout=True,
            positions=True,
            tied=True,
            source="shoeybi2019, section 3; Megatron-LM's defaults (dropout 0.1)",
        ),
        "gpt-alibi": Family(bias=True, tied=True, source="scao2022, section 3.2 (no dropout)"),
        "mpt": Family(
            positions=True,
            tied=True,
            source="llm-foundry, configuration of MPT (no bias, no dropout)",
        ),
        "llama": _LLAMA,
        "llama2": _LLAMA,
        "llama3": _LLAMA,
    }
)

RESNET_50 = frozenset({"resnet-50", "resnet-50 v1.5", "resnet50v1.5", "rn50v1.5"})


def model_of(network: Network, table: Table, assumptions: Assumptions) -> Model:
    """The model of a row of `table`.

    Raises:
        NotCovered: foretrain has no model for it, or the row does not state its structure.
    """
    if table is Table.CNN_TRAINING:
        return _images(network, assumptions)
    if table is Table.MEMORY or not network.family:
        return _named(network)
    return _decoder(network, assumptions)


def _images(network: Network, assumptions: Assumptions) -> Model:
    name = network.name.lower()
    if name not in RESNET_50:
        raise NotCovered(f"network '{network.name}' is not covered")
    if not name.endswith(RESNET_VERSION.value):
        assumptions.take(RESNET_VERSION)
    return build("resnet-50", image=assumptions.fill(network.image, IMAGE))


def _named(network: Network) -> Model:
    """Without a family and its sizes the name must be that of a model of the library."""
    reason = f"structure of '{network.name}' not stated, nor in the library"
    return _in_library(network, reason)


def _in_library(network: Network, reason: str) -> Model:
    """The dense model of the library that has the network's name, or `reason` why there is none."""
    try:
        model = build(network.name, sequence=network.sequence)
    except InputError:
        raise NotCovered(reason) from None
    if any(operator.experts for _, operator in model.operators):
        raise NotCovered("mixture of experts")
    return model


def _decoder(network: Network, assumptions: Assumptions) -> Model:
    if network.experts is not None:
        raise NotCovered("mixture of experts")
    if network.family not in FAMILIES:
        return _in_library(network, f"family '{network.family}' is not covered")
    shape = _shape(network, FAMILIES[network.family], assumptions)
    return decoder(network.name, shape, sequence=stated(network.sequence, "sequence length"))


def _shape(network: Network, family: Family, assumptions: Assumptions) -> Decoder:
    hidden, heads = stated(network.hidden, "hidden size"), stated(network.heads, "heads")
    return Decoder(
        layers=stated(network.layers, "layers"),
        hidden=hidden,
        heads=heads,
        feed_forward=_width(network, family, assumptions),
        kv_heads=_kv_heads(network, family, assumptions),
        vocabulary=stated(network.vocabulary, "vocabulary"),
        gated=family.gated,
        bias=family.bias,
        dropout=family.dropout,
        positions=family.positions,
        tied=family.tied,
    )


def _width(network: Network, family: Family, assumptions: Assumptions) -> int:
    if network.feed_forward is None and not family.gated:
        return assumptions.take(FOUR_HIDDEN) * stated(network.hidden, "hidden size")
    return stated(network.feed_forward, "feed-forward width")


def _kv_heads(network: Network, family: Family, assumptions: Assumptions) -> int:
    if network.kv_heads is None and not family.gated:
        return stated(network.heads, "heads") // assumptions.take(HEADS_PER_KV_HEAD)
    return stated(network.kv_heads, "key-value heads")
