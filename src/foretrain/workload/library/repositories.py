"""Models of the library as Hugging Face calls them: organisation/name.

Only repositories whose configuration has the sizes of the entry. Those that hold pictures besides
(Gemma 3 from 4B on, Llama 4), another vocabulary or another window (Mistral 7B from v0.2 on) are
left out: their config.json is read as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final


def _tuned(names: str, *endings: str) -> tuple[str, ...]:
    """Repositories, and each again with the ending of what was tuned from it."""
    return tuple(f"{name}{ending}" for name in names.split() for ending in ("", *endings))


_INSTRUCT: Final = "-Instruct"
_CHAT: Final = "-Chat"

REPOSITORIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "gpt-2-124m": ("openai-community/gpt2",),
        "gpt-2-355m": ("openai-community/gpt2-medium",),
        "gpt-2-774m": ("openai-community/gpt2-large",),
        "gpt-2-1.5b": ("openai-community/gpt2-xl",),
        "gpt-j-6b": ("EleutherAI/gpt-j-6b",),
        "gpt-neox-20b": ("EleutherAI/gpt-neox-20b",),
        "phi-1.5": ("microsoft/phi-1_5",),
        **{
            f"opt-{size}": (f"facebook/opt-{size}",)
            for size in ("125m", "350m", "1.3b", "2.7b", "6.7b", "13b", "30b", "66b")
        },
        "bloom-560m": ("bigscience/bloom-560m",),
        "bloom-1.1b": ("bigscience/bloom-1b1",),
        "bloom-1.7b": ("bigscience/bloom-1b7",),
        "bloom-3b": ("bigscience/bloom-3b",),
        "bloom-7.1b": ("bigscience/bloom-7b1",),
        "bloom-176b": ("bigscience/bloom",),
        "llama-1-7b": ("huggyllama/llama-7b",),
        "llama-1-13b": ("huggyllama/llama-13b",),
        "llama-1-33b": ("huggyllama/llama-30b",),
        "llama-1-65b": ("huggyllama/llama-65b",),
        **{
            f"llama-2-{size}": (
                f"meta-llama/Llama-2-{size}-hf",
                f"meta-llama/Llama-2-{size}-chat-hf",
            )
            for size in ("7b", "13b", "70b")
        },
        **{
            f"llama-3-{size}": _tuned(
                f"meta-llama/Meta-Llama-3-{size} meta-llama/Llama-3.1-{size}"
                f" meta-llama/Meta-Llama-3.1-{size}",
                _INSTRUCT,
            )
            for size in ("8b", "70b")
        },
        "llama-3-405b": _tuned(
            "meta-llama/Llama-3.1-405B meta-llama/Meta-Llama-3.1-405B", _INSTRUCT
        ),
        "llama-3.2-1b": _tuned("meta-llama/Llama-3.2-1B", _INSTRUCT),
        "llama-3.2-3b": _tuned("meta-llama/Llama-3.2-3B", _INSTRUCT),
        "code-llama-34b": ("codellama/CodeLlama-34b-hf",),
        "internlm-7b": ("internlm/internlm-7b",),
        "mistral-7b": ("mistralai/Mistral-7B-v0.1", "mistralai/Mistral-7B-Instruct-v0.1"),
        "mixtral-8x7b": ("mistralai/Mixtral-8x7B-v0.1", "mistralai/Mixtral-8x7B-Instruct-v0.1"),
        "mixtral-8x22b": ("mistralai/Mixtral-8x22B-v0.1",),
        "phi-3-mini": ("microsoft/Phi-3-mini-4k-instruct",),
        "phi-3-medium": ("microsoft/Phi-3-medium-4k-instruct",),
        **{f"falcon-{size}": _tuned(f"tiiuae/falcon-{size}", _INSTRUCT) for size in ("7b", "40b")},
        "falcon-180b": _tuned("tiiuae/falcon-180B", _CHAT),
        "qwen1.5-moe-a2.7b": _tuned("Qwen/Qwen1.5-MoE-A2.7B", _CHAT),
        **{
            f"qwen2-{size}": _tuned(f"Qwen/Qwen2-{size}", _INSTRUCT)
            for size in ("0.5b", "1.5b", "7b", "72b", "57b-a14b")
        },
        **{
            f"qwen2.5-{size}": _tuned(f"Qwen/Qwen2.5-{size}", _INSTRUCT)
            for size in ("0.5b", "1.5b", "3b", "7b", "14b", "32b", "72b")
        },
        **{
            f"qwen3-{size}": _tuned(f"Qwen/Qwen3-{size}", "-Base")
            for size in ("0.6b", "1.7b", "4b", "8b", "14b", "30b-a3b")
        },
        "qwen3-32b": ("Qwen/Qwen3-32B",),
        "qwen3-235b-a22b": ("Qwen/Qwen3-235B-A22B",),
        **{f"gemma-{size}": _tuned(f"google/gemma-{size}", "-it") for size in ("2b", "7b")},
        **{
            f"gemma-2-{size}": _tuned(f"google/gemma-2-{size}", "-it")
            for size in ("2b", "9b", "27b")
        },
        "gemma-3-1b": ("google/gemma-3-1b-pt", "google/gemma-3-1b-it"),
        "deepseek-moe-16b": ("deepseek-ai/deepseek-moe-16b-base",),
        "deepseek-v2-lite": _tuned("deepseek-ai/DeepSeek-V2-Lite", _CHAT),
        "deepseek-v2": _tuned("deepseek-ai/DeepSeek-V2", _CHAT),
        "deepseek-v3": (
            *("deepseek-ai/DeepSeek-V3", "deepseek-ai/DeepSeek-V3-Base"),
            *("deepseek-ai/DeepSeek-V3-0324", "deepseek-ai/DeepSeek-R1"),
        ),
        "kimi-k2": ("moonshotai/Kimi-K2-Base", "moonshotai/Kimi-K2-Instruct"),
        "gpt-oss-20b": ("openai/gpt-oss-20b",),
        "gpt-oss-120b": ("openai/gpt-oss-120b",),
        "nemotron-h-8b": ("nvidia/Nemotron-H-8B-Base-8K",),
        "bert-base": ("google-bert/bert-base-uncased",),
        "bert-base-cased": ("google-bert/bert-base-cased",),
        "bert-large": ("google-bert/bert-large-uncased",),
        "roberta-base": ("FacebookAI/roberta-base",),
        "roberta-large": ("FacebookAI/roberta-large",),
        **{
            f"t5-{size}": (f"google-t5/t5-{size}",)
            for size in ("small", "base", "large", "3b", "11b")
        },
        **{
            f"mt5-{size}": (f"google/mt5-{size}",)
            for size in ("small", "base", "large", "xl", "xxl")
        },
        "bart-base": ("facebook/bart-base",),
        "bart-large": ("facebook/bart-large",),
        "vit-b-16": ("google/vit-base-patch16-224",),
        "vit-l-16": ("google/vit-large-patch16-224",),
        **{
            f"resnet-{layers}": (f"microsoft/resnet-{layers}",) for layers in (18, 34, 50, 101, 152)
        },
        "wav2vec2-base": ("facebook/wav2vec2-base",),
        "wav2vec2-large": ("facebook/wav2vec2-large",),
    }
)
"""Repositories by entry; capitals do not matter.

Source: huggingface.co, organisations of the publishers (openai-community, google-bert, google-t5,
FacebookAI and huggyllama for those who left none), as transformers 5.23.0 and sglang 0.5.23 name
them; sizes within a family follow their names.
"""
