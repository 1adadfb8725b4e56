"""GPT-2 and its open kin: GPT-J, GPT-NeoX, StableLM Alpha, phi-1.5, OPT, BLOOM, MPT."""

from __future__ import annotations

from foretrain.workload.library.entry import Entry
from foretrain.workload.library.text import text_entry
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Arrangement, Block, Run
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.language_model import LanguageModel
from foretrain.workload.parts.stream import Norm

Sizes = tuple[int, int, int]
"""Layers, hidden, heads; the feed-forward part is four times as wide as the stream."""


def _shape(
    sizes: Sizes,
    embedding: Embedding,
    head: LanguageHead,
    *,
    dropout: bool = False,
    attention_bias: bool = True,
    arrangement: Arrangement = Arrangement.SERIAL,
    rotary: bool = False,
) -> LanguageModel:
    layers, hidden, heads = sizes
    block = Block(
        mixer=Heads(
            heads=heads,
            kv_heads=heads,
            width=hidden // heads,
            bias=attention_bias,
            output_bias=attention_bias,
            rotary=rotary,
        ),
        feed_forward=FeedForward(width=4 * hidden, bias=True),
        arrangement=arrangement,
    )
    return LanguageModel(
        hidden=hidden,
        embedding=embedding,
        runs=(Run(blocks=(block,), repeats=layers),),
        head=head,
        norm=Norm.SCALE_AND_SHIFT,
        dropout=dropout,
    )


def _gpt_2(name: str, sizes: Sizes, *aliases: str) -> Entry:
    table = Embedding(vocabulary=50_257, positions=1024)
    return text_entry(
        name,
        _shape(sizes, table, LanguageHead(tied=True), dropout=True),
        kind="GPT-2 decoder",
        source="radford2019, table 2",
        aliases=aliases,
    )


def _opt(name: str, sizes: Sizes, *, width: int | None = None) -> Entry:
    """The smallest but one projects a narrow embedding and ends without a norm."""
    table = Embedding(vocabulary=50_272, positions=2050, first=2, width=width)
    head = LanguageHead(tied=True, norm=width is None)
    return text_entry(
        name,
        _shape(sizes, table, head, dropout=True),
        kind="OPT decoder",
        source="zhang2022, table 1",
    )


def _bloom(name: str, sizes: Sizes, *aliases: str) -> Entry:
    """ALiBi adds to the scores what other models add to the tokens, without parameters."""
    table = Embedding(vocabulary=250_880, norm=True)
    return text_entry(
        name,
        _shape(sizes, table, LanguageHead(tied=True)),
        kind="BLOOM decoder",
        source="scao2022, table 3",
        aliases=aliases,
    )


def _mpt(name: str, sizes: Sizes) -> Entry:
    """As the public benchmarks train it: biases and learned positions, unlike released models.

    Their configurations make the table as long as the samples.
    """
    table = Embedding(vocabulary=50_368, positions=2048, follows=True)
    return text_entry(
        name,
        _shape(sizes, table, LanguageHead(tied=True)),
        kind="MPT decoder",
        source="llm-foundry, configurations of MPT",
    )


ENTRIES = (
    _gpt_2("gpt-2-124m", (12, 768, 12), "gpt-2", "gpt-2-117m", "gpt2"),
    _gpt_2("gpt-2-355m", (24, 1024, 16), "gpt-2-medium", "gpt2-medium", "gpt-2-345m"),
    _gpt_2("gpt-2-774m", (36, 1280, 20), "gpt-2-large", "gpt2-large", "gpt-2-762m"),
    _gpt_2("gpt-2-1.5b", (48, 1600, 25), "gpt-2-xl", "gpt2-xl", "gpt-2-1542m"),
    text_entry(
        "gpt-j-6b",
        _shape(
            (28, 4096, 16),
            Embedding(vocabulary=50_400),
            LanguageHead(bias=True),
            attention_bias=False,
            arrangement=Arrangement.PARALLEL,
            rotary=True,
        ),
        kind="GPT-J decoder",
        source="wang2021, published configuration",
        aliases=("gpt-j",),
    ),
    text_entry(
        "gpt-neox-20b",
        _shape(
            (44, 6144, 64),
            Embedding(vocabulary=50_432),
            LanguageHead(),
            arrangement=Arrangement.PARALLEL_NORMS,
            rotary=True,
        ),
        kind="GPT-NeoX decoder",
        source="black2022, section 2 and the published configuration",
    ),
    text_entry(
        "stablelm-alpha-3b",
        _shape(
            (16, 4096, 32),
            Embedding(vocabulary=50_688),
            LanguageHead(),
            arrangement=Arrangement.PARALLEL_NORMS,
            rotary=True,
        ),
        kind="StableLM Alpha decoder",
        source="stablelm-alpha, published configuration (from memory)",
        aliases=("stablelm-base-alpha-3b",),
    ),
    text_entry(
        "phi-1.5",
        _shape(
            (24, 2048, 32),
            Embedding(vocabulary=51_200),
            LanguageHead(bias=True),
            arrangement=Arrangement.PARALLEL,
            rotary=True,
        ),
        kind="Phi-1.5 decoder",
        source="li2023phi, section 2.1 and the published configuration",
        aliases=("phi-1-5",),
    ),
    _opt("opt-125m", (12, 768, 12)),
    _opt("opt-350m", (24, 1024, 16), width=512),
    _opt("opt-1.3b", (24, 2048, 32)),
    _opt("opt-2.7b", (32, 2560, 32)),
    _opt("opt-6.7b", (32, 4096, 32)),
    _opt("opt-13b", (40, 5120, 40)),
    _opt("opt-30b", (48, 7168, 56)),
    _opt("opt-66b", (64, 9216, 72)),
    _opt("opt-175b", (96, 12288, 96)),
    _bloom("bloom-560m", (24, 1024, 16)),
    _bloom("bloom-1.1b", (24, 1536, 16), "bloom-1b1"),
    _bloom("bloom-1.7b", (24, 2048, 16), "bloom-1b7"),
    _bloom("bloom-3b", (30, 2560, 32)),
    _bloom("bloom-7.1b", (30, 4096, 32), "bloom-7b1"),
    _bloom("bloom-176b", (70, 14336, 112), "bloom"),
    _mpt("mpt-125m", (12, 768, 12)),
    _mpt("mpt-350m", (24, 1024, 16)),
    _mpt("mpt-760m", (24, 1536, 12)),
    _mpt("mpt-1b", (24, 2048, 16)),
    _mpt("mpt-3b", (32, 2560, 20)),
    _mpt("mpt-7b", (32, 4096, 32)),
    _mpt("mpt-13b", (40, 5120, 40)),
    _mpt("mpt-30b", (48, 7168, 56)),
    _mpt("mpt-70b", (80, 8192, 64)),
)
