"""The network of a measured run on images, by the name that its source gives it.

Networks of measured runs that read neither text nor images: the library's, by name.

The language model of a measured run: from the library by name, or from the stated structure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from foretrain.measured import defaults, lore, tuning
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.decoders import FAMILIES, FAMILY, both_sides_of, encoder_of, shape_of, sized
from foretrain.measured.lore import tuned
from foretrain.measured.run import MeasuredRun, TableKind, TrainedNetwork
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import SampleKind, build, find, known
from foretrain.workload.parts.language_model import Decoder, decoder

VARIANTS = MappingProxyType({"volumes": "nnunet-3d", "slices": "nnunet-2d"})
"""Networks of the library by what the table's column `variant` says of nnU-Net."""


def images_of(run: MeasuredRun, assumptions: Assumptions) -> Model:
    """The network of a row of a table of convolutional networks.

    Raises:
        NotCovered: the library has no network of that name.
    """
    name = run.network.name
    built = known(name)
    if run.network.inventory is not None and (built is None or built.reads is not SampleKind.IMAGE):
        return run.network.inventory.model
    entry = known(VARIANTS.get(run.network.variant, name))
    if entry is None:
        raise NotCovered(f"network '{name}' is not in the library")
    if entry.name.startswith("resnet-") and "v1" not in name.lower():
        entry = find(entry.name + assumptions.take(lore.RESNETS.of(run)))
    if entry.reads is not SampleKind.IMAGE:
        return network(entry.name)
    default = defaults.IMAGES.get(entry.name, defaults.IMAGE)
    return network(entry.name, image=assumptions.fill(run.network.image, default))


@lru_cache(maxsize=256)
def network(name: str, *, image: int | None = None) -> Model:
    """A network of the library, built once for many rows."""
    return build(name, image=image)


def listed_of(run: MeasuredRun, assumptions: Assumptions) -> Model:
    """The network of a row on speech, recommendation, ...

    Raises:
        NotCovered: the library has no network of that name, the row does not state the length of a
            sample, or its numbers are in doubt.
    """
    if run.doubt:
        raise NotCovered(f"numbers in doubt: {run.doubt}")
    name = run.network.name
    entry = known(name)
    if entry is None:
        raise NotCovered(f"network '{name}' is not in the library")
    if entry.reads is SampleKind.NOTHING:
        return network(entry.name)
    tokens = run.network.sequence
    if tokens is None and entry.name in defaults.SEQUENCES:
        tokens = assumptions.take(defaults.SEQUENCES[entry.name])
    return _built(entry.name, stated(tokens, "length of a sample"))


@lru_cache(maxsize=256)
def _built(name: str, sequence: int) -> Model:
    return build(name, sequence=sequence)


PICTURES = frozenset({TableKind.CNN_TRAINING, TableKind.SINGLE_DEVICE})
"""Tables of networks of images."""

PREDICTING: Mapping[str, str] = MappingProxyType(
    {"deepseek-v3": "deepseek-v3-mtp", "nemotron-3-super": "nemotron-3-super-mtp"}
)
"""Models of the library by those without what predicts tokens further ahead."""

TWO_SIDED: Final = re.compile("t5|bart|encoder.decoder")
"""Families of an encoder and a decoder."""


def reads_images(run: MeasuredRun) -> bool:
    """Whether a row is about a network of images: by its table, or as it states their size.

    A table of single devices has models of text too: those that the library knows as such, or whose
    rows state tokens.
    """
    if run.network.image is not None:
        return True
    text = _known(run.network.name) or run.network.sequence is not None
    return run.table in PICTURES and not (text and run.network.inventory is None)


def model_of(run: MeasuredRun, assumptions: Assumptions) -> Model:
    """The model of a row, with adapters where only they are trained.

    Raises:
        NotCovered: foretrain has no model for it, or the row does not state its structure.
    """
    if reads_images(run):
        return images_of(run, assumptions)
    if run.table is TableKind.OTHER_TRAINING:
        return listed_of(run, assumptions)
    if lore.BY_LITGPT.of(run):
        # A model that LitGPT fine-tunes; the table gives names and sizes apart.
        network = run.network
        name = network.name
        if not _known(name) and network.parameters is not None:
            name = f"{name} {network.parameters / 1e9:g}b"
        if not _known(name):
            raise NotCovered(f"'{name}' is not in the library")
        tokens = network.sequence or assumptions.take(lore.LONGEST.of(run))
        return tuned(run, _built(find(name).name, tokens))
    return tuning.tuned(run, _language_model(run, assumptions), assumptions)


def _language_model(run: MeasuredRun, assumptions: Assumptions) -> Model:
    """The library's model of a name, or one of the stated sizes, whatever its family is called."""
    network, named = run.network, _known(run.network.name)
    sides = TWO_SIDED.search(network.family.lower())
    # A memory table has no column for sizes; a family that the library has details of, has them.
    plain = network.family in FAMILIES and network.experts is None
    if network.hidden is not None and (not named or (plain and run.table is not TableKind.MEMORY)):
        tokens = _sequence(network, assumptions)
        if sides:
            return both_sides_of(network, assumptions, sequence=tokens)
        if FAMILY in (network.family, network.name.lower()[: len(FAMILY)]):
            return encoder_of(network, assumptions, sequence=tokens)
        shape = shape_of(network, assumptions, tensor=run.layout.tensor or 1)
        return _decoder(network.name, shape, tokens)
    if not named:
        if network.parameters is None or network.experts is not None or sides:
            raise NotCovered(f"structure of '{network.name}' not stated, nor in the library")
        return _decoder(network.name, sized(network, assumptions), _sequence(network, assumptions))
    name = find(network.name).name
    if name in PREDICTING:
        ahead = assumptions.fill(network.token_prediction, lore.PREDICTION.of(run))
        name = PREDICTING[name] if ahead else name
    return _built(name, _sequence(network, assumptions))


def _known(name: str) -> bool:
    """Whether the library has a model of text of that name."""
    entry = known(name)
    return entry is not None and entry.reads is SampleKind.TOKENS


def _sequence(network: TrainedNetwork, assumptions: Assumptions) -> int:
    """Mean tokens per sample, as stated or as the model is usually trained."""
    if network.sequence is None and _known(network.name):
        default = defaults.SEQUENCES.get(find(network.name).name)
        if default is not None:
            return assumptions.take(default)
    if network.sequence is None and not _known(network.name):
        return assumptions.take(defaults.CONTEXT)
    return round(stated(network.sequence, "sequence length") * (network.fill or 1.0))


@lru_cache(maxsize=256)
def _decoder(name: str, shape: Decoder, sequence: int) -> Model:
    return decoder(name, shape, sequence=sequence)
