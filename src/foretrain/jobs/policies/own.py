"""Policies of one's own: an ordering of jobs, or a function of what a policy sees.

What they say is checked as it comes, for nothing in the simulation expects a wrong number: a
message names the policy, the job and what is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isnan

from foretrain.errors import InputError
from foretrain.jobs.active import Active
from foretrain.jobs.ordered import OrderedDispatcher, Ordering
from foretrain.jobs.policies.policy import NamedPolicy, PolicyInputs
from foretrain.jobs.shared import Allocation, ClusterState, SharedDispatcher
from foretrain.jobs.simulation import Dispatcher
from foretrain.plugins import POLICY, blamed, own

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
