"""Recipes of trainers: plans that a trainer's makers publish for a model on some devices.

Who names a model, a trainer and a number of devices, and no plan, most likely ran the recipe.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import log
from typing import Final

from foretrain.errors import InputError

MOST_APART = 4.0
"""Devices of a run over those of a recipe, or the other way round, up to which it is its recipe
with more replicas or fewer.

Of recipes for one model, device, precision and release, 40 of 49 pairs that are up to so far apart
have the same degrees of all axes but data, and 8 of 30 that are further apart.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPlan:
    """A plan for a model on some devices.

    Attributes:
        family: of the trainer, as its entries say.
        release: of the trainer.
        date: month in which that came out, year first.
        model: name in the library.
        adapts: whether adapters alone are trained.
        devices: words that stand in the names of devices that it is for; any of several such.
        count: of devices.
        tensor: degree of the tensor axis.
        pipeline: degree of the pipeline axis.
        interleaving: chunks of a model per stage.
        context: degree of the context axis.
        expert: degree of the expert axis.
        micro_batch: samples.
        global_batch: samples.
        sequence: tokens of a sample.
        precision: in the words of the recipe.
        recompute: `none`, `selective` or `full`; empty where it says more than that, or nothing.
        sharding: `none`, `optimizer` or `parameters`; empty where it says nothing.
        source: the file that states it.
    """

    family: str
    release: str
    date: str
    model: str
    adapts: bool
    devices: tuple[tuple[str, ...], ...]
    count: int
    tensor: int
    pipeline: int
    interleaving: int
    context: int
    expert: int
    micro_batch: int
    global_batch: int
    sequence: int
    precision: str
    recompute: str
    sharding: str
    source: str

    def __post_init__(self) -> None:
        counts = ("count", "tensor", "pipeline", "interleaving", "context", "expert", "micro_batch")
        for name in counts:
            if not getattr(self, name) >= 1:
                raise InputError(
                    f"PublishedPlan.{name} must be at least 1, got {getattr(self, name)}."
                )
        if self.count % self.stationed:
            raise InputError(
                f"PublishedPlan of {self.model}: {self.stationed} devices hold one copy of the "
                f"model, which do not divide {self.count}."
            )

    @property
    def stationed(self) -> int:
        """Devices that hold one copy of the model."""
        return self.tensor * self.pipeline * self.context

    def was_out(self, date: str) -> bool:
        """Whether it, or one like it, was used at a date: half a year before it came out.

        Of something without a date nothing speaks against it. Recipes are published with a
        release, whose runs were made with what became it.
        """
        return not date or _months(self.date) <= _months(date) + AHEAD

    def suits(self, device: str, count: int) -> bool:
        """Whether it runs on so many devices of a name, with more replicas or fewer."""
        named = any(set(words) <= set(device.split()) for words in self.devices)
        apart = abs(log(count / self.count)) <= log(MOST_APART) + 1e-9
        return named and apart and count % self.stationed == 0


AHEAD: Final = 6
"""Months before a release in which its makers run what it will be."""


def _months(date: str) -> int:
    """Months since the year 0; of a year alone, to its end."""
    year, _, rest = date.partition("-")
    return 12 * int(year) + int(rest[:2] or 12)


def nearest(
    recipes: Iterable[PublishedPlan], *, count: int, precision: str
) -> PublishedPlan | None:
    """The recipe for most nearly as many devices: of equals one of the precision, then the latest.

    Args:
        recipes: that suit, those of a release behind those of the releases before it.
        count: of devices.
        precision: of the run, in its own words; empty where it is not stated.
    """
    told = precision.partition(" ")[0].lower()
    return min(
        reversed([*recipes]),
        key=lambda each: (
            abs(log(each.count / count)),
            not (told and each.precision.startswith(told)),
        ),
        default=None,
    )
