"""What can go wrong between nodes, told to every node that is still there."""

from __future__ import annotations

from foretrain.errors import ForetrainError


class NodeLost(ForetrainError):
    """Another node died, left, or has not answered within the timeout."""


class NodeFailed(ForetrainError):
    """A node could not decode its block; every node is told why."""
