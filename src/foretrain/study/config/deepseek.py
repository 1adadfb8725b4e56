"""DeepSeek V2 and V3, Kimi K2, and the hybrids of Nemotron-H."""

from __future__ import annotations

from dataclasses import replace

from foretrain.errors import InputError
from foretrain.study.config.config import Config, gated, heads, language
from foretrain.units import as_written
from foretrain.workload.parts.block import Block
from foretrain.workload.parts.experts import Experts
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.language_model import LanguageModel
from foretrain.workload.parts.latent import Latent
from foretrain.workload.parts.state_space import StateSpace


def deepseek_v2(config: Config) -> LanguageModel:
    """DeepSeek-V2: latent attention, shared experts, a few dense layers first."""
    return _deepseek(config, router_bias=False)


def deepseek_v3(config: Config) -> LanguageModel:
    """DeepSeek-V3 and Kimi K2: besides, each expert has a number that balances their load.

    Layers of multi-token prediction (num_nextn_predict_layers) are left out, as the library that
    the configuration is written for leaves them out.
    """
    return _deepseek(config, router_bias=True)


def _deepseek(config: Config, *, router_bias: bool) -> LanguageModel:
    latent = Latent(
        heads=config.count("num_attention_heads"),
        query_rank=config.count_or_none("q_lora_rank"),
        key_rank=config.count("kv_lora_rank"),
        plain=config.count("qk_nope_head_dim"),
        rotary=config.count("qk_rope_head_dim"),
        value=config.count("v_head_dim"),
    )
    width, shared = config.count("moe_intermediate_size"), config.count_or_none("n_shared_experts")
    experts = Experts(
        count=config.count("n_routed_experts"),
        chosen=config.count("num_experts_per_tok"),
        each=FeedForward(width=width, gated=True),
        shared=FeedForward(width=shared * width, gated=True) if shared else None,
        router_bias=router_bias,
    )
    config.refuse("moe_layer_freq", unless=1)
    layers, dense = (
        config.count("num_hidden_layers"),
        int(config.number("first_k_dense_replace", 0)),
    )
    if dense > layers:
        raise InputError(f"first_k_dense_replace is {dense}, but there are {layers} layers.")
    plain = [Block(mixer=latent, feed_forward=gated(config))] * dense
    return language(config, plain + [Block(mixer=latent, feed_forward=experts)] * (layers - dense))


def nemotron_h(config: Config) -> LanguageModel:
    """Nemotron-H: one letter of hybrid_override_pattern says what each layer is.

    Its few attention layers know no positions; the order of tokens comes from the others.
    """
    parts = {
        "M": Block(mixer=_mamba(config)),
        "*": Block(mixer=replace(heads(config), rotary=False)),
        "-": Block(feed_forward=FeedForward(width=config.count("intermediate_size"))),
    }
    pattern = str(config.keys.get("hybrid_override_pattern", ""))
    unknown = sorted(set(pattern) - set(parts))
    layers = config.count("num_hidden_layers")
    if unknown or len(pattern) != layers:
        raise InputError(
            f"hybrid_override_pattern is {as_written(pattern)}; write {layers} letters, one per "
            "layer: M (Mamba-2), * (attention), - (feed-forward)."
        )
    return language(config, [parts[letter] for letter in pattern])


def _mamba(config: Config) -> StateSpace:
    return StateSpace(
        heads=config.count("mamba_num_heads"),
        width=config.count("mamba_head_dim"),
        groups=config.count("n_groups"),
        state=config.count("ssm_state_size"),
        kernel=config.count("conv_kernel", 4),
        chunk=config.count("chunk_size", 128),
    )
