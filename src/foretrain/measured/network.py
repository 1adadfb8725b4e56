"""The network of a measured run, and its batch.

The batch of a measured run: of a step, and of one pass through the network.

The plans of a measured run, from the columns that state its layout.

The network of a measured run on images, by the name that its source gives it.

Networks of measured runs that read neither text nor images: the library's, by name.

The language model of a measured run: from the library by name, or from the stated structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from types import MappingProxyType
from typing import Final

from foretrain.measured import defaults, lore, recipe, tuning
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.decoders import FAMILIES, FAMILY, both_sides_of, encoder_of, shape_of, sized
from foretrain.measured.degrees import (
    Degrees,
    attention_of,
    recompute_of,
    sequence_parallel_of,
    sharding_of,
)
from foretrain.measured.lore import tuned
from foretrain.measured.run import MeasuredRun, TableKind, TrainedNetwork
from foretrain.plan.plan import Offload, Plan, Sends, cuts_into
from foretrain.workload.execution import with_written_gelu
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import SampleKind, build, find, known
from foretrain.workload.parts.language_model import Decoder, decoder


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Samples of a step, and of one micro-batch of one replica."""

    step: int
    micro: int


def batch_of(run: MeasuredRun, degrees: Degrees, assumptions: Assumptions, *, tokens: int) -> Batch:
    """The samples of a run.

    Args:
        run: the run.
        degrees: of its axes.
        assumptions: takes what stands for blanks.
        tokens: of a sample.

    A step waits for the replica with most samples, so where they do not divide evenly it takes what
    it would if all had as many.

    Raises:
        NotCovered: no batch is stated.
    """
    layout, step, micro = run.layout, run.global_batch, run.layout.micro_batch
    if micro is None and layout.batch_tokens is not None:
        micro = float(layout.batch_tokens // tokens)
    batch = recipe.BATCHES.of(run)
    if step is None and micro is None and batch is not None:
        micro = float(assumptions.take(batch))
    if step is None:
        count = stated(micro, "global batch") * degrees.data
        step = int(count * assumptions.fill(layout.accumulation, defaults.NO_ACCUMULATION))
    if micro is None:
        share = step / degrees.data
        if layout.accumulation is not None:
            micro = share / layout.accumulation
        elif degrees.pipeline > 1:
            micro = float(assumptions.take(defaults.SINGLE_SAMPLES))
        else:
            assumptions.take(defaults.WHOLE_SHARE)
            micro = share
    samples = max(1, ceil(micro))
    together = samples * degrees.data
    if step % together or samples != micro:
        assumptions.note(defaults.ROUNDED_SHARES.words)
        step = together * max(1, ceil(step / together))
    return Batch(step=step, micro=samples)


OFFLOAD: Mapping[str, Offload] = MappingProxyType(
    {"": Offload.NONE, **{each.name.lower(): each for each in Offload}}
)
"""What waits in the host's memory, by a source's word; nothing unless it says so."""


def _offload(run: MeasuredRun) -> Offload:
    """What waits in the host's memory, by its column or by the notes."""
    noted = "activations" if recipe.OFFLOADED.search(run.notes) else ""
    return OFFLOAD[run.layout.offload or noted]


def plans_of(
    run: MeasuredRun, model: Model, divided: tuple[Degrees, Batch], *, assumptions: Assumptions
) -> tuple[Plan, ...]:
    """How a run was laid out: one plan, or several of which the first that fits is meant.

    Raises:
        NotCovered: a policy that foretrain does not know.
    """
    degrees, batch = divided
    chunks = _chunks(run, (degrees, batch), layers=model.cuttable_layers, assumptions=assumptions)
    sharding, shard = sharding_of(run, degrees, assumptions)
    shared_experts = model.experts and degrees.tensor > 1
    plan = Plan(
        data=degrees.data,
        tensor=degrees.tensor,
        context=degrees.context,
        pipeline=degrees.pipeline,
        expert=degrees.expert,
        expert_tensor=assumptions.take(defaults.WHOLE_EXPERTS) if shared_experts else 1,
        interleaving=chunks,
        micro_batch=batch.micro,
        sequence_parallel=sequence_parallel_of(run, degrees, assumptions),
        sharding=sharding,
        shard=shard,
        offload=_offload(run),
        attention=attention_of(run, model, assumptions),
        sends=(
            Sends.OVERLAPPED
            if degrees.pipeline == 1
            else _sends(assumptions, interleaved=chunks > 1)
        ),
    )
    stages, layers = degrees.pipeline, model.cuttable_layers
    if not cuts_into("even", layers, pipeline=stages, chunks=stages * chunks):
        assumptions.note(defaults.BALANCED_CUT.words)
        plan = replace(plan, cut="balanced")
    if degrees.divided:
        plan = replace(plan, order=assumptions.take(defaults.RANK_ORDER))
    first, *others = (
        replace(plan, recompute=recompute, recompute_layers=layers)
        for recompute, layers in recompute_of(run, model, assumptions)
    )
    if run.layout.zero_stage == 3 and assumptions.of("offload").value is None:
        # Activations go to the host before anything more is computed twice.
        return first, *_spilled(first, layers), *others
    return first, *others


def _spilled(plan: Plan, every: int) -> Iterator[Plan]:
    """A plan with activations of ever more layers on the host, by quarters of all."""
    some = (round(every * quarters / 4) for quarters in (1, 2, 3))
    for layers in (*filter(None, some), 0):
        yield replace(plan, offload=Offload.ACTIVATIONS, offload_layers=layers)


def _chunks(
    run: MeasuredRun, divided: tuple[Degrees, Batch], *, layers: int, assumptions: Assumptions
) -> int:
    """Chunks per stage, fewer than stated where the ends were counted as layers."""
    degrees, batch = divided
    if degrees.pipeline == 1:
        return 1
    most = max(1, layers // degrees.pipeline)
    if run.layout.interleaving is None and batch.step % (
        batch.micro * degrees.data * degrees.pipeline
    ):
        # Interleaving needs as many micro-batches as stages, or a multiple (narayanan2021).
        return 1
    chunks = run.layout.interleaving or assumptions.unset("interleaving").value or most
    if chunks > most:
        assumptions.note(defaults.FEWER_CHUNKS.words)
    return min(chunks, most)


def _sends(assumptions: Assumptions, *, interleaved: bool) -> Sends:
    """Whether stages compute while they send, by the trainer's habit."""
    sends: Sends = assumptions.of("sends").value[interleaved]
    word = "overlap with compute" if sends is Sends.OVERLAPPED else "block"
    assumptions.note(f"sends between stages {word}")
    return sends


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
    found = _language_model(run, assumptions)
    if recipe.writes_gelu(run):
        found = with_written_gelu(found)
    return tuning.tuned(run, found, assumptions)


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
