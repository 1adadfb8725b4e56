"""The language model of a measured run: from the library by name, or from the stated structure."""

from __future__ import annotations

from functools import lru_cache

from foretrain.errors import InputError
from foretrain.measured import defaults
from foretrain.measured.coverage import Assumptions, NotCovered, stated
from foretrain.measured.decoders import FAMILIES, shape_of, sized
from foretrain.measured.images import images_of
from foretrain.measured.run import MeasuredRun, Network, Table
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import build, find
from foretrain.workload.library.entry import Reads
from foretrain.workload.library.transformer import Decoder, decoder
from foretrain.workload.trainable import Trainable, adapted

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
WITH_PREDICTION = ("w/ mtp", "deepseek-v3-mtp")


def model_of(run: MeasuredRun, assumptions: Assumptions) -> Model:
    """The model of a row, with adapters where only they are trained.

    Raises:
        NotCovered: foretrain has no model for it, or the row does not state its structure.
    """
    if run.table is Table.CNN_TRAINING:
        return images_of(run, assumptions)
    model = _language_model(run, assumptions)
    if run.task.startswith("LoRA"):
        return _with_adapters(model, assumptions.take(defaults.LORA))
    return model


def _language_model(run: MeasuredRun, assumptions: Assumptions) -> Model:
    network = run.network
    dense = network.family in FAMILIES and network.experts is None
    if dense and run.table is not Table.MEMORY:
        if network.layers is not None or network.hidden is not None:
            shape = shape_of(network, assumptions)
            return _decoder(network.name, shape, _sequence(network, assumptions))
        if network.parameters is not None and not _known(network.name):
            tokens = stated(network.sequence, "sequence length")
            return _decoder(network.name, sized(network, assumptions), tokens)
    return _in_library(run, assumptions)


def _in_library(run: MeasuredRun, assumptions: Assumptions) -> Model:
    network = run.network
    if not _known(network.name):
        raise NotCovered(f"structure of '{network.name}' not stated, nor in the library")
    name = find(network.name).name
    if name == "deepseek-v3":
        noted, variant = WITH_PREDICTION
        name = variant if noted in run.notes.lower() else name + _no_prediction(run, assumptions)
    return _built(name, _sequence(network, assumptions))


def _no_prediction(run: MeasuredRun, assumptions: Assumptions) -> str:
    said = "w/o mtp" in run.notes.lower()
    return "" if said else assumptions.take(defaults.NO_PREDICTION)


def _known(name: str) -> bool:
    """Whether the library has a model of text of that name."""
    try:
        return find(name).reads is Reads.TOKENS
    except InputError:
        return False


def _sequence(network: Network, assumptions: Assumptions) -> int:
    """Tokens per sample, as stated or as the model is usually trained."""
    if network.sequence is None and _known(network.name):
        default = defaults.SEQUENCES.get(find(network.name).name)
        if default is not None:
            return assumptions.take(default)
    return stated(network.sequence, "sequence length")


@lru_cache(maxsize=256)
def _built(name: str, sequence: int) -> Model:
    return build(name, sequence=sequence)


@lru_cache(maxsize=256)
def _decoder(name: str, shape: Decoder, sequence: int) -> Model:
    return decoder(name, shape, sequence=sequence)


@lru_cache(maxsize=16)
def _with_adapters(model: Model, rank: int) -> Model:
    return adapted(model, Trainable(lora=rank, targets=ATTENTION))
