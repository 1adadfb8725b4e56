"""Named policies: what a scheduling policy is made of, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from foretrain.cluster.mixed import Fleet
from foretrain.jobs.simulation import Dispatcher
from foretrain.measured.job import Trace
from foretrain.measured.site import SiteRules


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInputs:
    """What a policy may be made of.

    Attributes:
        fleet: what jobs share.
        past: jobs of the same kind that ended before, from which a policy may learn.
        period: seconds of a scheduling round; 0 to decide at every event.
        site: rules of an administrator, for the policies that replay them.
    """

    fleet: Fleet
    past: Trace
    period: float
    site: SiteRules = field(default_factory=SiteRules)


class Known(StrEnum):
    """What a policy may know of a job before it runs."""

    LENGTH = "length"
    SPEED = "speed"
    ESTIMATES = "users' estimates"
    PAST = "past jobs"
    """Those of its kind, from which the policy learns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPolicy:
    """A policy in the table.

    Attributes:
        says: what it does, in a sentence.
        make: a dispatcher for one run.
        knows: what it must know of a job before it runs.
        fluid: whether it divides devices into parts, so that they lie on no node.
        period: seconds of its rounds where the study says none; 0 if it needs no rounds.
        one_kind: whether it takes all devices for equal, and so needs a fleet of one kind.
        weighs: whether it heeds the priorities of jobs.
        on_nodes: whether it tells nodes apart, whatever the placement.
    """

    says: str
    make: Callable[[PolicyInputs], Dispatcher]
    knows: tuple[Known, ...] = ()
    fluid: bool = False
    period: float = 0.0
    one_kind: bool = False
    weighs: bool = False
    on_nodes: bool = False
