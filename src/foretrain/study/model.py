"""The key `model` of a study: a name, a file, or the totals of a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

from foretrain.errors import (
    ForetrainError,
    InputError,
    UnsupportedModel,
    absent,
    missing,
    nearest,
)
from foretrain.study.config.hugging_face import is_known, model_of
from foretrain.study.documents import from_json
from foretrain.study.files import read_text
from foretrain.study.keys import Count, Reads
from foretrain.study.layer_lists import LayerListFile, read_layer_list
from foretrain.study.problems import inner
from foretrain.study.tracing.hugging_face import traced_config
from foretrain.study.tracing.module import traced_code
from foretrain.study.tracing.onnx_file import model_of_onnx
from foretrain.units import FLOP, PARAMETERS, SECONDS, VALUES, as_written
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import build, decoder_of, entries, find, known
from foretrain.workload.library.variants import Routing, routed, with_positions
from foretrain.workload.parts.language_model import language_model
from foretrain.workload.totals import Totals, model_of_totals

REPOSITORY: Final = re.compile(r"[\w-][\w.-]*/[\w.-]*(?<!\.onnx)(?<!\.py)")
"""Organisation and name, as Hugging Face has them."""

CODE: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
"""A module and a name in it."""

TRACERS: Final = ("transformers", "torch")
BUILT: Final = "To build it from its configuration and trace it, foretrain"

MOST_BYTES: Final = 2**20
"""Of a config.json; published ones have a few KiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsSection:
    """The totals of a model, as they are written."""

    parameters: Annotated[float, PARAMETERS]
    flop: Annotated[float, FLOP]
    activations: Annotated[float, VALUES]
    layers: Count | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerListSection:
    """A layer list with the time of the whole network, as they are written."""

    layer_list: str
    seconds: Annotated[float, SECONDS] | None = None


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The path of a config.json, as it is written."""

    path: str


@dataclass(frozen=True, slots=True)
class OnnxFile:
    """The path of an ONNX file, as it is written."""

    path: str


@dataclass(frozen=True, slots=True)
class DecoderSizes:
    """The sizes of a decoder, as they are written."""

    stated: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class CodeSource:
    """`package.module:build`, as it is written."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The size of a sample: tokens, pixels per side, or neither; tokens that have positions."""

    sequence: int | None = None
    image: int | None = None
    positions: int | None = None


Source = str | ConfigFile | LayerListFile | OnnxFile | CodeSource | DecoderSizes | Totals | Model


GIVEN: Final = "<model>"
"""What a document calls the model that a program made, while that is given."""

_GIVEN: ContextVar[Model | None] = ContextVar("given model", default=None)


@contextmanager
def given(model: Model) -> Iterator[None]:
    """While this lasts, a document may name a model that a program made."""
    token = _GIVEN.set(model)
    try:
        yield
    finally:
        _GIVEN.reset(token)


def read_source(value: object) -> Source:
    """A name of the library, a file, or totals.

    Raises:
        InputError: if the library has no such model, or it is a form that nothing reads yet.
    """
    if isinstance(value, Mapping) and "layer_list" in value:
        listed = inner(LayerListSection, value)
        return LayerListFile(path=listed.layer_list, seconds=listed.seconds)
    if isinstance(value, Mapping) and isinstance(value.get("decoder"), Mapping):
        if len(value) > 1:
            raise InputError("decoder = { ... } says all of a model; write nothing beside it.")
        stated = value["decoder"]
        decoder_of(stated)
        return DecoderSizes(stated)
    if isinstance(value, Mapping):
        found = inner(TotalsSection, value)
        return Totals(
            parameters=found.parameters,
            flop=found.flop,
            activations=found.activations,
            layers=found.layers,
        )
    made = _GIVEN.get()
    if made is not None and value == GIVEN:
        return made
    if not isinstance(value, str):
        raise InputError(
            f"{as_written(value)} is no model. Write the name of one, such as 'llama-3-70b', "
            "the path of a config.json or of a layer list (.csv), package.module:build, or "
            "{ parameters, flop, activations }."
        )
    return _read_text(value)


def _read_text(value: str) -> Source:
    """A name of the library, a file, or code."""
    if value.endswith(".json"):
        return ConfigFile(value)
    if value.endswith(".csv"):
        return LayerListFile(path=value)
    if value.endswith(".onnx"):
        return OnnxFile(value)
    if known(value) is None and CODE.fullmatch(value):
        return CodeSource(value)
    if known(value) is None and ("/" in value or ":" in value):
        if not REPOSITORY.fullmatch(value):
            raise InputError(
                f"{as_written(value)} is nothing that foretrain reads. Write the name of a model, "
                "such as 'llama-3-70b', the path of a config.json, of a layer list (.csv) or of an "
                "ONNX file, or package.module:build for a function that returns a torch.nn.Module."
            )
        near = nearest(value, (each for entry in entries().values() for each in entry.repositories))
        raise InputError(
            f"{as_written(value)} is a repository whose sizes foretrain does not know.{near} "
            "Download its config.json and write the path of that."
        )
    return find(value).name


SCHEMA: Final[Mapping[str, object]] = {
    "anyOf": [
        {
            "type": "string",
            "examples": [
                *entries(),
                "path/config.json",
                "path/layers.csv",
                "path/net.onnx",
                "package.module:build",
            ],
        },
        {
            "type": "object",
            "properties": {
                "layer_list": {"type": "string", "description": "path of a CSV file"},
                "seconds": {"type": "string", "description": "of both passes of one sample"},
            },
            "required": ["layer_list"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {
                "decoder": {
                    "type": "object",
                    "description": "layers, hidden, heads, vocabulary and other sizes",
                }
            },
            "required": ["decoder"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {
                "parameters": {"type": ["string", "number"]},
                "flop": {"type": "string", "description": "of the forward pass of one sample"},
                "activations": {"type": ["string", "number"]},
                "layers": {"type": "integer", "minimum": 1},
            },
            "required": ["parameters", "flop", "activations"],
            "additionalProperties": False,
        },
    ]
}
SomeModel = Annotated[Source, Reads(read_source, SCHEMA)]


def read_model(source: Source, sample: Sample, *, routing: Routing, folder: Path | None) -> Model:
    """The model that a study names.

    Args:
        source: what the study says.
        sample: the size of a sample.
        routing: how experts are used.
        folder: of the study's file; None for a study that is no file, which may name none either.

    Raises:
        ForetrainError: the file cannot be read, is of no known family, or misses something; or the
            sample's size does not suit the model.
    """
    if isinstance(source, ConfigFile | LayerListFile | OnnxFile):
        if folder is None:
            raise InputError(f"'{source.path}' is a file, which only a study in a file can name.")
        return _in_file(source, folder, sample=sample, routing=routing)
    if isinstance(source, Model | CodeSource):
        return _brought(source, folder, sample=sample, routing=routing)
    if isinstance(source, DecoderSizes):
        return _by_sizes(source, sample=sample, routing=routing)
    if isinstance(source, Totals):
        if sample.image is not None or sample.positions is not None or routing:
            raise InputError(
                "a model known by its totals has neither image nor positions nor experts."
            )
        return model_of_totals(source, tokens=sample.sequence)
    model = build(source, sequence=sample.sequence, image=sample.image, positions=sample.positions)
    if not routing:
        return model
    shape = routed(find(source).shape, routing)
    return language_model(source, shape, sequence=model.tokens, source=model.source)


def _by_sizes(source: DecoderSizes, *, sample: Sample, routing: Routing) -> Model:
    """A decoder whose sizes the study states."""
    sizes = decoder_of(source.stated)
    if sample.image is not None or sample.sequence is None:
        raise InputError("a decoder reads tokens: give sequence (tokens), no image.")
    shape = routed(sizes.composed, routing) if routing else sizes.composed
    if sample.positions is not None:
        shape = with_positions(shape, sample.positions)
    name = f"decoder of {sizes.layers} layers, {sizes.hidden} wide"
    return replace(shape.model(name, sample.sequence), source="the sizes in the study")


def _brought(
    source: Model | CodeSource, folder: Path | None, *, sample: Sample, routing: Routing
) -> Model:
    """A model that a program made, or one that a function builds, which is traced.

    The function is looked for beside the study first.
    """
    name = source.name
    if sample.positions is not None or routing:
        raise InputError(f"'{name}' is code, which says itself what positions and experts it has.")
    if isinstance(source, CodeSource):
        return traced_code(
            name,
            folder=str(folder.resolve()) if folder else "",
            sequence=sample.sequence,
            image=sample.image,
        )
    if sample.sequence not in {None, source.tokens}:
        raise InputError(f"'{name}' is a model of {source.tokens} tokens already.")
    return source


def _configured(source: ConfigFile, folder: Path, *, sample: Sample, routing: Routing) -> Model:
    """The model of a config.json; a relative path starts at the study's folder.

    A family that is not known here is built by transformers and traced, where that is installed; a
    decoder that cannot be is read by its fields.
    """
    path = folder / source.path
    config = from_json(read_text(path, most=MOST_BYTES), str(path))
    unread: ForetrainError | None = None
    if not (is_known(config) or sample.positions or routing) and not absent(*TRACERS):
        try:
            found = traced_config(config, sequence=sample.sequence, image=sample.image)
            return replace(found, source=source.path)
        except ForetrainError as error:
            unread = error
    try:
        model = model_of(
            config,
            sequence=sample.sequence,
            image=sample.image,
            positions=sample.positions,
            routing=routing,
        )
    except InputError as error:
        raise InputError(f"{path}: {unread or error}") from None
    except UnsupportedModel as error:
        told = f"{error} {missing(absent(*TRACERS)[0], what=BUILT)}" if absent(*TRACERS) else error
        raise UnsupportedModel(f"{path}: {unread or told}") from None
    if unread:
        why = f"that its fields say all: transformers could not be asked ({unread})"
        model = replace(model, assumed=(why, *model.assumed))
    return replace(model, source=source.path)


def _in_file(
    source: ConfigFile | LayerListFile | OnnxFile,
    folder: Path,
    *,
    sample: Sample,
    routing: Routing,
) -> Model:
    """The model of a file; a relative path starts at the study's folder."""
    if isinstance(source, ConfigFile):
        return _configured(source, folder, sample=sample, routing=routing)
    if isinstance(source, OnnxFile):
        return _exported(source, folder, sample=sample, routing=routing)
    return _listed(source, folder, sample=sample, routing=routing)


def _exported(source: OnnxFile, folder: Path, *, sample: Sample, routing: Routing) -> Model:
    """The model of an ONNX file."""
    if sample.positions is not None or routing:
        raise InputError(f"'{source.path}' is a graph, which has positions and experts of its own.")
    path = folder / source.path
    model = model_of_onnx(path, sequence=sample.sequence, image=sample.image)
    return replace(model, source=source.path)


def _listed(source: LayerListFile, folder: Path, *, sample: Sample, routing: Routing) -> Model:
    """The network of a layer list."""
    if sample != Sample() or routing:
        raise InputError(
            f"'{source.path}' is a list of layers for samples of one size, which has neither "
            "image nor sequence nor positions nor experts."
        )
    model = read_layer_list(folder / source.path, seconds=source.seconds)
    return replace(model, source=source.path)
