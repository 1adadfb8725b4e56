"""The host: what it starts and what it updates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWork:
    """The host: what it starts and what it updates.

    Attributes:
        launch: seconds in which an interpreter starts a kernel, one after another.
        graph_launch: the same of a runtime that knows the graph before it runs.
        gap: seconds that a device loses between two kernels however far ahead the host is.
        memory: share of its memory's bandwidth that a host's processors reach in an update.
    """

    launch: float
    graph_launch: float
    gap: float
    memory: float
