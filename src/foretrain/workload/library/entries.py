"""The models that foretrain knows by name: data in the files beside this one, built when asked for.

A file holds a family: groups of models, what the models of a group have in common, and the sizes of
each. Sizes are the arguments of the group's builder, which is a table of sizes (`shape`) or a
function that writes down a network for samples of one size (`network`). Nothing but the files is
read, and no builder's module is loaded, before a model is built.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum, StrEnum
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Final, Protocol, get_args, get_type_hints

from foretrain.errors import InputError, nearest
from foretrain.workload.graph import Model

FAMILIES: Final = (
    "megatron", "gpt", "llama", "parallel", "qwen", "gemma", "deepseek", "gpt-oss", "nemotron",
    "bert", "t5", "transformer-xl", "recurrent", "vit", "convolutional", "detection",
    "segmentation", "speech", "wav2vec", "recommendation",
)  # fmt: skip
"""The files, in the order in which their models are listed."""

BUILDERS: Final = {
    "foretrain.workload.parts.language_model": "Decoder",
    "foretrain.workload.parts.transformer_xl": "TransformerXL",
    "foretrain.workload.parts.encoder": "encoder electra vision_transformer",
    "foretrain.workload.parts.encoder_decoder": "RecurrentTranslation encoder_decoder",
    "foretrain.workload.convolution.plain": (
        "lenet_5 mnist alexnet overfeat vgg cosmoflow cosmoflow_512 googlenet inception_v3"
    ),
    "foretrain.workload.convolution.residual": "ResNet DenseNet inverted efficientnet",
    "foretrain.workload.convolution.detection": "ssd retinanet mask_rcnn efficientdet yolo_v3",
    "foretrain.workload.convolution.segmentation": "tiny_unet unet unet_2d vnet",
    "foretrain.workload.convolution.speech": "jasper deep_speech_2 wav2vec",
    "foretrain.workload.convolution.recommendation": (
        "neural_collaborative_filtering variational_autoencoder deep_learning_recommendation"
        " wide_and_deep"
    ),
}
"""The builders of each module, which is loaded when a model is built with one of them."""

HOMES: Final = {name: module for module, names in BUILDERS.items() for name in names.split()}
"""The module of each builder."""


class SampleKind(StrEnum):
    """What one sample of a model is, and so which size a study must give."""

    TOKENS = "tokens"
    """Text: `sequence` tokens."""
    IMAGE = "image"
    """A square picture of `image` pixels per side."""
    NOTHING = "nothing"
    """Samples of one size, which the entry states."""


class ModelShape(Protocol):
    """The sizes of a model."""

    def model(self, name: str, size: int, /) -> Model:
        """The model for samples of so many tokens or pixels."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """A model of the library, as its file states it.

    Attributes:
        name: catalogue name.
        family: what its file holds.
        source: key in references.bib, with the table.
        shape_by: the builder of its shape, or a property of what that builds ("Decoder.composed");
            empty where a network is written down.
        network_by: the function that writes its network down.
        stated: the builder's arguments, as the file has them.
        told: one line for people, in which {structure} and arguments of the builder are filled in.
        reads: what a sample is.
        image: pixels per side where a sample has one size; None where it has not, or the builder
            needs none.
        aliases: other spellings, in lower case with hyphens.
        repositories: of Hugging Face, whose configuration has the sizes of the entry.
    """

    name: str
    family: str
    source: str
    shape_by: str = ""
    network_by: str = ""
    stated: Mapping[str, object]
    told: str
    reads: SampleKind = SampleKind.TOKENS
    image: int | None = None
    aliases: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()

    @property
    def sizes(self) -> Mapping[str, Any]:
        """The builder's arguments."""
        hints = get_type_hints(builder(self.shape_by.partition(".")[0] or self.network_by))
        return {key: _typed(hints.get(key), value) for key, value in self.stated.items()}

    @property
    def shape(self) -> ModelShape | None:
        """What the catalogue shows of it; None where a network is written down."""
        return _shape(self) if self.shape_by else None

    @property
    def summary(self) -> str:
        """One line for people."""
        structure = _shape(self).structure if "{structure}" in self.told else ""
        return self.told.format(structure=structure, **self.stated)

    def build(self, size: int) -> Model:
        """The model for samples of so many tokens or pixels (any number where it reads neither)."""
        made: Model
        if self.shape_by:
            made = _shape(self).model(self.name, self.image or size)
        else:
            sized = self.image is not None or self.reads is not SampleKind.NOTHING
            network = builder(self.network_by)(*[self.image or size] * sized, **self.sizes)
            tokens = size if self.reads is SampleKind.TOKENS else 1
            made = network.model(self.name, tokens=tokens)
        return replace(made, source=self.source)


@cache
def _shape(entry: Entry) -> Any:  # noqa: ANN401 - of whatever class the builder makes
    name, _, view = entry.shape_by.partition(".")
    made = builder(name)(**entry.sizes)
    return getattr(made, view) if view else made


def builder(name: str) -> Callable[..., Any]:
    """What builds models of a family."""
    found: Callable[..., Any] = getattr(import_module(HOMES[name]), name)
    return found


def decoder_of(stated: Mapping[str, Any]) -> Any:  # noqa: ANN401 - its module loads on use
    """A decoder by its sizes, written as the files of the library write them.

    Raises:
        InputError: a size means nothing, is missing, or contradicts another.
    """
    kind = builder("Decoder")
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    if wrong := [name for name in stated if name not in known]:
        raise InputError(f"decoder has no size '{wrong[0]}'.{nearest(wrong[0], known)}")
    hints = get_type_hints(kind)
    try:
        return kind(**_arguments(hints, stated))
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(f"decoder: {error}") from None


def _arguments(hints: Mapping[str, object], stated: Mapping[str, Any]) -> dict[str, object]:
    """What a table states, as the types of a shape's sizes say; a fraction is no count."""
    for key, value in stated.items():
        kinds = set(_types(hints[key]))
        if isinstance(value, float) and kinds and float not in kinds:
            raise ValueError(f"{key} is {value:g}, not a whole number.")
    return {key: _typed(hints[key], value) for key, value in stated.items()}


def _typed(hint: object, value: object) -> object:
    """What a file states, as the type of an argument says: tables become what it names."""
    named: list[Callable[..., object]] = [
        each for each in _types(hint) if is_dataclass(each) or issubclass(each, Enum)
    ]
    if isinstance(value, list):
        return tuple(_typed(hint, each) for each in value)
    if isinstance(value, dict) and named:
        hints = get_type_hints(named[0])
        return named[0](**_arguments(hints, value))
    if isinstance(value, dict):
        return {key: _typed(None, each) for key, each in value.items()}
    return named[0](value) if named else value


def _types(hint: object) -> Iterator[type[Any]]:
    """Every class that a type is made of."""
    if isinstance(hint, type):
        yield hint
    for inside in get_args(hint):
        yield from _types(inside)


@cache
def entries() -> Mapping[str, Entry]:
    """All models by name."""
    folder = files("foretrain") / "workload" / "library"
    return {
        entry.name: entry
        for family in FAMILIES
        for entry in _family(
            family.replace("-", " "), tomllib.loads((folder / f"{family}.toml").read_text("utf-8"))
        )
    }


def _family(family: str, document: Mapping[str, Any]) -> Iterator[Entry]:
    """The models of a file."""
    for group in document["group"]:
        for name, own in group["models"].items():
            keys = {**group, **own}
            del keys["models"]
            yield Entry(
                name=name,
                family=family,
                source=keys.pop("source"),
                shape_by=keys.pop("shape", ""),
                network_by=keys.pop("network", ""),
                told=keys.pop("summary"),
                reads=SampleKind(keys.pop("reads", SampleKind.TOKENS)),
                image=keys.pop("image", None),
                aliases=tuple(keys.pop("aliases", ())),
                repositories=tuple(keys.pop("repositories", ())),
                stated=keys,
            )


def spellings(name: str) -> tuple[str, ...]:
    """What an entry may be called besides its name, in lower case with hyphens."""
    entry = entries()[name]
    return (*entry.aliases, *map(_spelled, entry.repositories))


def _spelled(name: str) -> str:
    return name.strip().lower().replace("_", "-").replace(" ", "-")


@cache
def aliases() -> Mapping[str, str]:
    """The name of each other spelling."""
    return {other: name for name in entries() for other in spellings(name)}


def find(name: str) -> Entry:
    """The entry of a name or alias.

    Raises:
        InputError: the library has no such model; the message names the nearest.
    """
    found = known(name)
    if found is None:
        near = nearest(_spelled(name), [*entries(), *aliases()])
        raise InputError(
            f"unknown model '{name}'.{near} "
            f"'foretrain catalogue models' lists all {len(entries())}."
        )
    return found


def known(name: str) -> Entry | None:
    """The entry of a name or alias, if the library has such a model."""
    key = _spelled(name)
    return entries().get(aliases().get(key, key))


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
    if entry.reads is SampleKind.NOTHING:
        if sequence is not None or image is not None:
            raise InputError(
                f"model '{entry.name}' reads samples of one size: give neither sequence nor image."
            )
        size = 1
    elif entry.reads is SampleKind.IMAGE:
        if sequence is not None or image is None:
            raise InputError(
                f"model '{entry.name}' reads images: give image (pixels), no sequence."
            )
        size = image
    elif image is not None or sequence is None:
        raise InputError(f"model '{entry.name}' reads tokens: give sequence (tokens), no image.")
    else:
        size = sequence
    if positions is None:
        return entry.build(size)
    from foretrain.workload.library.variants import with_positions

    made = with_positions(entry.shape, positions).model(entry.name, size)
    return replace(made, source=entry.source)
