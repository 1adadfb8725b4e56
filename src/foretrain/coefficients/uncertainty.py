"""Uncertainty: how far off predictions have been, of one plan and of one beside another.

Covers: which runs a set of coefficients was fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from foretrain.errors import InputError
from foretrain.units import MOST, as_written


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertainty:
    """Uncertainty: how far off predictions have been.

    Widths are logarithms of how much slower than predicted the 90th percentile is. Widenings are
    logarithms of factors on them where nothing else makes a prediction less sure, 0 where
    something does not.

    Attributes:
        time: width of a step's time in an easy case.
        quicker: the width to the 10th percentile over that; 1 if errors have no side.
        anchored: `time` once a measured run has moved the factor of its framework.
        anchored_quicker: `quicker` once one has.
        device: widening on a device that was not fitted to.
        software: with software that was not fitted to, or that nobody named.
        sharded: where replicas share the parameters.
        divided: where a copy of the model lies on several devices.
        experts: for mixtures of experts.
        narrow: for matrix products of 8 or 4 bits.
        wide: for those of 32 bits.
        unfused: for attention without a fused kernel.
        pictures: for networks of images.
        sample: where no run had such samples (pictures, sound, numbers).
        unseen: for each of these kinds that was not fitted to.
        assumed: for each default that stands for a blank.
        host_bound: where the host needs all of the time to start kernels.
        size: for a model e times larger or smaller than all that were fitted to.
        count: for e times more or fewer devices than all that were fitted to.
    """

    time: float
    quicker: float
    anchored: float
    anchored_quicker: float
    device: float
    software: float
    sharded: float
    divided: float
    experts: float
    narrow: float
    wide: float
    unfused: float
    pictures: float
    sample: float
    unseen: float
    assumed: float
    host_bound: float
    size: float
    count: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanErrors:
    """How far predictions of two plans of one study err apart; what they share cancels.

    Standard deviations of the difference of two log(measured / predicted). The errors of fields
    add up like independent ones: of plans that differ in n fields the variance is
    alike^2 + n x apart^2.

    Attributes:
        alike: of plans that differ in nothing that a published plan states.
        apart: that each field adds in which they differ.
    """

    alike: float
    apart: float

    def __post_init__(self) -> None:
        if not (self.alike > 0 and self.apart > 0):
            raise InputError(f"PlanErrors: both must be above 0, got {self.alike}, {self.apart}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """Runs of one source that a set was fitted to, of one model on one kind of device.

    Attributes:
        id: of the first of them.
        model: as the source calls it.
        device: name of the catalogue.
        sample: what a sample is, as in `Situation`.
        parameters: of the model.
        devices: fewest and most.
        kinds: what else they are, by the names of `Uncertainty`.
        rows: how many.
        error: median of predicted / measured less 1, without the publisher's rows in the fit.
    """

    id: str
    model: str
    device: str
    sample: str
    parameters: float
    devices: tuple[int, int]
    kinds: frozenset[str] = frozenset()
    rows: int
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Covers:
    """The runs that a set was fitted to: predictions unlike them are extrapolations.

    Attributes:
        devices: names of the catalogue.
        software: families of trainers.
        parameters: fewest and most of a model.
        counts: fewest and most devices.
        kinds: what else there was among them, by the names of `Uncertainty`.
        samples: what their samples were, as in `Situation`.
        multiplied: least share of a model's parameters that products of matrices use.
        runs: they themselves, which tell who was near; what they cover is said above.
    """

    devices: frozenset[str] = frozenset()
    software: frozenset[str] = frozenset()
    parameters: tuple[float, float] = (0.0, 0.0)
    counts: tuple[float, float] = (0.0, 0.0)
    kinds: frozenset[str] = frozenset()
    samples: frozenset[str] = frozenset()
    multiplied: float = 0.0
    runs: tuple[Fitted, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        for name in ("parameters", "counts"):
            fewest, most = getattr(self, name)
            if not 0 <= fewest <= most <= MOST:
                raise InputError(
                    f"Covers.{name} must be the fewest and the most, from 0 to {MOST:g}, got"
                    f" {as_written([fewest, most])}."
                )
        if not 0 <= self.multiplied <= 1:
            raise InputError(f"Covers.multiplied must lie from 0 to 1, got {self.multiplied:g}.")


NOTHING = Covers()
"""Of a set that was fitted to no run."""
