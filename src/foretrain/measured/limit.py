"""Limits: what users, groups, accounts and arrays may hold at once, of devices and licences.

Queues with quotas, as Kueue, Volcano and KAI have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf

from foretrain.errors import InputError
from foretrain.measured.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorQuota:
    """What is promised of one flavor of devices.

    Attributes:
        name: of the flavor; of a fleet with several kinds of devices, one of these. Empty where
            devices are not told apart.
        devices: that are promised (nominal quota).
        borrows: devices beyond these that may be used at most.
        lends: of these that others may use at most.
    """

    name: str = ""
    devices: float = 0.0
    borrows: float = inf
    lends: float = inf

    def __post_init__(self) -> None:
        if not min(self.devices, self.borrows, self.lends) >= 0:
            raise InputError(
                f"FlavorQuota.devices, borrows and lends of {self.name} must be at least 0, got"
                f" {(self.devices, self.borrows, self.lends)}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaCohort:
    """Queues and other cohorts that lend to each other.

    Attributes:
        name: as those in it name it.
        parent: the cohort that it is in; empty for none.
        devices: of its own, beside those of who is in it.
        borrows: devices beyond all these that it may use at most.
        lends: of all these that others may use at most.
        weight: among others of the same parent.
        flavors: the same three of each flavor, in their place.
    """

    name: str
    parent: str = ""
    devices: float = 0.0
    borrows: float = inf
    lends: float = inf
    weight: float = 1.0
    flavors: tuple[FlavorQuota, ...] = ()

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaQueue:
    """A queue that is promised devices.

    Attributes:
        name: as jobs name it by their group.
        cohort: queues of one cohort lend to each other; empty for a queue that lends to nobody.
        devices: that it is promised (nominal quota, deserved).
        borrows: devices beyond these that it may use at most.
        lends: of these that others may use at most.
        most: devices that it may use at all (Volcano's capability, KAI's limit).
        weight: among queues that share what is left.
        strict: whether its first job that does not fit blocks those behind it.
        reclaims: whether it may stop jobs of queues that borrow, as far as it is promised devices.
        lower_only: whether it reclaims from jobs of lower priority alone.
        stops_to_borrow: whether it may stop jobs of lower priority of queues that borrow, so that
            it borrows itself.
        stops_up_to: their highest priority.
        preempts: whether its jobs may stop its own of lower priority.
        newer_too: whether they may stop newer ones of equal priority too.
        past: share of the cluster that it used before now, for shares over time.
        flavors: what it is promised of each flavor, the one to be tried first at the beginning; in
            place of `devices`, `borrows` and `lends`.
        next_before_borrowing: whether a flavor that can be had without borrowing goes before one
            that comes first.
        stops_before_next: whether jobs are stopped for a flavor before the next one is tried.
    """

    name: str
    cohort: str = ""
    devices: float = 0.0
    borrows: float = inf
    lends: float = inf
    most: float = inf
    weight: float = 1.0
    strict: bool = False
    reclaims: bool = False
    lower_only: bool = False
    stops_to_borrow: bool = False
    stops_up_to: float = inf
    preempts: bool = False
    newer_too: bool = False
    past: float = 0.0
    flavors: tuple[FlavorQuota, ...] = ()
    next_before_borrowing: bool = False
    stops_before_next: bool = False

    def __post_init__(self) -> None:
        _check(self)
        if not min(self.most, self.past) >= 0:
            raise InputError(
                f"QuotaQueue.most and past of {self.name} must be at least 0, got"
                f" {(self.most, self.past)}."
            )


def flavors_of(node: QuotaQueue | QuotaCohort) -> tuple[FlavorQuota, ...]:
    """What a queue or a cohort is promised, of each flavor or of all devices alike."""
    alike = FlavorQuota(devices=node.devices, borrows=node.borrows, lends=node.lends)
    return node.flavors or (alike,)


def _check(node: QuotaQueue | QuotaCohort) -> None:
    kind, bounds = type(node).__name__, (node.devices, node.borrows, node.lends, node.weight)
    if not min(bounds) >= 0:
        raise InputError(
            f"{kind}.devices, borrows, lends and weight of {node.name} must be at least 0, got"
            f" {bounds}."
        )
    names = [each.name for each in node.flavors]
    if len({*names}) < len(names) or "" in names:
        raise InputError(f"{kind}.flavors of {node.name} need names that differ, got {names}.")
    if names and bounds[:3] != (0.0, inf, inf):
        raise InputError(
            f"{kind}.flavors of {node.name} stand beside devices, borrows or lends. Write these of"
            " each flavor."
        )


def quota_problems(queues: Sequence[QuotaQueue], cohorts: Sequence[QuotaCohort]) -> Iterator[str]:
    """What is wrong with queues and cohorts beside each other, in words."""
    nodes: list[QuotaQueue | QuotaCohort] = [*queues, *cohorts]
    plain = [each.name for each in nodes if not each.flavors and each.devices]
    flavored = [each.name for each in nodes if each.flavors]
    if plain and flavored:
        yield (
            f"Site.queues have flavors in {flavored[0]} and none in {plain[0]}. Write the flavors"
            " of all."
        )
    above = {each.name: each.parent for each in cohorts}
    for name in [*above]:
        path = [name]
        while (parent := above.get(path[-1], "")) and parent not in path:
            path.append(parent)
        if parent == name:
            yield f"Site.cohorts are in each other: the parents of {name} lead back to it."


class Party(StrEnum):
    """Who shares a limit: all jobs with one value of a field."""

    EVERYBODY = ""
    USER = "user"
    GROUP = "group"
    ACCOUNT = "account"
    QOS = "qos"
    ARRAY = "array"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartyLimit:
    """What each party may hold at once.

    Attributes:
        each: whose jobs are counted together: every user's, every group's ...; everybody's jobs
            are one party.
        of: the field by which jobs are bounded at all; EVERYBODY for all jobs.
        named: the value of that field.
        devices: at most; infinite for no such limit.
        jobs: that run at once, at most.
        license: a licence of which there are some, where that is what is bounded: the limit is then
            of jobs that hold it.
        count: of these licences, at most.

    Slurm's MaxTRESPerUser of a QOS is (each user, of the QOS), GrpTRES of an account (everybody, of
    the account), `--array=0-9%2` (everybody, of the array).
    """

    each: Party = Party.EVERYBODY
    of: Party = Party.EVERYBODY
    named: str = ""
    devices: float = inf
    jobs: float = inf
    license: str = ""
    count: float = inf

    def __post_init__(self) -> None:
        bounds = (self.devices, self.jobs, self.count)
        if not min(bounds) >= 0:
            raise InputError(
                f"PartyLimit.devices, jobs and count must be at least 0, got {bounds}."
            )
        if not self.license and self.count < inf:
            raise InputError("PartyLimit.count is of licences. Name them, or bound devices.")

    def binds(self, job: Job) -> bool:
        """Whether it says anything of a job."""
        return (not self.of or getattr(job, self.of) == self.named) and (
            not self.license or self.many(job) > 0
        )

    def many(self, job: Job) -> int:
        """How many of its licences a job holds."""
        return sum(many for name, many in job.licenses if name == self.license)

    def party(self, job: Job) -> str:
        """Among whose jobs a job counts."""
        return getattr(job, self.each) if self.each else ""
