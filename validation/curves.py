"""Steps of six published applications, predicted for many devices from few.

    python -m validation.curves

Fitted to what was measured on at most 4 devices and held against all measurements on 8 to 64; and
fitted to everything, as the published model was. Each application is fitted alone, by the same
rules. The exit status is 1 if a bar is missed. `docs/background/curves.md` says what came out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import log
from pathlib import Path
from statistics import median

from validation.parts.claims import Claim, table
from validation.scheduling.formats.pollux import read_profile

from foretrain.queueing.step_fit import ONE_IN_TEN, FittedSteps, Placement, TimedStep, fit_steps

DATA = Path(__file__).parent / "tables" / "scheduling" / "pollux"
FEW, MANY = 4, 8
"""Devices: at most so many are fitted to, at least so many are predicted."""

MOST = 0.15


@dataclass(frozen=True, kw_only=True)
class Published:
    """Median errors of Pollux' own model of a step, by its authors' fit to the same rows.

    Attributes:
        everything: fitted to all rows and held against them.
        few: fitted to at most 4 devices and held against at least 8.
    """

    everything: float
    few: float


PUBLISHED = {
    "bert": Published(everything=0.040, few=0.544),
    "cifar10": Published(everything=0.085, few=0.527),
    "deepspeech2": Published(everything=0.071, few=0.306),
    "imagenet": Published(everything=0.052, few=0.164),
    "ncf": Published(everything=0.072, few=0.811),
    "yolov3": Published(everything=0.069, few=0.368),
}
"""Computed by running the program of qiao2021 (petuum/adaptdl, branch osdi21-artifact)."""


@cache
def steps(application: str) -> tuple[TimedStep, ...]:
    """All that was measured of an application."""
    return read_profile(DATA / application).steps


@cache
def many(application: str) -> tuple[TimedStep, ...]:
    """What is predicted from few devices."""
    return tuple(each for each in steps(application) if each.devices >= MANY)


@cache
def from_all(application: str) -> FittedSteps:
    """Fitted to every row."""
    return fit_steps(steps(application))


@cache
def from_few(application: str) -> FittedSteps:
    """Fitted to at most 4 devices; nothing else of this application or of another is known."""
    return fit_steps([each for each in steps(application) if each.devices <= FEW])


def placed(timed: TimedStep) -> Placement:
    """Devices on each node, as even as can be where the source does not tell."""
    each, more = divmod(timed.devices, timed.nodes)
    return timed.placement or (each + 1,) * more + (each,) * (timed.nodes - more)


def errors(fitted: FittedSteps, rows: Sequence[TimedStep]) -> list[float]:
    """Relative errors of predicted steps."""
    return [fitted.model.times(placed(row), row.batch)[0] / row.step - 1.0 for row in rows]


def off(fitted: FittedSteps, rows: Sequence[TimedStep]) -> float:
    """Median distance of predicted steps from measured ones, as a share of these."""
    return median(map(abs, errors(fitted, rows)))


def linear(application: str) -> float:
    """The same if a step took as long as on one device."""
    alone = {row.batch: row.step for row in steps(application) if row.devices == 1}
    return median(abs(alone[row.batch] / row.step - 1.0) for row in many(application))


def inside(application: str) -> float:
    """Share of the predicted steps that lie between their bounds, which 80 % should."""
    fitted = from_few(application)
    within = [
        abs(log(1.0 + error)) <= ONE_IN_TEN * fitted.deviation(placed(row), row.batch)
        for row, error in zip(many(application), errors(fitted, many(application)), strict=True)
    ]
    return sum(within) / len(within)


def claims() -> Iterator[Claim]:
    """Every figure beside its bar, and those of others."""
    for application, published in PUBLISHED.items():
        yield Claim(
            name=f"{application}: 4 devices to 8 and more ({len(many(application))} rows)",
            figure=off(from_few(application), many(application)),
            most=MOST,
        )
        yield Claim(name="  published model", figure=published.few)
        yield Claim(name="  linear scaling", figure=linear(application))
        yield Claim(name="  inside the bounds of 80 %", figure=inside(application))
        yield Claim(
            name=f"{application}: fitted to all ({len(steps(application))} rows)",
            figure=off(from_all(application), steps(application)),
            most=published.everything,
        )


def main() -> int:
    """Prints the table; 1 if a bar is missed."""
    found = list(claims())
    print("\n".join(table(found)))
    return int(any(claim.kept is False for claim in found))


if __name__ == "__main__":
    sys.exit(main())
