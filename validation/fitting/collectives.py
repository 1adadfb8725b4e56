"""Protocol terms of collectives: the coefficients that explain measured transfer times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficient, Coefficients, Origin, Protocols
from foretrain.evidence.fit import FARTHEST, NOISE, TENTH, Floats, Free, free_of, values_of, weights
from foretrain.step.collective import transfer
from foretrain.step.strategies.strategy import Pattern

LEAST = 65536.0
"""Bytes of the smallest messages that are fitted and scored: trainings send few smaller ones."""

NAMES = (
    "links.start",
    "links.launch",
    "links.in_network",
    *(f"protocols.{name}" for name in Protocols.__dataclass_fields__ if name != "ethernet_hop"),
)
"""Coefficients that transfer times speak of.

Ethernet in order is told of by one machine alone, of AMD's devices: its hops cannot be told apart
from what their library waits.
"""


COMMAND = "validation/collectives.py"
"""What fits them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A collective that somebody timed.

    Attributes:
        id: of the row.
        run: what was measured in one go, messages of many sizes.
        cluster: where; all of its devices took part.
        pattern: what was exchanged; None for a message of each member to the next.
        size: bytes.
        seconds: measured.
        together: devices that one process called for, as far as is known.
    """

    id: str
    run: str
    cluster: Cluster
    pattern: Pattern | None
    size: float
    seconds: float
    together: int = 1

    @property
    def source(self) -> str:
        """Who published it."""
        return self.id.rsplit("-", 1)[0]


def as_started(rows: Sequence[Timed], least: float) -> tuple[Timed, ...]:
    """Rows of runs that are fitted to, with what their own times say of how they were started.

    A run of which a call is over sooner than one process calls for all devices had several.

    Args:
        rows: of any runs.
        least: fewest seconds that a call on one device may take.
    """
    quick: dict[str, float] = {}
    for row in rows:
        quick[row.run] = min(row.seconds, quick.get(row.run, row.seconds))
    return tuple(
        replace(row, together=1 if quick[row.run] < row.together * least else row.together)
        for row in rows
    )


def quickest(rows: Sequence[Timed]) -> tuple[Timed, ...]:
    """The least time of each size, of runs of the same configuration.

    Whatever else a machine does only adds to what a collective takes.
    """
    best: dict[tuple[str, Cluster, Pattern | None, float], Timed] = {}
    for row in rows:
        key = row.source, row.cluster, row.pattern, row.size
        if key not in best or row.seconds < best[key].seconds:
            best[key] = row
    return tuple(best.values())


def predicted(rows: Sequence[Timed], coefficients: Coefficients) -> Floats:
    """Seconds of some collectives. [row]"""
    seconds = np.empty(len(rows))
    for (cluster, pattern, together), places in _alike(rows).items():
        sizes = [rows[place].size for place in places]
        seconds[places] = transfer(cluster, coefficients, pattern, sizes=sizes, together=together)
    return seconds


def fitted(
    rows: Sequence[Timed], priors: Mapping[str, Coefficient], before: Coefficients
) -> Mapping[str, Coefficient]:
    """Protocol terms that explain some rows, no farther from their priors than these demand.

    Args:
        rows: measured collectives.
        priors: what was known of each coefficient before.
        before: the other coefficients.

    Returns:
        The coefficients that the rows say something of, with intervals, by name.
    """
    from scipy.optimize import least_squares

    rows = as_started(rows, priors["links.launch"].low)
    free = [free_of(name, priors[name]) for name in NAMES]
    measured = np.log(_seconds(rows))
    # Runs weigh the same, however many sizes they have.
    scale = np.sqrt(weights([row.run for row in rows], [row.id for row in rows])) / NOISE

    def residuals(scores: Floats) -> Floats:
        seconds = predicted(rows, before.changed(values_of(free, scores)))
        return np.concatenate([scores, scale * (np.log(seconds) - measured)])

    found = least_squares(
        residuals, np.zeros(len(free)), bounds=(-FARTHEST, FARTHEST), loss="soft_l1"
    )
    spread = np.sqrt(np.diagonal(np.linalg.inv(found.jac.T @ found.jac)))
    told = np.abs(found.jac[len(free) :]).max(axis=0) > 0.0
    ids = tuple(row.id for row in rows)
    return MappingProxyType(
        {
            each.name: _coefficient(priors[each.name], each, (score, width), rows=ids)
            for each, score, width, known in zip(free, found.x, spread, told, strict=True)
            if known
        }
    )


def errors(rows: Sequence[Timed], coefficients: Coefficients) -> Floats:
    """What is predicted over what was measured, less 1. [row]"""
    found: Floats = predicted(rows, coefficients) / _seconds(rows) - 1.0
    return found


def _seconds(rows: Sequence[Timed]) -> Floats:
    return np.array([row.seconds for row in rows])


def _alike(rows: Sequence[Timed]) -> Mapping[tuple[Cluster, Pattern | None, int], list[int]]:
    """Places of the rows that differ in nothing but size."""
    found: dict[tuple[Cluster, Pattern | None, int], list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault((row.cluster, row.pattern, row.together), []).append(place)
    return found


def _coefficient(
    prior: Coefficient, free: Free, found: tuple[float, float], *, rows: tuple[str, ...]
) -> Coefficient:
    """A coefficient at a score with a standard deviation, in place of its prior."""
    score, spread = found
    return replace(
        prior,
        value=free.value(score),
        low=free.value(score - TENTH * spread),
        high=free.value(score + TENTH * spread),
        kind=Origin.MEASURED,
        source=COMMAND,
        rows=rows,
    )
