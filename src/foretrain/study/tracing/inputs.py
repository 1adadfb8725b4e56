"""Inputs of a module without content: an example's shapes, what a study says, or what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from foretrain.errors import InputError
from foretrain.study.tracing.record import Inputs

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
