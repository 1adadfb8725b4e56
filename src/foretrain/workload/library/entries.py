"""The models that foretrain knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from foretrain.errors import InputError, nearest
from foretrain.workload.graph import Model
from foretrain.workload.library import (
    bert,
    convolutional,
    deepseek,
    detection,
    gemma,
    gpt,
    gpt_oss,
    llama,
    megatron,
    nemotron,
    parallel,
    qwen,
    recommendation,
    segmentation,
    speech,
    t5,
    transformer_xl,
    vit,
    wav2vec,
)
from foretrain.workload.library.entry import Entry, SampleKind
from foretrain.workload.library.repositories import REPOSITORIES
from foretrain.workload.library.variants import model_of_shape, with_positions

_FAMILIES: Final = (
    megatron,
    gpt,
    llama,
    parallel,
    qwen,
    gemma,
    deepseek,
    gpt_oss,
    nemotron,
    bert,
    t5,
    transformer_xl,
    vit,
    convolutional,
    detection,
    segmentation,
    speech,
    wav2vec,
    recommendation,
)

ENTRIES: Mapping[str, Entry] = MappingProxyType(
    {entry.name: entry for family in _FAMILIES for entry in family.ENTRIES}
)

FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        entry.name: family.__name__.rpartition(".")[2].replace("_", " ")
        for family in _FAMILIES
        for entry in family.ENTRIES
    }
)
"""The family of each entry."""


def spellings(name: str) -> tuple[str, ...]:
    """What an entry may be called besides its name, in lower case with hyphens."""
    return (*ENTRIES[name].aliases, *map(_spelled, REPOSITORIES.get(name, ())))


def _spelled(name: str) -> str:
    return name.strip().lower().replace("_", "-").replace(" ", "-")


ALIASES: Mapping[str, str] = MappingProxyType(
    {other: name for name in ENTRIES for other in spellings(name)}
)


def find(name: str) -> Entry:
    """The entry of a name or alias.

    Raises:
        InputError: the library has no such model; the message names the nearest.
    """
    key = _key(name)
    if key not in ENTRIES:
        raise InputError(
            f"unknown model '{name}'.{nearest(key, [*ENTRIES, *ALIASES])} "
            f"'foretrain catalogue models' lists all {len(ENTRIES)}."
        )
    return ENTRIES[key]


def known(name: str) -> Entry | None:
    """The entry of a name or alias, if the library has such a model."""
    return ENTRIES.get(_key(name))


def _key(name: str) -> str:
    key = _spelled(name)
    return ALIASES.get(key, key)


def build(
    name: str,
    *,
    sequence: int | None = None,
    image: int | None = None,
    positions: int | None = None,
) -> Model:
    """A model of the library for samples of one shape.

    Args:
        name: catalogue name or alias.
        sequence: tokens per sample, for models of text.
        image: pixels per side, for networks of images.
        positions: tokens for which its learned table of positions is to have rows; None for as many
            as it was published with.

    Raises:
        InputError: an unknown name, a missing or superfluous shape, or samples longer than the
            table of positions.
    """
    entry = find(name)
    size = _size(entry, sequence=sequence, image=image)
    if positions is not None:
        made = model_of_shape(entry.name, with_positions(entry.shape, positions), size)
        return replace(made, source=entry.source)
    return replace(entry.build(size), name=entry.name, source=entry.source)


def _size(entry: Entry, *, sequence: int | None, image: int | None) -> int:
    """Tokens or pixels of a sample; 1 where the entry reads neither."""
    if entry.reads is SampleKind.NOTHING:
        if sequence is not None or image is not None:
            raise InputError(
                f"model '{entry.name}' reads samples of one size: give neither sequence nor image."
            )
        return 1
    if entry.reads is SampleKind.IMAGE:
        if sequence is not None or image is None:
            raise InputError(
                f"model '{entry.name}' reads images: give image (pixels), no sequence."
            )
        return image
    if image is not None or sequence is None:
        raise InputError(f"model '{entry.name}' reads tokens: give sequence (tokens), no image.")
    return sequence
