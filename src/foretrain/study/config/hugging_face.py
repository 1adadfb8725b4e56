"""Configurations of Hugging Face: the keys of a config.json become a model.

Nothing is downloaded and no code of a model runs: a family is a function of the table below, which
knows the keys of its configurations and what their absence means. A decoder of a family that is not
in the table is read by its fields (`unknown`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from foretrain.errors import InputError, UnsupportedModel, nearest
from foretrain.study.config import families, llama
from foretrain.study.config.config import Config
from foretrain.study.config.unknown import SPREAD, by_fields, is_decoder
from foretrain.units import as_written
from foretrain.workload.graph import Model
from foretrain.workload.library.entries import ModelShape
from foretrain.workload.library.variants import Routing, routed, with_positions
from foretrain.workload.parts.encoder import VisionTransformer
from foretrain.workload.parts.encoder_decoder import EncoderDecoder
from foretrain.workload.parts.language_model import Decoder, LanguageModel

ConfigShape = LanguageModel | EncoderDecoder | VisionTransformer

FAMILIES: Mapping[str, Callable[[Config], ConfigShape | Decoder]] = MappingProxyType(
    {
        "bart": families.bart,
        "bert": families.bert,
        "bloom": families.bloom,
        "deepseek_v2": llama.deepseek_v2,
        "deepseek_v3": llama.deepseek_v3,
        "electra": families.electra,
        "falcon": families.falcon,
        "gemma": llama.gemma,
        "gemma2": llama.gemma2,
        "gemma3_text": llama.gemma3,
        "gpt2": families.gpt2,
        "gpt_neox": families.gpt_neox,
        "gpt_oss": llama.gpt_oss,
        "gptj": families.gptj,
        "kimi_k2": llama.deepseek_v3,
        "llama": llama.llama,
        "llama4_text": llama.llama4,
        "mistral": llama.mistral,
        "mixtral": llama.mixtral,
        "mpt": families.mpt,
        "mt5": families.t5,
        "nemotron": llama.nemotron,
        "nemotron_h": llama.nemotron_h,
        "opt": families.opt,
        "phi3": llama.mistral,
        "qwen2": llama.qwen2,
        "qwen2_moe": llama.qwen2_moe,
        "qwen3": llama.qwen3,
        "qwen3_moe": llama.qwen3_moe,
        "roberta": families.roberta,
        "t5": families.t5,
        "umt5": families.umt5,
        "vit": families.vit,
    }
)
"""Families by model_type."""


class Reading(NamedTuple):
    """What a configuration says.

    Attributes:
        shape: of the model.
        assumed: what it leaves open, in words; empty where its family is known.
    """

    shape: ConfigShape
    assumed: tuple[str, ...] = ()


OWN: Final = frozenset({"gemma3", "llama4"})
"""Models of pictures whose text is of one family, whatever text_config says."""


@cache
def pictures() -> Mapping[str, Any]:
    """Which families have text under text_config, and what keys mean by their absence from it."""
    file = files("foretrain") / "study" / "config" / "pictures.toml"
    return tomllib.loads(file.read_text("utf-8"))


def shape_of(config: Mapping[str, object]) -> ConfigShape:
    """The shape of the model that a configuration describes.

    Raises:
        UnsupportedModel: of no family that is known here.
        InputError: a key is missing, is of the wrong kind, or contradicts another.
    """
    return reading_of(config).shape


def reading_of(config: Mapping[str, object]) -> Reading:
    """The shape of the model that a configuration describes, and how sure it is.

    Raises:
        UnsupportedModel: of no family that is known here, nor a decoder.
        InputError: a key is missing, is of the wrong kind, or contradicts another.
    """
    if str(config.get("model_type")) in pictures()["text"]:
        return _read(text_of(config).keys, place="text_config.model_type")
    return _read(config, place="model_type")


def is_known(config: Mapping[str, object]) -> bool:
    """Whether the family of a configuration is one that is read here."""
    family = config.get("model_type")
    return not isinstance(family, str) or family in FAMILIES or family in pictures()["text"]


def text_of(config: Mapping[str, object]) -> Config:
    """The text of a model of pictures, as a configuration of the text's own family.

    Raises:
        InputError: it has no text_config, or that is no table.
    """
    family = str(config["model_type"])
    inside = Config(config, family).inside("text_config").keys
    if not inside:
        raise InputError(f"text_config is missing; a model of type {family} needs it.")
    text = str((None if family in OWN else inside.get("model_type")) or pictures()["text"][family])
    return Config({**pictures()["defaults"].get(text, {}), **inside, "model_type": text}, text)


def _read(config: Mapping[str, object], *, place: str) -> Reading:
    """The shape of a model of text or of images alone, whose family stands at a place."""
    family = config.get("model_type")
    if not isinstance(family, str):
        raise InputError(f"{place} is {as_written(family)}; it names the family of the model.")
    if family not in FAMILIES and is_decoder(Config(config, family)):
        found = by_fields(Config(config, family))
        near = nearest(family, FAMILIES)
        unknown = f"that {as_written(family)}, a {place} that is not known, is a decoder.{near}"
        return Reading(found.sizes.composed, (unknown.rstrip("."), *found.assumed))
    if family not in FAMILIES:
        known = ", ".join(sorted([*FAMILIES, *pictures()["text"]]))
        raise UnsupportedModel(
            f"{place} is {as_written(family)}, which foretrain cannot read."
            f"{nearest(family, FAMILIES)} Known: {known}."
        )
    shape = FAMILIES[family](Config(config, family))
    return Reading(shape.composed if isinstance(shape, Decoder) else shape)


def model_of(
    config: Mapping[str, object],
    *,
    sequence: int | None = None,
    image: int | None = None,
    positions: int | None = None,
    routing: Routing | None = None,
) -> Model:
    """The model that a configuration describes, for samples of one size.

    Args:
        config: the keys of a config.json.
        sequence: tokens per sample, for models of text.
        image: pixels per side, for models of images; None for the configuration's image_size.
        positions: tokens for which a learned table of positions is to have rows; None for the
            configuration's.
        routing: how its experts are used; None for as the configuration says.

    Raises:
        UnsupportedModel: of no family that is known here.
        InputError: a key is missing, is of the wrong kind, or contradicts another; or the sample's
            size is missing, superfluous or too large.
    """
    reading = reading_of(config)
    shape: ModelShape = routed(reading.shape, routing) if routing else reading.shape
    if positions is not None:
        shape = with_positions(shape, positions)
    # The name that it was saved under, or its family.
    family, saved = str(config.get("model_type")), config.get("_name_or_path")
    name = saved if isinstance(saved, str) and saved else family
    if family in pictures()["text"]:
        name += " (text alone)"
    if isinstance(shape, VisionTransformer):
        image = image or Config(config, "vit").count("image_size", 224)
        if sequence is not None:
            raise InputError(f"model '{name}' reads images: give image (pixels), no sequence.")
        return replace(shape.model(name, image), source="config.json")
    if image is not None or sequence is None:
        raise InputError(f"model '{name}' reads tokens: give sequence (tokens), no image.")
    made = replace(shape.model(name, sequence), source="config.json", assumed=reading.assumed)
    if not reading.assumed:
        return made
    return replace(made, spread=SPREAD, known_by="the fields of its configuration only")
