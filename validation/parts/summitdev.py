"""FLEET's run of 100 networks on SummitDev, as far as its paper tells what it started from.

Published are the range of the networks' rates on one device, mean and deviation of how long they
ran there, and what checkpoints took. Not published are the rates of each, on one device and on
more, and how long each had to train. Rates are therefore drawn, in three ways; all train equally
long; and what each device does falls with every further one by a factor of 1, 0.98 or 0.95.
Nothing is fitted to the published speed-ups, and nothing was chosen by them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from validation.parts.tiny_ensembles import RATES, SAMPLES

from foretrain.ensemble.costs import Deal, FleetTerms
from foretrain.ensemble.course import CourseState, Rule, legs
from foretrain.ensemble.fleet import duplicate, fleet_g, fleet_l
from foretrain.measured.members import Ensemble, Member

NETWORKS, PER_NODE = 100, 4
DEVICES = (20, 40, 60, 80, 100, 120, 140, 160)
FALLS = (1.0, 0.98, 0.95)
SEEDS = range(5)

MEAN, DEVIATION = 10372.2, 4178.9
"""Seconds of a network alone on one device. Source: guan2020."""

CHECKPOINT = 30.0
"""Seconds. 2.7 to 6.3 % of 15,323.9 s between 20 flotillas are 22 to 51 s, and of 11,825.2 s
between 22 flotillas 15 to 35 s. Source: guan2020."""


def normal(random: np.random.Generator) -> NDArray[np.float64]:
    """Rates of which run lengths have the published mean and deviation, cut where the range says.

    Cut alike on both sides, the longest over the shortest is the range of the rates if the cut lies
    1.95 deviations from the mean.
    """
    wide = (RATES[1] / RATES[0] - 1) / (RATES[1] / RATES[0] + 1) * MEAN
    lengths = random.normal(MEAN, DEVIATION, 4 * NETWORKS)
    inside = lengths[abs(lengths - MEAN) <= wide][:NETWORKS]
    return RATES[1] * (MEAN - wide) / inside


def logarithmic(random: np.random.Generator) -> NDArray[np.float64]:
    """Rates of which the logarithms are spread evenly."""
    return np.exp(random.uniform(*np.log(RATES), NETWORKS))


def even(random: np.random.Generator) -> NDArray[np.float64]:
    """Rates that are spread evenly."""
    return random.uniform(*RATES, NETWORKS)


DRAWS: Mapping[str, Callable[[np.random.Generator], NDArray[np.float64]]] = {
    "normal run lengths": normal,
    "even logarithms": logarithmic,
    "even rates": even,
}


def homogeneous(terms: FleetTerms) -> Rule:
    """As many members as there are devices, one on each; the next ones when all have ended.

    Source: pittman2018, as guan2020 compares with it.
    """

    def choose(state: CourseState) -> Deal:
        return state.running or dict.fromkeys(list(state.left)[: terms.devices], 1)

    return choose


RULES = {"FLEET-G": fleet_g, "FLEET-L": fleet_l, "homogeneous": homogeneous}


@cache
def terms(draw: str, fall: float, *, devices: int, seed: int) -> FleetTerms:
    """The ensemble, with rates as they are drawn; all train until the mean is that published."""
    first = DRAWS[draw](np.random.default_rng(seed))
    counts = np.arange(1, 2 * PER_NODE + 1)
    epochs = MEAN / float(np.mean(SAMPLES / first))
    members = tuple(
        Member(
            name=f"network {place}",
            batch=32,
            epochs=epochs,
            rates=tuple((counts * rate * fall ** (counts - 1)).tolist()),
        )
        for place, rate in enumerate(first)
    )
    ensemble = Ensemble(
        members=members, samples=SAMPLES, devices=devices, devices_per_node=PER_NODE
    )
    return FleetTerms(ensemble=ensemble, checkpoint=CHECKPOINT)


def speed_ups(draw: str, fall: float, *, rule: str) -> list[float]:
    """How many times quicker than every network alone, by devices; the mean of five draws."""
    return [
        fmean(_speed_up(terms(draw, fall, devices=devices, seed=seed), rule) for seed in SEEDS)
        for devices in DEVICES
    ]


def _speed_up(case: FleetTerms, rule: str) -> float:
    return _alone(case) / list(legs(case, RULES[rule](case)))[-1].end


@cache
def _alone(case: FleetTerms) -> float:
    """Seconds with one device each."""
    return list(duplicate(case))[-1].end


@cache
def published() -> Mapping[str, list[float]]:
    """The paper's speed-ups by rule, read off its figure."""
    text = (Path(__file__).parents[1] / "published.toml").read_text("utf-8")
    every = {number["id"]: number for number in tomllib.loads(text)["number"]}
    return {name: list(values) for name, *values in every["fleet-speed-ups"]["rows"]}
