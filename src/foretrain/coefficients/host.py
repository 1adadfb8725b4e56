"""The host: what it starts and what it updates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWork:
    """The host: what it starts and what it updates.

    Attributes:
        launch: seconds between the starts of two kernels that have nothing to do.
        memory: share of its memory's bandwidth that a host's processors reach in an update.
    """

    launch: float
    memory: float
