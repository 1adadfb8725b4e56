"""Entries of the library whose networks are trunks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from foretrain.workload.graph import Model
from foretrain.workload.library.convolution.network import Network
from foretrain.workload.library.entry import Entry, Reads

Builder = Callable[[int], Network]


def images(
    name: str,
    builder: Builder,
    *,
    summary: str,
    source: str,
    aliases: tuple[str, ...] = (),
    shape: object | None = None,
) -> Entry:
    """An entry for square images or volumes of any size."""
    return Entry(
        name=name,
        summary=summary,
        source=source,
        reads=Reads.IMAGE,
        build=partial(_model, builder),
        shape=shape,
        aliases=aliases,
    )


def frames(
    name: str, builder: Builder, *, summary: str, source: str, aliases: tuple[str, ...] = ()
) -> Entry:
    """An entry for speech, whose `sequence` is frames of 10 ms."""
    return Entry(
        name=name,
        summary=f"{summary}; sequence is frames of 10 ms",
        source=source,
        reads=Reads.TOKENS,
        build=partial(_model_of_frames, builder),
        aliases=aliases,
    )


def fixed(
    name: str,
    builder: Callable[[], Network],
    *,
    summary: str,
    source: str,
    aliases: tuple[str, ...] = (),
) -> Entry:
    """An entry for samples of one size, which the summary states."""
    return Entry(
        name=name,
        summary=summary,
        source=source,
        reads=Reads.NOTHING,
        build=partial(_model_of_one_size, builder),
        aliases=aliases,
    )


def _model(builder: Builder, image: int) -> Model:
    return builder(image).model("network")


def _model_of_frames(builder: Builder, sequence: int) -> Model:
    return builder(sequence).model("network", tokens=sequence)


def _model_of_one_size(builder: Callable[[], Network], _: int) -> Model:
    return builder().model("network")
