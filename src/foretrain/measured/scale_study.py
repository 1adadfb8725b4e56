"""Studies of throughput, and the profiles that they rest on.

Profiles: what a worker and its servers did in some steps, recorded on one node or two.

From a profile of one worker, the throughput of many is predicted. An operation says which resource
it took, from when to when or how many bytes, and what it waited for; so what may overlap follows
from the profile and need not be assumed. Several steps are kept, since no two take the same time.

Studies of throughput against workers: what each does, who adds up gradients, how many to try.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from foretrain.distributions import Distribution
from foretrain.errors import InputError, nearest
from foretrain.plan.servers import (
    SYNCHRONOUS,
    Aggregation,
    LinkPolicy,
    Servers,
    Training,
    Updates,
    WholeJob,
    Worker,
    check_together,
)
from foretrain.plan.study import Study
from foretrain.units import MOST
from foretrain.workload.graph import Model


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
        if not 0 <= self.start <= MOST:
            raise InputError(
                f"RecordedOperation.start must be from 0 to {MOST:g} s, got"
                f" {self.start} for '{self.name}'."
            )
        if not self.start <= self.end <= MOST:
            raise InputError(
                f"RecordedOperation.end must be from its start, {self.start:g} s, to"
                f" {MOST:g} s, got {self.end} for '{self.name}'."
            )
        if not 0 <= self.size <= MOST:
            raise InputError(
                f"RecordedOperation.size must be from 0 to {MOST:g} B, got"
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
        if not 1 / MOST <= self.samples <= MOST:
            raise InputError(
                f"Profile.samples must be above 0, at most {MOST:g}, got {self.samples}."
            )
        if not 0 <= self.latency <= MOST:
            raise InputError(f"Profile.latency must be from 0 to {MOST:g} s, got {self.latency}.")
        if self.link is not None and not 1 / MOST <= self.link <= MOST:
            raise InputError(
                f"Profile.link must be above 0 B/s, at most {MOST:g}, got {self.link}."
            )
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


WASTE = 0.005
"""Samples more that are needed, as a share, for each update that gradients have not seen, where
nobody says it: assumed. It depends on network, learning rate and how far training has come."""

MOST_STEPS = 10_000_000
"""Steps of all workers that are simulated: some minutes."""

FEWEST_STEPS = 40
"""Steps of a worker below which batch means tell nothing."""

MOST_CORES = 512
"""Of a machine, that are taken for meant: each is one more number of threads to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTraining:
    """Training of a model: what its worker, one node, does is for an estimate to say.

    Attributes:
        model: workload, cluster and plan of one worker.
        aggregation: who adds up gradients.
        servers: those that do, where servers do.
        updates: when a worker may go on.
        latency: seconds before the first byte of a message between workers arrives.
        waste: samples more that are needed, as a share, for each update of others that gradients
            have not seen.
        stragglers: what a node takes to compute over what it takes on average, of mean 1; None for
            what coefficients say.
    """

    model: Study
    aggregation: Aggregation = Aggregation.SERVERS
    servers: Servers | None = None
    updates: Updates = SYNCHRONOUS
    latency: float = 0.0
    waste: float = 0.0
    stragglers: Distribution | None = None

    def __post_init__(self) -> None:
        check_together(self.aggregation, self.servers, self.updates)
        if self.stragglers is not None and not abs(self.stragglers.mean - 1.0) < 1e-6:
            raise InputError(
                f"ModelTraining.stragglers must have mean 1, got {self.stragglers.mean}."
            )

    def of(self, worker: Worker) -> Training:
        """The training, once it is known what a worker does."""
        return Training(
            worker=worker,
            aggregation=self.aggregation,
            servers=self.servers,
            updates=self.updates,
            latency=self.latency,
            waste=self.waste,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioning:
    """Training on machines of many cores, which are shared out among replicas and servers.

    `Machine` and `ReplicatedTraining` of `foretrain.queueing`, which are made of it, have the
    meanings.

    Attributes:
        model: the network, whose layers may be cut over machines.
        samples: of an epoch.
        chunk: samples that a replica trains between two exchanges of weights.
        cores: of a machine.
        memory_share: of the time of one thread alone in which it keeps the machine's memory busy.
        multiply_add: seconds of one on one core, alone.
        activation: seconds of the function of one neuron.
        error: seconds of one neuron's error term.
        memory: bytes of a machine.
        link: bytes per second, shared by all that a machine sends and receives.
        latency: seconds before the first byte of a message arrives.
        value: bytes of a weight, an activation or an error.
        overlapped: whether a replica goes on training while it exchanges weights.
        waste: samples that each replica beside the first makes necessary, as a share.
    """

    model: Model
    samples: float
    chunk: float
    cores: int = 1
    memory_share: float = 0.0
    multiply_add: float
    activation: float = 0.0
    error: float = 0.0
    memory: float
    link: float
    latency: float = 0.0
    value: float = 4.0
    overlapped: bool = True
    waste: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.cores <= MOST_CORES:
            raise InputError(
                f"Provisioning.cores must be from 1 to {MOST_CORES:,}, got {self.cores}."
            )
        for name in ("samples", "chunk", "multiply_add", "memory", "link", "value"):
            if not getattr(self, name) > 0:
                raise InputError(f"Provisioning.{name} must be above 0, got {getattr(self, name)}.")
        for name in ("activation", "error", "latency"):
            if not getattr(self, name) >= 0:
                raise InputError(
                    f"Provisioning.{name} must be at least 0 s, got {getattr(self, name)}."
                )
        if not 0 <= self.memory_share <= 1:
            raise InputError(
                f"Provisioning.memory_share must lie from 0 to 1, got {self.memory_share}."
            )
        if not 0 <= self.waste < 1:
            raise InputError(
                f"Provisioning.waste must be at least 0 and below 1, got {self.waste}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleStudy:
    """Throughput as a function of the number of workers.

    Attributes:
        training: what each worker does, with whom; or a model's, of which an estimate says it; or
            machines to share out among replicas and servers, each machine counting as a worker.
        workers: numbers of them to look at, ascending.
        steps: of each worker that are simulated, on average.
        seed: of the simulation.
        policy: of the servers' links.
        recorded: steps of a profile that are replayed; without any, the phases of a step.
        job: the whole training, of which the best number of nodes is asked too; None without.
        assumed: in words, what a reader filled in.
    """

    training: Training | ModelTraining | Provisioning
    workers: tuple[int, ...]
    steps: int = 400
    seed: int = 0
    policy: LinkPolicy = LinkPolicy.FAIR
    recorded: tuple[RecordedStep, ...] = ()
    job: WholeJob | None = None
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.workers:
            raise InputError("ScaleStudy.workers needs at least one number, such as [1, 2, 4, 8].")
        served = None if isinstance(self.training, Provisioning) else self.training.servers
        if self.job is not None and (served is None or served.colocated):
            raise InputError("ScaleStudy.job is for servers on nodes of their own.")
        if isinstance(self.training, Provisioning):
            if not min(self.workers) >= 2:
                raise InputError(
                    "ScaleStudy.workers must be at least 2 machines, a replica and a server, got"
                    f" {min(self.workers)}."
                )
            return
        backup = self.training.updates.backup
        if not min(self.workers) >= backup + 1:
            raise InputError(
                f"ScaleStudy.workers must be at least 1 and more than the backup workers,"
                f" {backup}, got {min(self.workers)}."
            )
        steps = self.steps * sum(self.workers)
        if self.simulated and steps > MOST_STEPS:
            raise InputError(
                f"ScaleStudy.steps of all workers together are {steps:,}, more than {MOST_STEPS:,}:"
                " ask for fewer workers or fewer steps."
            )
        if not self.steps >= FEWEST_STEPS:
            raise InputError(
                f"ScaleStudy.steps must be at least {FEWEST_STEPS}, got {self.steps}: with fewer an"
                " interval means nothing."
            )

    @property
    def simulated(self) -> bool:
        """Whether workers are simulated; else every number of them gets its best plan."""
        if isinstance(self.training, ModelTraining):
            return self.training.aggregation is not Aggregation.ALL_REDUCE
        return isinstance(self.training, Training)
