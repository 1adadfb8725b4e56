"""Scaling efficiency: what a device still does where there are more of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from validation.fitting.batches import share, software
from validation.fitting.scores import Scored, grouped

from foretrain.measured.run import MeasuredRun

LEAST_COUNTS = 3
"""Counts of devices without which runs are no family."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """One count of devices of a family.

    Attributes:
        source_id: of the family.
        devices: how many.
        fewest: the least of the family, whose efficiency is 1.
        measured: throughput of a device over that of a device of the fewest.
        predicted: the same.
    """

    source_id: str
    devices: int
    fewest: int
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        """Predicted less measured; 0.04 is four points."""
        return self.predicted - self.measured


def scaling(rows: Iterable[Scored]) -> tuple[Scaling, ...]:
    """The efficiency of every count but the fewest, in families that differ in nothing else.

    In one kind of family the batch grows with the devices, in the other it stays; a row may
    belong to both.
    """
    known = [row for row in rows if row.run.place.devices and share(row.run) is not None]
    growing = grouped(known, lambda row: (_alike(row.run), share(row.run)))
    staying = grouped(
        (row for row in known if row.run.global_batch),
        lambda row: (_alike(row.run), row.run.global_batch),
    )
    families = [*growing.values(), *staying.values()]
    return tuple(point for family in families for point in _points(family))


def _alike(run: MeasuredRun) -> Hashable:
    """All but what follows from the number of devices."""
    layout = replace(run.layout, data=None, accumulation=None)
    return (software(run), run.network, run.place.device, layout)


def _points(family: Sequence[Scored]) -> list[Scaling]:
    counts = grouped(family, lambda row: row.run.place.devices or 0)
    if len(counts) < LEAST_COUNTS:
        return []
    rates = {devices: _rates(rows) for devices, rows in sorted(counts.items())}
    fewest = min(rates)
    return [
        Scaling(
            source_id=family[0].run.source_id,
            devices=devices,
            fewest=fewest,
            measured=measured / rates[fewest][0],
            predicted=predicted / rates[fewest][1],
        )
        for devices, (measured, predicted) in rates.items()
        if devices != fewest
    ]


def _rates(rows: Sequence[Scored]) -> tuple[float, float]:
    """Samples per second of a device, measured and predicted; repeats are averaged."""
    shares = [(share(row.run) or 1.0, row) for row in rows]
    measured = fmean(samples / row.measured for samples, row in shares)
    return measured, fmean(samples / row.predicted for samples, row in shares)
