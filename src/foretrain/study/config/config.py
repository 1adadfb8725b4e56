"""The keys of a configuration, each checked when it is read.

What the configurations of many families say in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from foretrain.errors import InputError
from foretrain.units import as_written
from foretrain.workload.parts.attention import Heads, SlidingWindow
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.language_model import LanguageModel
from foretrain.workload.parts.stream import Norm

MOST_OF_ANYTHING: Final = 10**9
MOST_LAYERS: Final = 10_000
"""The deepest published transformer has 1,000 layers (DeepNet, from memory)."""

LAYERS: Final = (
    "num_hidden_layers", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers",
    "n_layer", "n_layers",
)  # fmt: skip
MOST: Final[Mapping[str, int]] = dict.fromkeys(LAYERS, MOST_LAYERS)
"""The most that is read, by key, where it is less than of anything."""


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration of a model; `null` means the same as an absent key.

    Attributes:
        keys: names and values.
        family: its model_type, for messages.
    """

    keys: Mapping[str, object]
    family: str

    def has(self, name: str) -> bool:
        """Whether a key says anything."""
        return self.keys.get(name) is not None

    def count(self, name: str, default: int | None = None) -> int:
        """A whole number of at least 1.

        Args:
            name: of the key.
            default: where it is absent; None where it is needed.

        Raises:
            InputError: if it is missing, or anything else.
        """
        value = self.count_or_none(name)
        found = default if value is None else value
        if found is None:
            raise InputError(f"{name} is missing; a model of type {self.family} needs it.")
        return found

    def count_or_none(self, name: str) -> int | None:
        """A whole number of at least 1, or None without the key.

        Raises:
            InputError: if it is anything else.
        """
        value = self.keys.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(f"{name} is {as_written(value)}, not a whole number of at least 1.")
        if value > MOST.get(name, MOST_OF_ANYTHING):
            most = MOST.get(name, MOST_OF_ANYTHING)
            raise InputError(f"{name} is {as_written(value)}; at most {most:,} are read.")
        return value

    def number(self, name: str, default: float) -> float:
        """A number of at least 0.

        Raises:
            InputError: if it is anything else.
        """
        value = self.keys.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{name} is {as_written(value)}, not a number of at least 0.")
        if not 0 <= value <= MOST_OF_ANYTHING:
            raise InputError(
                f"{name} is {as_written(value)}, not a number from 0 to {MOST_OF_ANYTHING:,}."
            )
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false.

        Raises:
            InputError: if it is neither.
        """
        value = self.keys.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputError(f"{name} is {as_written(value)}, neither true nor false.")
        return value

    def listed(self, name: str) -> Sequence[object]:
        """A list, empty without the key.

        Raises:
            InputError: if it is no list.
        """
        value = self.keys.get(name)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise InputError(f"{name} is {as_written(value)}, not a list.")
        return value

    def inside(self, name: str) -> Config:
        """The configuration under a key, empty without it.

        Raises:
            InputError: if it is no table.
        """
        value = self.keys.get(name, {})
        if not isinstance(value, Mapping):
            raise InputError(f"{name} is {as_written(value)}, not a table of keys and values.")
        return Config(value, self.family)

    def refuse(self, name: str, *, unless: object) -> None:
        """Refuse a key that says anything but `unless`, or nothing.

        Raises:
            InputError: names the value and the one that is understood.
        """
        value = self.keys.get(name)
        if value is not None and value != unless:
            raise InputError(
                f"{name} is {as_written(value)}; foretrain reads {self.family} with "
                f"{as_written(unless)} only."
            )


MANY_RUNS = 8
"""Runs above which a pattern that repeats is read as layers of several blocks."""


def heads(config: Config, *, bias: bool = False, width: int | None = None) -> Heads:
    """Attention in the words of Llama: num_attention_heads, num_key_value_heads, head_dim.

    Args:
        config: the configuration.
        bias: whether queries, keys and values have biases.
        width: of a head where head_dim is absent; None for hidden_size / num_attention_heads.
    """
    count = config.count("num_attention_heads")
    return Heads(
        heads=count,
        kv_heads=config.count("num_key_value_heads", count),
        width=config.count("head_dim", width or head_width(config, "hidden_size", count)),
        bias=bias,
    )


def head_width(config: Config, key: str, heads: int) -> int:
    """The stream's width over the heads.

    Raises:
        InputError: if they do not divide it.
    """
    hidden = config.count(key)
    if hidden % heads:
        raise InputError(f"{key} is {hidden}, which its {heads} attention heads do not divide.")
    return hidden // heads


def windowed(shape: Heads, config: Config, *, share: float) -> Heads:
    """Attention with the window of sliding_window, in the layers that layer_types names.

    Args:
        shape: attention without it.
        config: the configuration.
        share: of the layers with a window, where layer_types is absent.
    """
    tokens = config.count_or_none("sliding_window")
    types = config.listed("layer_types")
    if types:
        layers = config.count("num_hidden_layers")
        if len(types) != layers:
            raise InputError(
                f"layer_types has {len(types)} entries for num_hidden_layers = {layers}."
            )
        share = sum(each == "sliding_attention" for each in types) / layers
    if tokens is None or share == 0:
        return shape
    return replace(shape, window=SlidingWindow(tokens=tokens, share=share))


def gated(config: Config, key: str = "intermediate_size", *, bias: bool = False) -> FeedForward:
    """A gated feed-forward part as wide as a key says."""
    return FeedForward(width=config.count(key), gated=True, bias=bias)


def four_times(config: Config, key: str, hidden: str, *, bias: bool = True) -> FeedForward:
    """A plain feed-forward part, four times as wide as the stream unless a key says otherwise."""
    return FeedForward(width=config.count(key, 4 * config.count(hidden)), bias=bias)


def runs(blocks: Sequence[Block]) -> tuple[Run, ...]:
    """Layers in order: equal neighbours folded, and patterns that repeat as layers of blocks."""
    folded = tuple(
        Run(blocks=(block,), repeats=len(list(same)), name="block")
        for block, same in groupby(blocks)
    )
    period = next(
        each
        for each in range(1, len(blocks) + 1)
        if len(blocks) % each == 0 and list(blocks[each:]) == list(blocks[:-each])
    )
    if len(folded) <= MANY_RUNS or period == len(blocks):
        return folded
    return (Run(blocks=tuple(blocks[:period]), repeats=len(blocks) // period),)


def language(config: Config, blocks: Sequence[Block], *, tied: bool = False) -> LanguageModel:
    """A decoder with RMS norms and rotated positions, in the words of Llama.

    Args:
        config: the configuration.
        blocks: layer by layer.
        tied: whether the head shares the embedding where tie_word_embeddings is absent.
    """
    return LanguageModel(
        hidden=config.count("hidden_size"),
        embedding=Embedding(vocabulary=config.count("vocab_size")),
        runs=runs(blocks),
        head=LanguageHead(tied=config.flag("tie_word_embeddings", tied)),
        dropout=drops(config, "attention_dropout", default=0.0),
    )


def layered(
    config: Config,
    block: Block,
    *,
    names: tuple[str, str],
    embedding: Embedding,
    head: LanguageHead,
) -> LanguageModel:
    """A decoder of equal blocks with layer norms.

    Args:
        config: the configuration.
        block: every layer.
        names: of the keys for the stream's width and the number of layers.
        embedding: how tokens become vectors.
        head: how vectors become logits; tie_word_embeddings decides whether with the same table.
    """
    hidden, layers = names
    return LanguageModel(
        hidden=config.count(hidden),
        embedding=embedding,
        runs=(Run(blocks=(block,), repeats=config.count(layers)),),
        head=replace(head, tied=config.flag("tie_word_embeddings", head.tied)),
        norm=Norm.SCALE_AND_SHIFT,
    )


def drops(config: Config, *names: str, default: float) -> bool:
    """Whether any of these keys is a share of dropped values."""
    return any(config.number(name, default) > 0 for name in names)
