"""Which way of feeding the members of an ensemble was chosen, and why the others lose."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class InputWay:
    """One way of feeding all members.

    Attributes:
        name: of a pipeline across nodes, or of a way of loading on one.
        rate: samples per second that every member trains.
        cpu: core-seconds to prepare and hand on a sample of the stream, for all members together.
        cores: of the cores of a node, those that are at work on it, on average.
        limit: what keeps the rate from being higher: "training", "cores", "preparation" or
            "exchange".
        why: it was not chosen; empty for the one that was.
    """

    name: str
    rate: float
    cpu: float
    cores: float
    limit: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedInput:
    """How the members of an ensemble are fed on some devices.

    Attributes:
        members: of the ensemble.
        beside: members on one node.
        nodes: that hand samples to each other.
        parts: nodes of one member that are fed, each with its own part of every batch.
        cores: of a node, beside those that its devices keep busy.
        demand: samples per second that a member's plan trains if its next batch is always there.
        best: the way that was chosen.
        private: what is had without sharing: every member prepares all of its samples.
        others: those that were not chosen, simple ones first; `private` is one of them unless it
            is the best.
        pays: whether sharing does.
        verdict: that in a sentence.
    """

    members: int
    beside: int
    nodes: int
    parts: int
    cores: int
    demand: float
    best: InputWay
    private: InputWay
    others: tuple[InputWay, ...]
    pays: bool
    verdict: str

    @property
    def saved(self) -> float:
        """Share of the CPU time per sample that the best way saves."""
        return 1.0 - self.best.cpu / self.private.cpu
