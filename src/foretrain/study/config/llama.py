"""Llama and the families that write their configurations in its words."""

from __future__ import annotations

from dataclasses import replace

from foretrain.errors import InputError
from foretrain.study.config.config import Config, gated, heads, language, windowed
from foretrain.units import as_written
from foretrain.workload.parts.attention import Heads, SlidingWindow
from foretrain.workload.parts.block import Arrangement, Block
from foretrain.workload.parts.experts import Experts
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.language_model import LanguageModel
from foretrain.workload.parts.stream import Norm


def llama(config: Config) -> LanguageModel:
    """Llama 1 to 3."""
    bias = config.flag("attention_bias", False)
    attention = replace(heads(config, bias=bias), output_bias=bias)
    return _equal(config, attention, gated(config, bias=config.flag("mlp_bias", False)))


def mistral(config: Config) -> LanguageModel:
    """Mistral: a window in every layer, or none."""
    return _equal(config, windowed(heads(config), config, share=1.0), gated(config))


def phi3(config: Config) -> LanguageModel:
    """Phi-3: queries, keys and values from one product, as everywhere here."""
    return _equal(config, windowed(heads(config), config, share=1.0), gated(config))


def qwen2(config: Config) -> LanguageModel:
    """Qwen2: biases of queries, keys and values only."""
    return _equal(config, _qwen_window(heads(config, bias=True), config), gated(config))


def qwen3(config: Config) -> LanguageModel:
    """Qwen3: norms of queries and keys."""
    return _equal(config, _qwen3_heads(config), gated(config))


def gemma(config: Config) -> LanguageModel:
    """Gemma: heads of their own width, one table for both ends."""
    block = Block(mixer=heads(config, width=256), feed_forward=gated(config))
    return language(config, [block] * _layers(config), tied=True)


def gemma2(config: Config) -> LanguageModel:
    """Gemma 2: norms before and after each part, a window in every other layer."""
    return _sandwich(config, windowed(heads(config, width=256), config, share=1 / 2))


def gemma3(config: Config) -> LanguageModel:
    """Gemma 3: a window in all but every sixth layer, norms of queries and keys."""
    layers, pattern = _layers(config), config.count("sliding_window_pattern", 6)
    share = 1 - layers // pattern / layers
    attention = replace(heads(config, width=256), norms=True)
    return _sandwich(config, windowed(attention, config, share=share))


def nemotron(config: Config) -> LanguageModel:
    """Nemotron-4: layer norms, and a squared activation without a gate."""
    bias, wide = config.flag("attention_bias", False), config.flag("mlp_bias", False)
    attention = replace(heads(config, bias=bias), output_bias=bias)
    plain = FeedForward(width=config.count("intermediate_size"), bias=wide)
    return replace(_equal(config, attention, plain), norm=Norm.SCALE_AND_SHIFT)


def mixtral(config: Config) -> LanguageModel:
    """Mixtral: experts in every layer."""
    experts = Experts(
        count=config.count("num_local_experts"),
        chosen=config.count("num_experts_per_tok"),
        each=gated(config),
    )
    return _equal(config, windowed(heads(config), config, share=1.0), experts)


def qwen2_moe(config: Config) -> LanguageModel:
    """Qwen2-MoE: experts beside a shared one that a learned number weighs."""
    experts = replace(
        _qwen_experts(config),
        shared=gated(config, "shared_expert_intermediate_size"),
        shared_gate=True,
    )
    return _sometimes(config, _qwen_window(heads(config, bias=True), config), experts)


def qwen3_moe(config: Config) -> LanguageModel:
    """Qwen3-MoE: experts, none of them shared."""
    return _sometimes(config, _qwen3_heads(config), _qwen_experts(config))


def gpt_oss(config: Config) -> LanguageModel:
    """gpt-oss: biases everywhere, sinks, a window in every other layer."""
    attention = replace(
        heads(config, bias=config.flag("attention_bias", True), width=64),
        output_bias=config.flag("attention_bias", True),
        scaled=True,
        sinks=True,
    )
    experts = Experts(
        count=config.count("num_local_experts"),
        chosen=config.count("num_experts_per_tok"),
        each=gated(config, bias=True),
        router_bias=True,
        clamped=True,
    )
    return _equal(config, windowed(attention, config, share=1 / 2), experts)


def llama4(config: Config) -> LanguageModel:
    """Llama 4, its text alone: experts in every so manieth layer, three of four attend in chunks.

    A chunk is priced as a window, of which it has half the pairs where a sample has many chunks.
    """
    attention = heads(config)
    if chunk := config.count_or_none("attention_chunk_size"):
        attention = replace(attention, window=SlidingWindow(tokens=chunk, share=3 / 4))
    sparse = Experts(
        count=config.count("num_local_experts"),
        chosen=config.count("num_experts_per_tok"),
        each=gated(config),
        shared=gated(config),
    )
    every, layers = config.count("interleave_moe_layer_step", 1), _layers(config)
    dense = None if every == 1 else gated(config, "intermediate_size_mlp")
    blocks = [
        Block(mixer=attention, feed_forward=dense if dense and (layer + 1) % every else sparse)
        for layer in range(layers)
    ]
    return language(config, blocks)


def _layers(config: Config) -> int:
    return config.count("num_hidden_layers")


def _equal(config: Config, attention: Heads, wide: FeedForward | Experts) -> LanguageModel:
    return language(config, [Block(mixer=attention, feed_forward=wide)] * _layers(config))


def _sandwich(config: Config, attention: Heads) -> LanguageModel:
    block = Block(mixer=attention, feed_forward=gated(config), arrangement=Arrangement.SANDWICH)
    return language(config, [block] * _layers(config), tied=True)


def _qwen_window(shape: Heads, config: Config) -> Heads:
    """Only above max_window_layers, and only where use_sliding_window says so."""
    if not config.flag("use_sliding_window", False):
        return shape
    layers = _layers(config)
    first = min(int(config.number("max_window_layers", layers)), layers)
    return windowed(shape, config, share=1 - first / layers)


def _qwen3_heads(config: Config) -> Heads:
    bias = config.flag("attention_bias", False)
    shape = replace(heads(config, bias=bias, width=128), output_bias=bias, norms=True)
    return _qwen_window(shape, config)


def _qwen_experts(config: Config) -> Experts:
    return Experts(
        count=config.count("num_experts"),
        chosen=config.count("num_experts_per_tok"),
        each=gated(config, "moe_intermediate_size"),
    )


def _sometimes(config: Config, attention: Heads, experts: Experts) -> LanguageModel:
    """Experts in every decoder_sparse_step-th layer, but in none of mlp_only_layers."""
    every, layers = config.count("decoder_sparse_step", 1), _layers(config)
    named = config.listed("mlp_only_layers")
    dense = {each for each in named if type(each) is int and 0 <= each < layers}
    if outside := [each for each in named if type(each) is not int or each not in dense]:
        raise InputError(
            f"mlp_only_layers names {as_written(outside[0])}, but there are {layers} layers."
        )
    blocks = [
        Block(
            mixer=attention,
            feed_forward=gated(config) if layer in dense or (layer + 1) % every else experts,
        )
        for layer in range(layers)
    ]
    return language(config, blocks)
