"""Studies of throughput against workers: what each does, who adds up gradients, how many to try."""

from __future__ import annotations

from dataclasses import dataclass

from foretrain.errors import InputError
from foretrain.measured.profile import RecordedStep
from foretrain.plan.servers import LinkPolicy, Training
from foretrain.plan.startup import StartUp
from foretrain.plan.study import Study
from foretrain.workload.workload import Data

WASTE = 0.005
"""Samples more that are needed, as a share, for each update that gradients have not seen, where
nobody says it: assumed. It depends on network, learning rate and how far training has come."""

MOST_STEPS = 10_000_000
"""Steps of all workers that are simulated: some minutes."""

FEWEST_STEPS = 40
"""Steps of a worker below which batch means tell nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeJob:
    """A training from its start to its end.

    Attributes:
        start: what nodes do before the first step.
        data: the data set.
        epochs: how many, above 0.
        cores: of a node, that prepare samples; None where preparing never limits.
        held: share of what a step reads that nodes hold since the start, from 0 to 1.
    """

    start: StartUp
    data: Data
    epochs: float = 1.0
    cores: int | None = None
    held: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleStudy:
    """Throughput as a function of the number of workers.

    Attributes:
        training: what each worker does, with whom. Where a model is given, its seconds, bytes and
            link stand for what an estimate of one worker says.
        workers: numbers of them to look at, ascending.
        model: workload, cluster and plan of one worker, which stands for one node; None where the
            study says its seconds and bytes.
        steps: of each worker that are simulated, on average.
        seed: of the simulation.
        policy: of the servers' links.
        waste: samples more that are needed, as a share, for each update of others that gradients
            have not seen.
        recorded: steps of a profile that are replayed; without any, the phases of a step.
        job: the whole training, of which the best number of nodes is asked too; None without.
        assumed: in words, what a reader filled in.
    """

    training: Training
    workers: tuple[int, ...]
    model: Study | None = None
    steps: int = 400
    seed: int = 0
    policy: LinkPolicy = LinkPolicy.FAIR
    waste: float = WASTE
    recorded: tuple[RecordedStep, ...] = ()
    job: WholeJob | None = None
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.workers:
            raise InputError("ScaleStudy.workers needs at least one number, such as [1, 2, 4, 8].")
        few = self.training.updates.backup + 1
        for count in self.workers:
            if not count >= few:
                raise InputError(
                    f"ScaleStudy.workers must be at least 1 and more than the backup workers,"
                    f" {few - 1}, got {count}."
                )
        steps = self.steps * sum(self.workers)
        if steps > MOST_STEPS:
            raise InputError(
                f"ScaleStudy.steps of all workers together are {steps:,}, more than {MOST_STEPS:,}:"
                " ask for fewer workers or fewer steps."
            )
        if not 0 <= self.waste < 1:
            raise InputError(f"ScaleStudy.waste must be at least 0 and below 1, got {self.waste}.")
        if not self.steps >= FEWEST_STEPS:
            raise InputError(
                f"ScaleStudy.steps must be at least {FEWEST_STEPS}, got {self.steps}: with fewer an"
                " interval means nothing."
            )
