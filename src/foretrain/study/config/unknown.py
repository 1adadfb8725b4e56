"""Decoders of families that are not known: read by the names that most families give their sizes.

What no field says is assumed, and told: each assumption stands beside the prediction, whose
interval is wider. Fields that are not understood and that say something are named too. A
configuration that is no decoder's, or whose layers are of kinds that no known field describes, is
left to be refused. The names stand in `unknown.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, Final

from foretrain.study.config.config import Config
from foretrain.study.config.llama import in_words_of_llama, latent_of, window_of
from foretrain.units import as_written
from foretrain.workload.parts.block import Arrangement
from foretrain.workload.parts.feed_forward import Experts, FeedForward
from foretrain.workload.parts.language_model import DENSE, SPARSE, Decoder

DECODERS: Final = ("ForCausalLM", "LMHeadModel")
"""How classes of decoders end."""

SPREAD: Final = 1.4
"""How much wider the interval is than that of a family that is known.

What architecture alone does to a step: dense decoders of the library, one of each family near 8 G
parameters, take at most 12 % more or less time per parameter than their median. Such errors beside
those of an easy case (0.13 in logarithms, `uncertainty.time`) are 1.31 times as wide. Decoders of
families that are known are read by their fields to within 3 %; `tests/study/config/test_unknown.py`
counts both.
"""

LONGEST_NAME: Final = 100
"""Characters of a family's name, which becomes the model's."""

MOST_NAMED: Final = 12
"""Keys that are not understood, of which so many are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadByFields:
    """A decoder that is read by its fields.

    Attributes:
        sizes: what was read.
        assumed: what no field says, in words.
    """

    sizes: Decoder
    assumed: tuple[str, ...]


@cache
def words() -> Mapping[str, Any]:
    """How configurations name what they say."""
    file = files("foretrain") / "study" / "config" / "unknown.toml"
    return tomllib.loads(file.read_text("utf-8"))


def is_decoder(config: Config) -> bool:
    """Whether a configuration of any family has the sizes of a decoder, and nothing else."""
    named = [str(each) for each in config.listed("architectures")]
    own = "AutoModelForCausalLM" in str(config.keys.get("auto_map"))
    common = _in_common_words(config)
    return (
        len(config.family) <= LONGEST_NAME
        and all(common.has(key) for key in words()["needed"])
        and (not named or own or any(each.endswith(DECODERS) for each in named))
        and not any(config.keys.get(key) for key in words()["others"])
        and not any(key.startswith(tuple(words()["other_parts"])) for key in config.keys)
    )


def by_fields(config: Config) -> ReadByFields:
    """A decoder of an unknown family.

    Args:
        config: one that `is_decoder`.

    Raises:
        InputError: a key is of the wrong kind, or contradicts another.
    """
    common, assumed = _in_common_words(config), list[str]()
    gated, rms = _activation(common, assumed)
    biased = not gated and not rms
    width = common.count_or_none("intermediate_size")
    if width is None and not common.has("moe_intermediate_size"):
        width = 4 * common.count("hidden_size")
        assumed.append("a feed-forward part four times as wide as the stream")
    if not common.has("tie_word_embeddings"):
        assumed.append("one table for both ends (the default of tie_word_embeddings)")
    sizes = {
        "gated": gated,
        "layer_norm": not rms,
        "dropout": common.drops(*words()["dropout"], default=0.0),
        "feed_forward": width,
        **_attention(common, assumed),
        **_biases(common, assumed, biased=biased),
        **_positions(common, assumed, learned=biased),
    }
    bias = bool(sizes["feed_forward_bias"])
    if common.count("num_experts", 1) > 1:
        sizes |= _experts(common, assumed, FeedForward(width=width or 1, gated=gated, bias=bias))
    told = words()
    known = {*told["dropout"], *told["understood"], *told["free"], *chain(*told["same"])}
    # Keys that say something that may change what the model costs.
    rest = sorted(
        key[:60]
        for key, value in config.keys.items()
        if key not in known and value not in (None, False, 0, "", [], {})
    )
    if rest:
        more = f" and {len(rest) - MOST_NAMED} more" if len(rest) > MOST_NAMED else ""
        assumed.append(f"that nothing hangs on the keys {', '.join(rest[:MOST_NAMED])}{more}")
    return ReadByFields(sizes=in_words_of_llama(common, tied=True, **sizes), assumed=tuple(assumed))


def _in_common_words(config: Config) -> Config:
    """The same with the commonest name of each key."""
    said = {
        names[0]: config.keys[key]
        for names in words()["same"]
        for key in reversed(names)
        if config.has(key)
    }
    return Config({**config.keys, **said}, config.family)


def _activation(config: Config, assumed: list[str]) -> tuple[bool, bool]:
    """Whether the feed-forward part is gated, and whether norms only scale.

    No field says whether there is a gate. Parts with SiLU have one, and so have those beside RMS
    norms unless they use a ReLU (shazeer2020; Llama, Gemma, Qwen; Nemotron is not gated). Where
    neither is named, a part of four times the stream's width is a plain one.
    """
    act, width = str(config.keys.get("hidden_act") or ""), config.count_or_none("intermediate_size")
    rms = config.has("rms_norm_eps") or config.flag("rmsnorm", False)
    shifted = config.has("layer_norm_eps") and not rms
    wide = width not in (None, 4 * config.count("hidden_size"))
    gated = (
        "glu" in act
        or act in {"silu", "swish"}
        or (rms and not act.startswith("relu"))
        or (not act and not shifted and wide)
    )
    rms = rms or (gated and not shifted)
    kind, norm = "gated" if gated else "plain", "RMS" if rms else "layer"
    why = f"the activation is {as_written(act)}" if act else "no activation is named"
    assumed.append(f"a {kind} feed-forward part ({why}) and {norm} norms")
    return gated, rms


def _attention(config: Config, assumed: list[str]) -> dict[str, Any]:
    """Heads, or latent attention; norms of queries and keys; windows; how parts are arranged."""
    found: dict[str, Any] = {
        "query_norms": config.flag("use_qk_norm", False),
        "arrangement": Arrangement.PARALLEL
        if config.flag("use_parallel_residual", False)
        else Arrangement.SERIAL,
    }
    if not config.has("use_qk_norm"):
        assumed.append("no norms of queries and keys")
    if config.has("kv_lora_rank"):
        return {**found, **latent_of(config)}
    if not config.has("num_key_value_heads"):
        one = config.flag("multi_query", False)
        found["kv_heads"] = 1 if one else None
        assumed.append("one key-value head" if one else "as many key-value heads as heads")
    if not config.has("head_dim"):
        assumed.append("heads that share the stream's width")
    layers, pattern = (
        config.count("num_hidden_layers"),
        config.count_or_none("sliding_window_pattern"),
    )
    first = int(config.number("max_window_layers", 0))
    if config.flag("use_sliding_window", True):
        windowed = layers - layers // pattern if pattern else max(0, layers - first)
        found |= window_of(config, windowed)
    return found


def _biases(config: Config, assumed: list[str], *, biased: bool) -> dict[str, Any]:
    """Biases of products; where no key says so, those that models with such norms have."""
    if not any(config.has(key) for key in ("use_bias", "attention_bias", "qkv_bias")):
        assumed.append("biases in all products" if biased else "no biases")
    bias = config.flag("use_bias", biased)
    attention = config.flag("attention_bias", bias)
    return {
        "bias": bias,
        "attention_bias": config.flag("qkv_bias", attention),
        "output_bias": attention,
        "feed_forward_bias": config.flag("mlp_bias", bias),
    }


def _positions(config: Config, assumed: list[str], *, learned: bool) -> dict[str, Any]:
    """A learned table, rotations, or numbers added to the scores."""
    told = str(config.keys.get("position_embedding_type") or "")
    if config.flag("alibi", False) or told == "alibi":
        return {"rotary": False}
    if config.has("rope_theta") or told.startswith("rop"):
        return {}
    key = "n_positions" if config.has("n_positions") else "max_position_embeddings"
    if config.has(key) and (learned or told in {"absolute", "learned"}):
        assumed.append(f"a learned table of positions ({key})")
        return {"positions": config.count(key)}
    assumed.append("rotated positions")
    return {}


def _experts(config: Config, assumed: list[str], dense: FeedForward) -> dict[str, Any]:
    """Experts that take the place of a dense part, and in which layers they do."""
    each = config.count("moe_intermediate_size", dense.width)
    several = int(config.number("n_shared_experts", 0)) * each
    shared = config.count_or_none("shared_expert_intermediate_size") or several
    layers, first = config.count("num_hidden_layers"), config.number("first_k_dense_replace", 0)
    # DeepSeek counts every so manieth layer from the first one, others from the one before it.
    every, shift = config.count("moe_layer_freq", 1), 0
    if config.has("decoder_sparse_step"):
        every, shift = config.count("decoder_sparse_step"), 1
    alone = config.listed("mlp_only_layers")
    if not any(map(config.has, ("first_k_dense_replace", "moe_layer_freq", "mlp_only_layers"))):
        assumed.append("experts in every layer" if every == 1 else "layers of experts in between")
    pattern = "".join(
        DENSE if layer < first or (layer + shift) % every or layer in alone else SPARSE
        for layer in range(layers)
    )
    return {
        "feed_forward": dense.width if DENSE in pattern else None,
        "pattern": pattern,
        "experts": Experts(
            count=config.count("num_experts"),
            chosen=config.count("num_experts_per_tok"),
            each=replace(dense, width=each),
            shared=replace(dense, width=shared) if shared else None,
            router_bias=config.keys.get("topk_method") == "noaux_tc",
            groups=int(config.number("n_group", 1)),
            most=int(config.number("topk_group", 1)),
        ),
    }
