"""Samples of models of Hugging Face: tokens, pictures, sound or several of them, by their names."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from foretrain.errors import InputError
from foretrain.study.tracing.inputs import SAMPLES, SIDE, SampleSize
from foretrain.workload.parts.encoder_decoder import SPANS

if TYPE_CHECKING:
    import torch

SECOND: Final = 16_000
"""Values of sound in a second, as speech models read it."""

FRAMES: Final = 16
"""Pictures of a video where its configuration does not say how many."""

CUT: Final = ("t5", "mt5", "umt5")
"""Types of models that are trained to write the spans that were cut out of a text."""

PIXELS: Final = ("pixel_values", "pixel_values_videos")
WRITES: Final = (
    "ForCausalLM",
    "LMHeadModel",
    "ForConditionalGeneration",
    "ForMaskedLM",
    "ForPreTraining",
    "MTModel",
)
"""How classes end that predict a token at each place of a text."""


def samples_of(
    module: torch.nn.Module, *, sequence: int | None, image: int | None
) -> dict[str, torch.Tensor]:
    """Named inputs of a model, without content; labels too, where it predicts tokens.

    Args:
        module: of transformers.
        sequence: tokens of a sample of text; values of a sample of sound.
        image: pixels per side of a picture.

    Raises:
        InputError: the model reads tokens, and no sequence says how many; or it does not read what
            is given.
    """
    import torch

    size = SampleSize(sequence=sequence, image=image)
    takes = frozenset(inspect.signature(module.forward).parameters)
    main = str(getattr(module, "main_input_name", "input_ids"))
    shapes = {**_seen(main, takes, module.config, size=size), **_heard(main, module.config, size)}
    shapes |= _read(main, takes, module.config, size=size)
    _check(module.config, shapes, size)
    found = {
        name: torch.empty(
            (SAMPLES, *shape),
            dtype=torch.long if name.endswith("_ids") else torch.bfloat16,
            device="meta",
        )
        for name, shape in shapes.items()
    }
    text = found.get("decoder_input_ids", found.get("input_ids"))
    if "labels" in takes and text is not None and type(module).__name__.endswith(WRITES):
        found["labels"] = torch.empty_like(text)
    return found


Shapes = dict[str, tuple[int, ...]]


def _seen(main: str, takes: frozenset[str], config: Any, *, size: SampleSize) -> Shapes:
    """Pictures and videos."""
    both = {"input_ids", "pixel_values"} <= takes
    if main == "pixel_values_videos":
        frames = int(first_of(config, "frames_per_clip", "num_frames") or FRAMES)
        return {main: (frames, *_picture(config, size.image))}
    if main == "pixel_values" or (main == "input_ids" and both):
        frames_ = (int(config.num_frames),) if hasattr(config, "tubelet_size") else ()
        return {"pixel_values": (*frames_, *_picture(config, size.image))}
    return {}


def _heard(main: str, config: Any, size: SampleSize) -> Shapes:
    """Sound, as values or as a spectrogram with as many frames as an encoder has positions for."""
    bands = int(first_of(config, "num_mel_bins", "feature_size", "input_feat_per_channel") or 80)
    if main == "input_features":
        positions = getattr(config, "max_source_positions", None)
        if positions and hasattr(config, "num_mel_bins") and not hasattr(config, "conv_channels"):
            return {main: (bands, 2 * int(positions))}
        return {main: (size.sequence or 1024, bands)}
    if main == "input_values" and {"max_length", "num_mel_bins"} <= vars(config).keys():
        return {main: (int(config.max_length), bands)}
    return {main: (size.sequence or SECOND,)} if main == "input_values" else {}


def _read(main: str, takes: frozenset[str], config: Any, *, size: SampleSize) -> Shapes:
    """Tokens that are read, and those that a decoder writes."""
    found: Shapes = {}
    if main == "input_ids" or {"input_ids", "pixel_values"} <= takes:
        found["input_ids"] = (_tokens(config, size),)
    if getattr(config, "is_encoder_decoder", False) and "decoder_input_ids" in takes:
        own = size.sequence or first_of(config, "max_target_positions") or 128
        [read] = found.get("input_ids", (int(own),))
        cut = config.model_type in CUT and size.sequence is not None
        found["decoder_input_ids"] = (SPANS.targets(read) if cut else read,)
    return found


def _check(config: Any, shapes: Shapes, size: SampleSize) -> None:
    """Refuse a size of what the model does not read."""
    if size.image is not None and not shapes.keys() & set(PIXELS):
        raise InputError(f"a model of type {config.model_type} reads no pictures: leave image out.")
    if size.sequence is not None and shapes.keys() <= set(PIXELS):
        raise InputError(
            f"a model of type {config.model_type} reads pictures: give image, no sequence."
        )


def _configs(config: Any) -> Iterator[Any]:
    yield config
    for key in getattr(config, "sub_configs", {}):
        inner = getattr(config, key, None)
        if inner is not None:
            yield from _configs(inner)


def first_of(config: Any, *names: str) -> Any:
    """The first of some keys that a configuration, or one inside it, has."""
    for each in _configs(config):
        for name in names:
            value = getattr(each, name, None)
            if value is not None:
                return value
    return None


def _picture(config: Any, image: int | None) -> tuple[int, ...]:
    """Channels and sides of a picture."""
    said = image or first_of(config, "image_size", "input_size") or SIDE
    sides = tuple(said) if isinstance(said, list | tuple) else (int(said), int(said))
    channels = int(first_of(config, "num_channels", "in_channels", "in_chans") or 3)
    return channels, *sides[-2:]


def _tokens(config: Any, size: SampleSize) -> int:
    """Tokens of a sample; of models of pictures and text, as many as the text has positions for."""
    if size.sequence is not None:
        return size.sequence
    text = getattr(config, "text_config", None)
    positions = getattr(text, "max_position_embeddings", None)
    if positions is not None and hasattr(config, "vision_config"):
        return int(positions)
    raise InputError(f"a model of type {config.model_type} reads tokens: give sequence (tokens).")
