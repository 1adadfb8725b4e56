"""Models of pictures and text, whose text stands under a key of its own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from foretrain.errors import InputError
from foretrain.study.config.config import Config

TEXT_OF: Mapping[str, str] = MappingProxyType(
    {
        "gemma3": "gemma3_text",
        "idefics2": "mistral",
        "idefics3": "llama",
        "internvl": "qwen2",
        "llama4": "llama4_text",
        "llava": "llama",
        "llava_next": "llama",
        "llava_next_video": "llama",
        "llava_onevision": "qwen2",
        "mistral3": "mistral",
        "smolvlm": "llama",
        "video_llava": "llama",
        "vipllava": "llama",
    }
)
"""Families whose text is a decoder that is known here, and its family where none is named."""

OWN = frozenset({"gemma3", "llama4"})
"""Those whose text is of one family, whatever text_config says."""

_GEMMA_3 = {
    "vocab_size": 262208,
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "sliding_window": 4096,
    "sliding_window_pattern": 6,
}
DEFAULTS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "gemma": {
            "vocab_size": 256000,
            "hidden_size": 3072,
            "intermediate_size": 24576,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 16,
            "head_dim": 256,
        },
        "gemma2": {
            "vocab_size": 256000,
            "hidden_size": 2304,
            "intermediate_size": 9216,
            "num_hidden_layers": 26,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 256,
            "sliding_window": 4096,
        },
        "gemma3_text": _GEMMA_3,
        "llama": {
            "vocab_size": 32000,
            "hidden_size": 4096,
            "intermediate_size": 11008,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
        },
        "llama4_text": {
            "vocab_size": 202048,
            "hidden_size": 5120,
            "intermediate_size": 8192,
            "intermediate_size_mlp": 16384,
            "num_hidden_layers": 48,
            "num_attention_heads": 40,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "num_experts_per_tok": 1,
            "num_local_experts": 16,
            "interleave_moe_layer_step": 1,
            "attention_chunk_size": 8192,
        },
        "mistral": {
            "vocab_size": 32000,
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "sliding_window": 4096,
        },
        "qwen2": {
            "vocab_size": 151936,
            "hidden_size": 4096,
            "intermediate_size": 22016,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 32,
            "sliding_window": 4096,
            "max_window_layers": 28,
        },
    }
)
"""What keys mean by their absence from text_config, which is saved as what differs from these.

A configuration that stands alone is saved whole, so there a missing key is a mistake.

Source: transformers 5.23.0, defaults of the classes in models/*/configuration_*.py.
"""


def text_of(config: Mapping[str, object]) -> Config:
    """The text of a model of pictures, as a configuration of the text's own family.

    Args:
        config: whose model_type is one of `TEXT_OF`.

    Raises:
        InputError: it has no text_config, or that is no table.
    """
    family = str(config["model_type"])
    inside = Config(config, family).inside("text_config").keys
    if not inside:
        raise InputError(f"text_config is missing; a model of type {family} needs it.")
    named = None if family in OWN else inside.get("model_type")
    text = named or TEXT_OF[family]
    return Config({**DEFAULTS.get(str(text), {}), **inside, "model_type": text}, str(text))
