"""Studies of throughput against workers: what each does, who adds up gradients, how many to try."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.distributions import Distribution
from foretrain.errors import InputError
from foretrain.measured.profile import RecordedStep
from foretrain.plan.servers import (
    SYNCHRONOUS,
    Aggregation,
    LinkPolicy,
    Servers,
    Training,
    Updates,
    Worker,
    check_together,
)
from foretrain.plan.startup import WholeJob
from foretrain.plan.study import Study
from foretrain.workload.graph import Model

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
