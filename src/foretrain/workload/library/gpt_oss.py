"""GPT-OSS: experts with biases, attention sinks, every other layer sees 128 tokens."""

from __future__ import annotations

from foretrain.workload.library.entry import Entry
from foretrain.workload.library.text import language, text_entry
from foretrain.workload.parts.attention import Heads, SlidingWindow
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.experts import Experts
from foretrain.workload.parts.feed_forward import FeedForward


def _gpt_oss(name: str, *, layers: int, experts: int) -> Entry:
    block = Block(
        mixer=Heads(
            heads=64,
            kv_heads=8,
            width=64,
            bias=True,
            output_bias=True,
            scaled=True,
            sinks=True,
            window=SlidingWindow(tokens=128, share=1 / 2),
        ),
        feed_forward=Experts(
            count=experts,
            chosen=4,
            each=FeedForward(width=2880, gated=True, bias=True),
            router_bias=True,
            clamped=True,
        ),
    )
    shape = language(2880, 201_088, Run(blocks=(block,), repeats=layers))
    return text_entry(name, shape, kind="GPT-OSS decoder", source="openai2025, table 1")


ENTRIES = (
    _gpt_oss("gpt-oss-20b", layers=24, experts=32),
    _gpt_oss("gpt-oss-120b", layers=36, experts=128),
)
