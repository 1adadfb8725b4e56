"""Entries of models of text: a shape, its builder, and a line that says what it is."""

from __future__ import annotations

from functools import partial

from foretrain.workload.library.entry import Entry
from foretrain.workload.library.variants import model_of_shape
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.encoder_decoder import EncoderDecoder
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.experts import Experts
from foretrain.workload.parts.language_model import LanguageModel
from foretrain.workload.parts.latent import Latent

TextShape = LanguageModel | EncoderDecoder


def text_entry(
    name: str, shape: TextShape, *, kind: str, source: str, aliases: tuple[str, ...] = ()
) -> Entry:
    """An entry whose summary is read off its shape; `kind` is what people call the model."""
    runs = (shape.encoder, shape.decoder) if isinstance(shape, EncoderDecoder) else shape.runs
    blocks = [block for run in runs for block in run.blocks]
    layers = sum(run.repeats * len(run.blocks) for run in runs)
    mixers = [_mixed(block) for block in blocks] + [_worked(block) for block in blocks]
    found = ", ".join(dict.fromkeys(word for word in mixers if word))
    described = f"{layers} layers of {shape.hidden}, {found}"
    return Entry(
        name=name,
        summary=f"{kind}, {described}",
        source=source,
        build=partial(model_of_shape, name, shape),
        shape=shape,
        aliases=aliases,
    )


def language(
    hidden: int, vocabulary: int, runs: tuple[Run, ...] | Run, *, tied: bool = False
) -> LanguageModel:
    """A decoder with RMS norms and without biases, dropout or learned positions."""
    return LanguageModel(
        hidden=hidden,
        embedding=Embedding(vocabulary=vocabulary),
        runs=(runs,) if isinstance(runs, Run) else runs,
        head=LanguageHead(tied=tied),
    )


def _mixed(block: Block) -> str:
    if isinstance(block.mixer, Heads):
        heads = block.mixer
        shared = "" if heads.kv_heads == heads.heads else f" ({heads.kv_heads} key-value)"
        return f"{heads.heads} heads{shared}"
    if isinstance(block.mixer, Latent):
        return f"{block.mixer.heads} latent heads"
    return "Mamba-2" if block.mixer else ""


def _worked(block: Block) -> str:
    if isinstance(block.feed_forward, Experts):
        return f"{block.feed_forward.chosen} of {block.feed_forward.count} experts"
    return ""
