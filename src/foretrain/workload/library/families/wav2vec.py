"""wav2vec 2.0, tuned to write letters."""

from __future__ import annotations

from functools import partial

from foretrain.workload.graph import Model
from foretrain.workload.library.entry import Entry
from foretrain.workload.library.families.bert import Sizes, encoder
from foretrain.workload.library.wav2vec import Wav2Vec, wav2vec


def _build(name: str, shape: Wav2Vec, frames: int) -> Model:
    return wav2vec(name, shape, frames=frames)


def _entry(name: str, sizes: Sizes, *aliases: str, normed: bool) -> Entry:
    layers, hidden, _ = sizes
    shape = Wav2Vec(hidden=hidden, run=encoder(sizes), normed=normed)
    return Entry(
        name=name,
        summary=f"wav2vec 2.0, {layers} layers of {hidden}, 32 letters; sequence is frames of "
        "10 ms, two of which make a token",
        source="baevski2020, section 4.2",
        build=partial(_build, name, shape),
        shape=shape,
        aliases=aliases,
    )


ENTRIES = (
    _entry("wav2vec2-base", (12, 768, 12), "wav2vec2", normed=False),
    _entry("wav2vec2-large", (24, 1024, 16), normed=True),
)
