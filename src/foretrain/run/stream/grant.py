"""Samples that a reader may take."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.run.stream.lane import Lane
from foretrain.run.stream.slots import Numbers


@dataclass(frozen=True, slots=True)
class Grant:
    """Samples for one reader.

    Attributes:
        lane: of the reader.
        first: sequence number of the first.
        slots: where they lie, or `SKIPPED`. [sample]
        flags: `ZERO_COPY`, `ENDS`.
        gap: samples before the first that the reader lost by its own policy.
    """

    lane: Lane
    first: int
    slots: Numbers
    flags: int
    gap: int
