"""Llama and the families that write their configurations in its words, hybrids among them.

A function a family says the sizes of a `Decoder`, which builds the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foretrain.errors import InputError
from foretrain.study.config.config import Config
from foretrain.units import as_written
from foretrain.workload.parts.block import Arrangement
from foretrain.workload.parts.feed_forward import Experts, FeedForward
from foretrain.workload.parts.language_model import DENSE, SPARSE, Decoder
from foretrain.workload.parts.mixers import StateSpace

Sizes = Mapping[str, Any]


def in_words_of_llama(
    config: Config, *, head_width: int | None = None, tied: bool = False, **family: object
) -> Decoder:
    """A decoder with RMS norms, gated feed-forward parts and rotated positions, without biases.

    Args:
        config: the configuration.
        head_width: where head_dim is absent; None for hidden_size / num_attention_heads.
        tied: whether the head shares the embedding where tie_word_embeddings is absent.
        family: sizes that no key of it says, or that other keys say.
    """
    heads = config.count("num_attention_heads")
    latent = "key_rank" in family
    if head_width is None and not latent and not config.has("head_dim"):
        head_width = config.head_width("hidden_size", heads)
    stated: Sizes = {
        "layers": config.count("num_hidden_layers"),
        "hidden": config.count("hidden_size"),
        "heads": heads,
        "kv_heads": None if latent else config.count("num_key_value_heads", heads),
        "head_width": None if latent else config.count("head_dim", head_width),
        "vocabulary": config.count("vocab_size"),
        "gated": True,
        "tied": config.flag("tie_word_embeddings", tied),
        "dropout": config.drops("attention_dropout", default=0.0),
        **family,
    }
    if "experts" not in family and "feed_forward" not in family:
        stated = {**stated, "feed_forward": config.count("intermediate_size")}
    return Decoder(**stated)


def llama(config: Config) -> Decoder:
    """Llama 1 to 3."""
    return in_words_of_llama(
        config,
        attention_bias=config.flag("attention_bias", False),
        feed_forward_bias=config.flag("mlp_bias", False),
    )


def mistral(config: Config) -> Decoder:
    """Mistral and Phi-3: a window in every layer, or none."""
    return in_words_of_llama(config, **window_of(config, _layers(config)))


def qwen2(config: Config) -> Decoder:
    """Qwen2: biases of queries, keys and values only."""
    return in_words_of_llama(config, attention_bias=True, output_bias=False, **_qwen_window(config))


def qwen3(config: Config) -> Decoder:
    """Qwen3: norms of queries and keys."""
    return in_words_of_llama(config, head_width=128, **_qwen3_attention(config))


def gemma(config: Config) -> Decoder:
    """Gemma: heads of their own width, one table for both ends."""
    return in_words_of_llama(config, head_width=256, tied=True)


def gemma2(config: Config) -> Decoder:
    """Gemma 2: norms before and after each part, a window in every other layer."""
    layers = _layers(config)
    return in_words_of_llama(
        config,
        head_width=256,
        tied=True,
        arrangement=Arrangement.SANDWICH,
        **window_of(config, layers - layers // 2),
    )


def gemma3(config: Config) -> Decoder:
    """Gemma 3: a window in all but every sixth layer, norms of queries and keys."""
    layers, pattern = _layers(config), config.count("sliding_window_pattern", 6)
    return in_words_of_llama(
        config,
        head_width=256,
        tied=True,
        query_norms=True,
        arrangement=Arrangement.SANDWICH,
        **window_of(config, layers - layers // pattern),
    )


def nemotron(config: Config) -> Decoder:
    """Nemotron-4: layer norms, and a squared activation without a gate."""
    return in_words_of_llama(
        config,
        gated=False,
        layer_norm=True,
        attention_bias=config.flag("attention_bias", False),
        feed_forward_bias=config.flag("mlp_bias", False),
    )


def mixtral(config: Config) -> Decoder:
    """Mixtral: experts in every layer."""
    return in_words_of_llama(
        config, experts=_local_experts(config), **window_of(config, _layers(config))
    )


def gpt_oss(config: Config) -> Decoder:
    """gpt-oss: biases everywhere, sinks, a window in every other layer."""
    layers = _layers(config)
    return in_words_of_llama(
        config,
        head_width=64,
        attention_bias=config.flag("attention_bias", True),
        scaled=True,
        sinks=True,
        experts=_local_experts(config, bias=True, router_bias=True, clamped=True),
        **window_of(config, layers - layers // 2),
    )


def llama4(config: Config) -> Decoder:
    """Llama 4, its text alone: experts in every so manieth layer, three of four attend in chunks.

    A chunk is priced as a window, of which it has half the pairs where a sample has many chunks.
    """
    every, layers = config.count("interleave_moe_layer_step", 1), _layers(config)
    return in_words_of_llama(
        config,
        window=config.count_or_none("attention_chunk_size"),
        windowed=layers - layers // 4,
        feed_forward=None if every == 1 else config.count("intermediate_size_mlp"),
        experts=_local_experts(config, shared=_gated(config)),
        pattern="".join(DENSE if layer % every else SPARSE for layer in range(1, layers + 1)),
    )


def qwen2_moe(config: Config) -> Decoder:
    """Qwen2-MoE: experts beside a shared one that a learned number weighs."""
    shared = _gated(config, "shared_expert_intermediate_size")
    return _sometimes(
        config,
        experts=_qwen_experts(config, shared=shared, shared_gate=True),
        attention_bias=True,
        output_bias=False,
        **_qwen_window(config),
    )


def qwen3_moe(config: Config) -> Decoder:
    """Qwen3-MoE: experts, none of them shared."""
    experts = _qwen_experts(config)
    return _sometimes(config, head_width=128, experts=experts, **_qwen3_attention(config))


def deepseek_v2(config: Config, *, router_bias: bool = False) -> Decoder:
    """DeepSeek-V2: latent attention, shared experts, a few dense layers first."""
    width, shared = config.count("moe_intermediate_size"), config.count_or_none("n_shared_experts")
    config.refuse("moe_layer_freq", unless=1)
    layers, dense = _layers(config), int(config.number("first_k_dense_replace", 0))
    if dense > layers:
        raise InputError(f"first_k_dense_replace is {dense}, but there are {layers} layers.")
    return in_words_of_llama(
        config,
        **latent_of(config),
        feed_forward=config.count("intermediate_size"),
        dense_layers=dense,
        experts=Experts(
            count=config.count("n_routed_experts"),
            chosen=config.count("num_experts_per_tok"),
            each=FeedForward(width=width, gated=True),
            shared=FeedForward(width=shared * width, gated=True) if shared else None,
            router_bias=router_bias,
            groups=int(config.number("n_group", 1)),
            most=int(config.number("topk_group", 1)),
        ),
    )


def deepseek_v3(config: Config) -> Decoder:
    """DeepSeek-V3 and Kimi K2: besides, each expert has a number that balances their load.

    Layers of multi-token prediction (num_nextn_predict_layers) are left out, as the library that
    the configuration is written for leaves them out.
    """
    return deepseek_v2(config, router_bias=True)


def nemotron_h(config: Config) -> Decoder:
    """Nemotron-H: one letter of hybrid_override_pattern says what each layer is.

    Its few attention layers know no positions; the order of tokens comes from the others.
    """
    pattern = str(config.keys.get("hybrid_override_pattern", ""))
    layers = _layers(config)
    if set(pattern) - set("M*-") or len(pattern) != layers:
        raise InputError(
            f"hybrid_override_pattern is {as_written(pattern)}; write {layers} letters, one per "
            "layer: M (Mamba-2), * (attention), - (feed-forward)."
        )
    return in_words_of_llama(
        config,
        gated=False,
        rotary=False,
        pattern=pattern,
        state_space=StateSpace(
            heads=config.count("mamba_num_heads"),
            width=config.count("mamba_head_dim"),
            groups=config.count("n_groups"),
            state=config.count("ssm_state_size"),
            kernel=config.count("conv_kernel", 4),
            chunk=config.count("chunk_size", 128),
        ),
    )


def _layers(config: Config) -> int:
    return config.count("num_hidden_layers")


def _gated(config: Config, key: str = "intermediate_size", *, bias: bool = False) -> FeedForward:
    return FeedForward(width=config.count(key), gated=True, bias=bias)


def latent_of(config: Config) -> Sizes:
    """Latent attention, in DeepSeek's words."""
    return {
        "query_rank": config.count_or_none("q_lora_rank"),
        "key_rank": config.count("kv_lora_rank"),
        "plain_width": config.count("qk_nope_head_dim"),
        "rotary_width": config.count("qk_rope_head_dim"),
        "value_width": config.count("v_head_dim"),
    }


def window_of(config: Config, windowed: int) -> Sizes:
    """The window of sliding_window, in the layers that layer_types names.

    Args:
        config: the configuration.
        windowed: layers with a window, where layer_types is absent.
    """
    tokens, types = config.count_or_none("sliding_window"), config.listed("layer_types")
    if types:
        layers = _layers(config)
        if len(types) != layers:
            raise InputError(
                f"layer_types has {len(types)} entries for num_hidden_layers = {layers}."
            )
        windowed = sum(each == "sliding_attention" for each in types)
    return {"window": tokens, "windowed": windowed}


def _qwen_window(config: Config) -> Sizes:
    """Only above max_window_layers, and only where use_sliding_window says so."""
    if not config.flag("use_sliding_window", False):
        return {}
    layers = _layers(config)
    return window_of(config, layers - min(int(config.number("max_window_layers", layers)), layers))


def _qwen3_attention(config: Config) -> Sizes:
    bias = config.flag("attention_bias", False)
    return {"attention_bias": bias, "query_norms": True, **_qwen_window(config)}


def _local_experts(
    config: Config, *, shared: FeedForward | None = None, bias: bool = False, **more: bool
) -> Experts:
    """Experts as wide as intermediate_size, in Mixtral's words."""
    return Experts(
        count=config.count("num_local_experts"),
        chosen=config.count("num_experts_per_tok"),
        each=_gated(config, bias=bias),
        shared=shared,
        **more,
    )


def _qwen_experts(
    config: Config, *, shared: FeedForward | None = None, shared_gate: bool = False
) -> Experts:
    return Experts(
        count=config.count("num_experts"),
        chosen=config.count("num_experts_per_tok"),
        each=_gated(config, "moe_intermediate_size"),
        shared=shared,
        shared_gate=shared_gate,
    )


def _sometimes(config: Config, **family: Any) -> Decoder:  # noqa: ANN401 - sizes of any type
    """Experts in every decoder_sparse_step-th layer, but in none of mlp_only_layers."""
    every, layers = config.count("decoder_sparse_step", 1), _layers(config)
    named = config.listed("mlp_only_layers")
    dense = {each for each in named if type(each) is int and 0 <= each < layers}
    if outside := [each for each in named if type(each) is not int or each not in dense]:
        raise InputError(
            f"mlp_only_layers names {as_written(outside[0])}, but there are {layers} layers."
        )
    pattern = "".join(
        DENSE if layer in dense or (layer + 1) % every else SPARSE for layer in range(layers)
    )
    wide = config.count("intermediate_size") if DENSE in pattern else None
    return in_words_of_llama(config, pattern=pattern, feed_forward=wide, **family)
