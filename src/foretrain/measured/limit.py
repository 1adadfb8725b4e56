"""Limits: what users, groups, accounts and arrays may hold at once.

Queues with quotas, as Kueue, Volcano and KAI have them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from foretrain.errors import InputError
from foretrain.measured.job import Job


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
        preempts: whether its jobs may stop its own of lower priority.
        past: share of the cluster that it used before now, for shares over time.
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
    preempts: bool = False
    past: float = 0.0

    def __post_init__(self) -> None:
        bounds = (self.devices, self.borrows, self.lends, self.most, self.weight, self.past)
        if not min(bounds) >= 0:
            raise InputError(
                f"QuotaQueue.devices, borrows, lends, most, weight and past of {self.name} must be"
                f" at least 0, got {bounds}."
            )


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

    Slurm's MaxTRESPerUser of a QOS is (each user, of the QOS), GrpTRES of an account (everybody, of
    the account), `--array=0-9%2` (everybody, of the array).
    """

    each: Party = Party.EVERYBODY
    of: Party = Party.EVERYBODY
    named: str = ""
    devices: float = inf
    jobs: float = inf

    def __post_init__(self) -> None:
        if not (self.devices >= 0 and self.jobs >= 0):
            raise InputError(
                f"PartyLimit.devices and jobs must be at least 0, got {self.devices} and"
                f" {self.jobs}."
            )

    def binds(self, job: Job) -> bool:
        """Whether it says anything of a job."""
        return not self.of or getattr(job, self.of) == self.named

    def party(self, job: Job) -> str:
        """Among whose jobs a job counts."""
        return getattr(job, self.each) if self.each else ""
