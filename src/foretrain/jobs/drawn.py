"""Jobs drawn of models: which comes when, and how much it has to learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, log, sqrt
from typing import TYPE_CHECKING

from foretrain.measured.job import Job, Trace
from foretrain.throughput import Curve

if TYPE_CHECKING:
    from numpy.random import Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Jobs that train one model.

    Attributes:
        name: of the model.
        curve: samples per second on devices.
        asks: devices that a job asks for.
        samples: that a job learns from, on average.
        vary: their standard deviation over their mean.
        share: of the jobs.
    """

    name: str
    curve: Curve
    asks: int
    samples: float
    vary: float
    share: float

    @property
    def demand(self) -> float:
        """Device-seconds of a job on the devices it asks for, on average."""
        rate = self.curve.rate(self.asks, nodes=0, kind="", done=0.0)
        return self.samples / rate * self.asks


def drawn(
    kinds: Sequence[Kind],
    *,
    count: int,
    load: float,
    devices: int,
    random: Generator,
    restart: float = 0.0,
) -> Trace:
    """Jobs that come at random times, each of a model at random.

    Args:
        kinds: the models; shares are scaled to 1.
        count: of jobs.
        load: device-seconds that come, on average, over those there are.
        devices: of the fleet.
        random: where chance comes from.
        restart: seconds that a start after a preemption takes.

    Times between arrivals are exponential. The amount of training is log-normal, with the mean
    and the variation of the model.
    """
    total = fsum(kind.share for kind in kinds)
    demand = fsum(kind.share / total * kind.demand for kind in kinds)
    arrivals = random.exponential(demand / (load * devices), count).cumsum().tolist()
    places = random.choice(len(kinds), count, p=[kind.share / total for kind in kinds]).tolist()
    normal = random.standard_normal(count).tolist()
    width = len(str(count))
    jobs = (
        Job(
            name=f"{kinds[place].name}-{number:0{width}}",
            arrival=arrival,
            work=_work(kinds[place], chance),
            curve=kinds[place].curve,
            devices=kinds[place].asks,
            restart=restart,
            group=kinds[place].name,
        )
        for number, (arrival, place, chance) in enumerate(
            zip(arrivals, places, normal, strict=True), start=1
        )
    )
    return Trace(name=f"{count} jobs at load {load:g}", jobs=tuple(jobs))


def _work(kind: Kind, normal: float) -> float:
    """Samples of a job: their logarithm is normal, and mean and variation are the model's."""
    variance = log(1.0 + kind.vary**2)
    return kind.samples * exp(sqrt(variance) * normal - 0.5 * variance)
