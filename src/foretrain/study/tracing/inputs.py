"""Inputs of a network that is traced.

Inputs of a module without content: an example's shapes, what a study says, or what follows.

Samples of models of Hugging Face: tokens, pictures, sound or several of them, by their names.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from foretrain.errors import InputError
from foretrain.study.tracing.record import Inputs
from foretrain.workload.parts.encoder_decoder import SPANS

if TYPE_CHECKING:
    import torch

SAMPLES: Final = 2
"""That are traced at once: a normalisation over samples refuses a single one."""

SIDE: Final = 224
"""Pixels per side of pictures whose size nobody gives, as ImageNet's are cropped."""

EXAMPLE: Final = "example_input_array"
"""What a module of Lightning calls an example of its inputs."""


@dataclass(frozen=True, slots=True)
class SampleSize:
    """What a study says of a sample.

    Attributes:
        sequence: tokens of text, or values of sound.
        image: pixels per side.
    """

    sequence: int | None = None
    image: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleBatch:
    """Arguments of a forward pass.

    Attributes:
        inputs: without content.
        samples: in them.
        assumed: of what a sample is, in words.
    """

    inputs: Inputs
    samples: int
    assumed: tuple[str, ...] = ()


def batch_of(
    module: torch.nn.Module, example: object, narrow: torch.dtype, *, name: str, size: SampleSize
) -> ExampleBatch:
    """Arguments of a module's forward pass.

    Args:
        module: whose first part tells what it reads, where nobody says.
        example: a tensor, or a tuple or a table of them; None for none.
        narrow: the type of activations.
        name: of the model, for messages.
        size: what a study says of a sample.

    Raises:
        InputError: it is not known what a sample is, or the example has no tensors.
    """
    import torch

    if example is None:
        example = getattr(module, EXAMPLE, None)
    if example is not None:
        return _shadowed(example, narrow, name)
    if size.sequence is not None and size.image is not None:
        raise InputError(f"{name}: what is a sample? Give sequence (tokens) or image (pixels).")
    if size.sequence is not None:
        tokens = torch.empty((SAMPLES, size.sequence), dtype=torch.long, device="meta")
        return ExampleBatch(inputs=((tokens,), {}), samples=SAMPLES)
    sides, why = _sides(module, size.image)
    if not sides:
        raise InputError(
            f"{name}: what is a sample? Give sequence (tokens) or image (pixels), an example of "
            "its inputs, or have the function return (module, example) with a batch of inputs."
        )
    given = torch.empty((SAMPLES, *sides), dtype=narrow, device="meta")
    told = f"that a sample is {' x '.join(map(str, sides))} numbers, as its {why}"
    return ExampleBatch(inputs=((given,), {}), samples=SAMPLES, assumed=(told,) if why else ())


def _sides(module: torch.nn.Module, image: int | None) -> tuple[tuple[int, ...], str]:
    """The shape of a sample by the first part that has parameters, and why; empty if unknown."""
    import torch

    own = (each for each in module.modules() if [*each.parameters(recurse=False)])
    first = next(own, None)
    if isinstance(first, torch.nn.Conv2d):
        side = image or SIDE
        why = "" if image else f"first convolution reads {first.in_channels} channels"
        return (first.in_channels, side, side), why
    if image is not None:
        return (3, image, image), ""
    if isinstance(first, torch.nn.Linear):
        return (first.in_features,), f"first product reads {first.in_features} features"
    return (), ""


def _shadowed(example: object, narrow: torch.dtype, name: str) -> ExampleBatch:
    """An example without its content.

    Raises:
        InputError: it has no tensor.
    """
    import torch

    def shadow(each: Any) -> Any:
        if isinstance(each, torch.Tensor):
            kind = narrow if each.dtype.is_floating_point else each.dtype
            return torch.empty(each.shape, dtype=kind, device="meta")
        if isinstance(each, list | tuple):
            return type(each)(map(shadow, each))
        return {k: shadow(v) for k, v in each.items()} if isinstance(each, Mapping) else each

    found = shadow(example)
    named = found if isinstance(found, dict) else {}
    placed = () if named else tuple(found) if isinstance(found, list | tuple) else (found,)
    sizes = [each.shape[0] for each in (*placed, *named.values())
             if isinstance(each, torch.Tensor) and each.dim()]  # fmt: skip
    if not sizes or not sizes[0]:
        raise InputError(f"{name}: its example has no tensor whose first dimension counts samples.")
    return ExampleBatch(inputs=(placed, named), samples=int(sizes[0]))


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
    # Refuse a size of what the model does not read.
    if size.image is not None and not shapes.keys() & set(PIXELS):
        raise InputError(
            f"a model of type {module.config.model_type} reads no pictures: leave image out."
        )
    if size.sequence is not None and shapes.keys() <= set(PIXELS):
        raise InputError(
            f"a model of type {module.config.model_type} reads pictures: give image, no sequence."
        )
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
