"""Named policies: what a scheduling policy is made of, and what is said of it.

Policies of one's own: an ordering of jobs, or a function of what a policy sees.

What they say is checked as it comes, for nothing in the simulation expects a wrong number: a
message names the policy, the job and what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isnan

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.ordered import OrderedDispatcher, Ordering
from foretrain.jobs.shared import Allocation, ClusterState, SharedDispatcher
from foretrain.jobs.simulation import Dispatcher
from foretrain.measured.job import Trace
from foretrain.measured.site import SiteRules
from foretrain.plugins import POLICY, blamed, own


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

    RUNGS = "rungs of sweeps"
    """Where trials are looked at, how many go on, and how long they take until there."""


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


FORMS = (
    "an Ordering, a function of a ClusterState that returns {rank: Allocation(devices)}, "
    "or a class of such functions"
)


def own_policy(name: str) -> NamedPolicy | None:
    """The policy that a user calls so; None where none of theirs can be meant.

    Raises:
        InputError: there is no such thing, or it is no policy.
    """
    found = own(POLICY, name)
    if found is None or isinstance(found, NamedPolicy):
        return found
    if isinstance(found, Ordering):
        ordering = replace(found, key=_checked_key(name, found.key))
        return NamedPolicy(says=_says(found), make=lambda asked: OrderedDispatcher(ordering))
    if callable(found):
        return NamedPolicy(says=_says(found), make=lambda asked: _shared(name, found, asked))
    raise InputError(f"{name}: is a {type(found).__name__}; a policy is {FORMS}.")


def _says(thing: object) -> str:
    """The first line of what documents it, where that is its own."""
    told = "" if isinstance(thing, Ordering) else (thing.__doc__ or "")
    return told.strip().partition("\n")[0].rstrip(".") or "a policy of one's own"


def _checked_key(
    name: str, key: Callable[[Active, float], float]
) -> Callable[[Active, float], float]:
    def checked(active: Active, now: float) -> float:
        with blamed(POLICY, name):
            found = float(key(active, now))
        if isnan(found):
            raise InputError(f"policy '{name}': the key of job {active.job.name} is not a number.")
        return found

    return checked


def _shared(name: str, policy: Callable[..., object], asked: PolicyInputs) -> Dispatcher:
    # A class remembers jobs: every run gets another one.
    with blamed(POLICY, name):
        found = policy() if isinstance(policy, type) else policy
    if not callable(found):
        raise InputError(f"policy '{name}': objects of the class cannot be called with a state.")

    def checked(state: ClusterState) -> Mapping[int, Allocation]:
        with blamed(POLICY, name):
            grants = found(state)
        if not isinstance(grants, Mapping):
            told = f"returned a {type(grants).__name__}; a mapping of ranks to devices is wanted"
            raise InputError(f"policy '{name}': {told}.")
        there = {each.rank: each for each in state.jobs}
        return {rank: _allocation(name, rank, grant, there=there) for rank, grant in grants.items()}

    return SharedDispatcher(checked, asked.fleet, period=asked.period)


def _allocation(
    name: str, rank: object, grant: object, *, there: Mapping[int, Active]
) -> Allocation:
    """What a job gets, if that is something that it can have.

    Raises:
        InputError: it is not.
    """
    if not isinstance(rank, int) or rank not in there:
        raise InputError(
            f"policy '{name}': gave devices to {rank!r}, which is the rank of no job that is there."
        )
    given = grant if isinstance(grant, Allocation) else Allocation(grant)  # type: ignore[arg-type]
    job = there[rank].job
    if given.devices not in job.curve.counts:
        few = ", ".join(map(str, job.curve.counts[:8])) + (", ..." * (len(job.curve.counts) > 8))
        raise InputError(
            f"policy '{name}': gave job {job.name} {given.devices!r} devices; it runs on {few}."
        )
    return given
