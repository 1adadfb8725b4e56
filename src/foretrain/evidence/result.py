"""What `calibrate` answers: a set of coefficients, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from foretrain.coefficients.coefficients import Calibration
from foretrain.show.table import label, labelled
from foretrain.show.words import whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What a fit did to one coefficient.

    Attributes:
        name: of the coefficient.
        prior: its value before.
        value: its value now.
        low: tenth percentile of what it may be.
        high: ninetieth percentile.
        unit: of all of them; "1" for a ratio.
        score: standard deviations between prior and value.
        rows: runs that it makes a difference to.
    """

    name: str = field(metadata=label("coefficient"))
    prior: float
    value: float
    low: float
    high: float
    unit: str
    score: float = field(
        metadata=label(
            "moved",
            "{:+.2f}".format,
            meaning="standard deviations of what was known; above 3 is odd",
        )
    )
    rows: int = field(metadata=label("runs", whole, meaning="that tell of it"))

    @property
    @labelled("before", number=True)
    def before(self) -> str:
        """The prior with its unit."""
        return self._written(self.prior)

    @property
    @labelled("after", number=True)
    def after(self) -> str:
        """The value with its unit."""
        return self._written(self.value)

    @property
    @labelled("interval")
    def interval(self) -> str:
        """What it may be."""
        return f"{self.low:.4g} to {self.high:.4g}"

    def _written(self, value: float) -> str:
        return f"{value:.4g}" if self.unit == "1" else f"{value:.4g} {self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd:
    """A figure that is hard to believe.

    Attributes:
        run: id of the run, or what it is called.
        measured: seconds.
        predicted: seconds, before anything was learned.
        deviations: standard deviations of the prediction between the two; above 0 where the run
            was slower.
    """

    run: str
    measured: float
    predicted: float
    deviations: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """How far off predictions are of runs that were left out of a fit.

    Attributes:
        rows: runs, each of which was left out once.
        before: mean of |log(predicted / measured)| with the set before.
        after: the same with sets fitted to the other runs.
        error: standard error of the difference of the two, configuration by configuration.
    """

    rows: int
    before: float
    after: float
    error: float

    @property
    def helps(self) -> bool:
        """Whether what was learned makes the others better, by more than chance moves them."""
        return self.before - self.after > self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A fit of coefficients to measured runs.

    Attributes:
        calibration: the set, every coefficient with interval, rows and source.
        moved: the fitted coefficients.
        folds: the set that was fitted without each publisher.
        rows: ids of the runs fitted to.
        error: root mean square of log(predicted / measured) over them.
        judged: on runs left out of the fit; None where they are too few, or of publishers.
        odd: runs farther from their predictions than can be believed.
        doubts: why the set should not be used, in words; empty if nothing speaks against it.
        accepted: whether it may be used: without doubts, or because the caller says so.
    """

    calibration: Calibration
    moved: tuple[Moved, ...]
    folds: Mapping[str, Calibration]
    rows: tuple[str, ...]
    error: float
    judged: Judged | None = None
    odd: tuple[Odd, ...] = ()
    doubts: tuple[str, ...] = ()
    accepted: bool = True
