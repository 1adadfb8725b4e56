"""Keys of [workload] about what is trained and how gradients travel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from foretrain.errors import InputError, nearest
from foretrain.files.keys import Count, Reads
from foretrain.files.problems import inner
from foretrain.units import SHARE, as_written
from foretrain.workload.gradients import CODECS, GradientCodec, power_sgd, top
from foretrain.workload.graph import Model
from foretrain.workload.trainable import EVERYTHING, Storage, Trainable

ALL: Final = "all"
FORMS: Final = '"all", { lora = 16 } or { frozen = 20 }'
GRADIENTS: Final = '{ top = "1 %" } or { powersgd = 4 }'


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainableSection:
    """What is trained, as it is written."""

    frozen: Count | None = None
    lora: Count | None = None
    targets: tuple[str, ...] = ()
    quantised: Storage | None = None
    dropout: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientsSection:
    """A codec that needs a number, as it is written."""

    top: Annotated[float, SHARE] | None = None
    powersgd: Count | None = None


def _trainable(value: object) -> Trainable:
    """What is trained.

    Raises:
        InputError: if it is none of the forms.
    """
    if value == ALL:
        return EVERYTHING
    if not isinstance(value, Mapping) or not value:
        raise InputError(f"{as_written(value)} does not say what is trained. Write {FORMS}.")
    found = inner(TrainableSection, value)
    return Trainable(
        frozen=found.frozen or 0,
        lora=found.lora or 0,
        targets=found.targets,
        stored=found.quantised,
        dropout=found.dropout,
    )


def _gradients(value: object) -> GradientCodec | int:
    """A codec, or the rank of one that depends on the model.

    Raises:
        InputError: if it is none of the forms.
    """
    if isinstance(value, Mapping):
        found = inner(GradientsSection, value)
        if (found.top is None) == (found.powersgd is None):
            raise InputError(f"{as_written(value)} is no codec. Write {GRADIENTS}.")
        return found.powersgd or top(found.top or 0.0)
    if not isinstance(value, str) or value not in CODECS:
        raise InputError(
            f"unknown {as_written(value)}.{nearest(str(value), CODECS)} "
            f"Known: {', '.join(CODECS)}, {GRADIENTS}."
        )
    return CODECS[value]


def codec_of(found: GradientCodec | int, model: Model) -> GradientCodec:
    """The codec of a model's gradients."""
    return power_sgd(found, model) if isinstance(found, int) else found


SomeTrainable = Annotated[
    Trainable,
    Reads(_trainable, {"anyOf": [{"const": ALL}, {"type": "object"}], "description": FORMS}),
]
SomeGradients = Annotated[
    GradientCodec | int,
    Reads(
        _gradients,
        {"anyOf": [{"enum": list(CODECS)}, {"type": "object"}], "description": GRADIENTS},
    ),
]
