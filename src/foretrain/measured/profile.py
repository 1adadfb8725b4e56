"""Profiles: what a worker and its servers did in some steps, recorded on one node or two.

From a profile of one worker, the throughput of many is predicted. An operation says which resource
it took, from when to when or how many bytes, and what it waited for; so what may overlap follows
from the profile and need not be assumed. Several steps are kept, since no two take the same time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from math import inf

from foretrain.errors import InputError, nearest


class StepResource(StrEnum):
    """What an operation of a step takes."""

    COMPUTE = "compute"
    """The worker's device, one operation at a time."""
    DOWNLINK = "downlink"
    """The link from the servers to the worker."""
    UPLINK = "uplink"
    """The link from the worker to the servers."""
    SERVER = "server"
    """A core of the servers."""


LINKS = (StepResource.DOWNLINK, StepResource.UPLINK)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOperation:
    """One operation of a recorded step.

    Attributes:
        name: unlike any other of its step.
        resource: what it took.
        start: seconds since the step began, at least 0.
        end: seconds since the step began, at least `start`.
        size: bytes that it carried, on a link.
        after: names of the operations that it waited for.
        layer: of the network, counted from its input; where an order is enforced, messages of
            earlier layers go first.
    """

    name: str
    resource: StepResource
    start: float
    end: float
    size: float = 0.0
    after: tuple[str, ...] = ()
    layer: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.start < inf:
            raise InputError(
                "RecordedOperation.start must be finite and at least 0 s, got"
                f" {self.start} for '{self.name}'."
            )
        if not self.start <= self.end < inf:
            raise InputError(
                "RecordedOperation.end must be finite and at least its start,"
                f" {self.start:g} s, got {self.end} for '{self.name}'."
            )
        if not 0 <= self.size < inf:
            raise InputError(
                "RecordedOperation.size must be finite and at least 0 B, got"
                f" {self.size} for '{self.name}'."
            )
        if self.size and self.resource not in LINKS:
            raise InputError(
                f"RecordedOperation.size must be 0 B but on {' and '.join(LINKS)}, got"
                f" {self.size:g} for '{self.name}'."
            )

    @property
    def seconds(self) -> float:
        """That it took."""
        return self.end - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedStep:
    """One step, with all its operations.

    Attributes:
        number: of the step, at least 0; steps of a profile follow one another.
        operations: at least one; of two that could begin, the one that stands first does.
    """

    number: int
    operations: tuple[RecordedOperation, ...]

    def __post_init__(self) -> None:
        if not self.number >= 0:
            raise InputError(f"RecordedStep.number must be at least 0, got {self.number}.")
        names = Counter(each.name for each in self.operations)
        if not names:
            raise InputError("RecordedStep.operations needs at least one operation.")
        twice = [name for name, times in names.items() if times > 1]
        if twice:
            raise InputError(
                "RecordedStep.operations must each have a name of its own:"
                f" '{twice[0]}' is there twice."
            )
        for each in self.operations:
            missing = [name for name in each.after if name not in names]
            if missing:
                raise InputError(
                    f"RecordedStep.operations hold '{each.name}', which waits for '{missing[0]}':"
                    f" that is not recorded.{nearest(missing[0], list(names))}"
                )
        try:
            TopologicalSorter({each.name: each.after for each in self.operations}).prepare()
        except CycleError as error:
            raise InputError(
                "RecordedStep.operations must not wait for one another:"
                f" {' before '.join(error.args[1])}."
            ) from None

    @property
    def seconds(self) -> float:
        """From the start of its first operation to the end of its last."""
        return max(it.end for it in self.operations) - min(it.start for it in self.operations)

    def taken(self, resource: StepResource) -> float:
        """Seconds of its operations on a resource, added up."""
        return sum(it.seconds for it in self.operations if it.resource is resource)

    def carried(self, link: StepResource) -> float:
        """Bytes of its operations on a link."""
        return sum(it.size for it in self.operations if it.resource is link)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Some steps of one worker that trains with servers.

    Attributes:
        name: what was trained, and where.
        nodes: 1 where worker and servers shared one, 2 where they did not.
        samples: that the worker learned from in a step, above 0.
        link: bytes per second of the connection of the two nodes, in each direction; without it,
            on one node, transfers cost nothing.
        latency: seconds before the first byte of a message arrived.
        steps: at least one, without a gap.
    """

    name: str
    nodes: int
    samples: float
    steps: tuple[RecordedStep, ...]
    link: float | None = None
    latency: float = 0.0

    def __post_init__(self) -> None:
        if self.nodes not in (1, 2):
            raise InputError(f"Profile.nodes must be 1 or 2, got {self.nodes}.")
        if not 0 < self.samples < inf:
            raise InputError(f"Profile.samples must be above 0, got {self.samples}.")
        if not 0 <= self.latency < inf:
            raise InputError(
                f"Profile.latency must be finite and at least 0 s, got {self.latency}."
            )
        if self.link is not None and not 0 < self.link < inf:
            raise InputError(f"Profile.link must be above 0 B/s, got {self.link}.")
        if (self.link is None) != (self.nodes == 1):
            raise InputError(
                "Profile.link is the bytes per second between two nodes: give it if nodes is 2, and"
                f" only then, got {self.link} with {self.nodes}."
            )
        self._check_steps()

    def _check_steps(self) -> None:
        if not self.steps:
            raise InputError("Profile.steps needs at least one step.")
        for before, after in pairwise(self.steps):
            if after.number != before.number + 1:
                raise InputError(
                    f"Profile.steps goes from step {before.number} to step {after.number}: each"
                    " must follow the one before. Keep steps without a gap."
                )
