"""Limits: what users, groups, accounts and arrays may hold at once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from foretrain.errors import InputError
from foretrain.measured.job import Job


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
