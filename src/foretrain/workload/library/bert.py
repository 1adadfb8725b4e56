"""Encoders of text: BERT, RoBERTa and ELECTRA, with the heads that they are pre-trained with."""

from __future__ import annotations

from functools import partial

from foretrain.workload.library.entry import Entry
from foretrain.workload.library.text import text_entry
from foretrain.workload.library.variants import model_of_shape
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.electra import Electra
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.language_model import LanguageModel
from foretrain.workload.parts.stream import Norm

Sizes = tuple[int, int, int]
"""Layers, hidden, heads; the feed-forward part is four times as wide as the stream."""

_MASKED = 0.15
"""Share of the tokens that are predicted. Source: devlin2019, section 3.1."""


def encoder(sizes: Sizes, *, name: str = "block") -> Run:
    """Layers that see every token, with biases and a norm after each part."""
    layers, hidden, heads = sizes
    block = Block(
        mixer=Heads(
            heads=heads,
            kv_heads=heads,
            width=hidden // heads,
            bias=True,
            output_bias=True,
            rotary=False,
            causal=False,
        ),
        feed_forward=FeedForward(width=4 * hidden, bias=True),
    )
    return Run(blocks=(block,), repeats=layers, name=name)


def _shape(sizes: Sizes, embedding: Embedding, *, pooler: int = 0) -> LanguageModel:
    return LanguageModel(
        hidden=sizes[1],
        embedding=embedding,
        runs=(encoder(sizes),),
        head=LanguageHead(
            norm=False, transform=True, bias=True, tied=True, predicted=_MASKED, pooler=pooler
        ),
        norm=Norm.SCALE_AND_SHIFT,
        dropout=True,
    )


def bert_shape(sizes: Sizes, *, vocabulary: int) -> LanguageModel:
    """With the pooler that tells whether the second sentence follows the first."""
    table = Embedding(vocabulary=vocabulary, positions=512, types=2, norm=True)
    return _shape(sizes, table, pooler=2)


def _bert(name: str, sizes: Sizes, *aliases: str, vocabulary: int = 30_522) -> Entry:
    return text_entry(
        name,
        bert_shape(sizes, vocabulary=vocabulary),
        kind="BERT encoder",
        source="devlin2019, section 3",
        aliases=aliases,
    )


def _roberta(name: str, sizes: Sizes) -> Entry:
    table = Embedding(vocabulary=50_265, positions=514, first=2, types=1, norm=True)
    return text_entry(
        name, _shape(sizes, table), kind="RoBERTa encoder", source="liu2019, section 4"
    )


def _electra(name: str, sizes: Sizes, generator: Sizes) -> Entry:
    layers, hidden, heads = sizes
    shape = Electra(
        embedding=Embedding(vocabulary=30_522, positions=512, types=2, norm=True),
        generator=encoder(generator, name="generator block"),
        generator_hidden=generator[1],
        discriminator=encoder(sizes, name="discriminator block"),
        hidden=hidden,
        masked=_MASKED if hidden < 1024 else 0.25,
    )
    return Entry(
        name=name,
        summary=f"ELECTRA encoder, {layers} layers of {hidden}, {heads} heads, and its generator",
        source="clark2020, table 6",
        build=partial(model_of_shape, name, shape),
        shape=shape,
    )


ENTRIES = (
    _bert("bert-mini", (4, 256, 4)),
    _bert("bert-base", (12, 768, 12), "bert-base-uncased"),
    _bert("bert-base-cased", (12, 768, 12), "bert-base-(biobert)", vocabulary=28_996),
    _bert("bert-large", (24, 1024, 16), "bert-large-uncased"),
    _roberta("roberta-base", (12, 768, 12)),
    _roberta("roberta-large", (24, 1024, 16)),
    _electra("electra-base", (12, 768, 12), (12, 256, 4)),
    _electra("electra-large", (24, 1024, 16), (24, 256, 4)),
)
