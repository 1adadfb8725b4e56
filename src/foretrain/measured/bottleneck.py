"""Stages of a shared stream, and the one that sets the pace."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """What a sample goes through, in order."""

    READER = "reader"
    """The data set: finding and reading a sample."""

    DECODER = "decoder"
    """The transform that all members share."""

    TRANSPORT = "transport"
    """From a worker to the members."""

    TRAINER = "trainer"
    """The members' own transforms and steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bottleneck:
    """The stage that sets the pace.

    Attributes:
        stage: which one.
        share: of the time that it works; for transport, that workers and members both wait.
        evidence: what was seen, in words.
        remedy: what would help, in words.
    """

    stage: Stage
    share: float
    evidence: str
    remedy: str
