"""Questions: about a plan, and about one collective.

Spaces: which plans a search looks at.

Jobs: how a training is run around its steps; no choice here changes what a step takes.

Studies: the question that a verb answers.

Sized: the question about one size, of a study that asks for the largest.

One collective: what is exchanged, among how many devices, in which sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from math import prod
from typing import Final, Protocol

from foretrain.cluster.cluster import Cluster
from foretrain.cluster.mixed import Mixed
from foretrain.cluster.offer import Offer, whole
from foretrain.errors import InputError
from foretrain.plan.plan import (
    AS_MADE,
    ChannelSplit,
    ContextExchange,
    Cut,
    Grid,
    Offload,
    Order,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
    idle,
)
from foretrain.units import BYTES, MOST
from foretrain.workload.graph import Model, with_layers
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Choices per field of a plan; None leaves a field free.

    A tuple of one fixes a field. What the training software or the host decides is fixed unless a
    study frees it by listing choices: `schedule`, `sends`, `cut`, `offload`, `reshard`,
    `recompute_layers`, `offload_layers` and `split`.
    """

    data: tuple[int, ...] | None = None
    tensor: tuple[int, ...] | None = None
    context: tuple[int, ...] | None = None
    pipeline: tuple[int, ...] | None = None
    expert: tuple[int, ...] | None = None
    expert_tensor: tuple[int, ...] | None = None
    interleaving: tuple[int, ...] | None = None
    micro_batch: tuple[int, ...] | None = None
    sequence_parallel: tuple[bool, ...] | None = None
    exchange: tuple[ContextExchange, ...] | None = None
    grid: tuple[Grid, ...] | None = None
    convolutions: tuple[ChannelSplit, ...] | None = None
    split: tuple[int, ...] = (0,)
    sharding: tuple[Sharding, ...] | None = None
    shard: tuple[int, ...] | None = None
    reshard: tuple[bool, ...] = (True,)
    recompute: tuple[Recompute, ...] | None = None
    recompute_layers: tuple[int, ...] = (0,)
    offload: tuple[Offload, ...] = (Offload.NONE,)
    offload_layers: tuple[int, ...] = (0,)
    attention: tuple[Attention, ...] | None = None
    schedule: tuple[Schedule, ...] = (Schedule.ONE_F_ONE_B,)
    sends: tuple[Sends, ...] = (Sends.OVERLAPPED,)
    cut: tuple[Cut, ...] = AS_MADE
    order: tuple[Order, ...] | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            choices = getattr(self, each.name)
            if choices is not None and not (isinstance(choices, tuple) and choices):
                raise InputError(
                    f"Space.{each.name} must be a tuple of choices, such as (8,), or None for a "
                    f"free each, got {choices!r}."
                )

    def keys_against(self, plan: Plan, model: Model) -> list[str]:
        """The keys that leave a plan of a model out, those that change nothing about it apart."""
        quiet = idle(plan, model)
        choices = {each.name: getattr(self, each.name) for each in fields(self)}
        return [
            name
            for name, some in choices.items()
            if some is not None and getattr(plan, name) not in some and name not in quiet
        ]


def parts_of(space: Space, layers: int) -> tuple[Space, ...]:
    """A space in two, where stages divide the layers of a model and where they do not.

    Cuts as trainers make them are even in the one, so that its bounds are tight, and uneven in the
    other. Whoever asks for other cuts has one part.
    """
    uneven = tuple(each for each in space.cut if each != "even")
    if not uneven or "even" not in space.cut or not {*uneven} <= {*AS_MADE}:
        return (space,)
    stages = space.pipeline or range(1, layers + 1)
    whole = tuple(each for each in stages if layers % each == 0)
    others = tuple(each for each in stages if layers % each)
    parts: tuple[tuple[tuple[Cut, ...], tuple[int, ...]], ...] = (
        (("even",), whole),
        (uneven, others),
    )
    return tuple(replace(space, pipeline=some, cut=cut) for cut, some in parts if some)


FIXED = {each.name: each.default for each in fields(Space) if isinstance(each.default, tuple)}
"""Fields that a search leaves alone unless a study frees them, and their choices."""


class CheckpointMode(StrEnum):
    """Who waits while a checkpoint is written."""

    BLOCKING = "blocking"
    """Training stands still until the last byte is stored."""
    ASYNCHRONOUS = "asynchronous"
    """Training stands still for a copy to the hosts' memory, which is stored in the background."""


class Writes(StrEnum):
    """When checkpoints are written, where no time between them is given."""

    OPTIMAL = "optimal"
    NEVER = "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """How a training is started, saved and restarted.

    Attributes:
        checkpoint: seconds of training between two checkpoints, or how to choose them.
        mode: who waits for them.
        restart: seconds from a failure to the next step; None for what foretrain predicts.
        start: seconds before the first step; None for what foretrain predicts.
    """

    checkpoint: float | Writes = Writes.OPTIMAL
    mode: CheckpointMode = CheckpointMode.BLOCKING
    restart: float | None = None
    start: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.checkpoint, Writes) and not self.checkpoint > 0:
            raise InputError(f"JobPlan.checkpoint must be above 0 s, got {self.checkpoint}.")
        for name in ("restart", "start"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise InputError(f"JobPlan.{name} must be at least 0 s, got {value}.")


class Objective(StrEnum):
    """What the best plan has least of."""

    TIME = "time"
    COST = "cost"
    ENERGY = "energy"
    MEMORY = "memory"


class Maximise(StrEnum):
    """What a search makes as large as fits, before it minimises anything."""

    MICRO_BATCH = "micro_batch"
    SEQUENCE = "sequence"
    PARAMETERS = "parameters"


SAFE: Final = 0.95
"""Least probability that a device holds a plan, where a study does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What no plan may exceed; None is no limit.

    Attributes:
        devices: devices that a plan may use.
        cost: dollars for the whole training.
        deadline: seconds for the whole training.
        memory: bytes of a device that a plan may fill.
        power: watts of all nodes of a plan at full load, the building's share included.
        fits: least probability that the memory of a device holds a plan, from 0 to below 1; with 0
            it is enough that the prediction fits.
    """

    devices: int | None = None
    cost: float | None = None
    deadline: float | None = None
    memory: float | None = None
    power: float | None = None
    fits: float = SAFE

    def __post_init__(self) -> None:
        if not 0.0 <= self.fits < 1.0:
            raise InputError(
                f"Limit.fits must be a probability from 0 to below 1, got {self.fits}."
            )


class Runs(Protocol):
    """With what software plans run: `trainers.chosen.Chosen`, of which plans know the name."""

    @property
    def name(self) -> str:
        """Of the trainer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What is learned, where, in which ways, and what counts.

    Attributes:
        workload: what is learned.
        cluster: where; the largest of the first offer if there are offers.
        space: how; one value per field for `estimate`.
        objective: what `search` minimises.
        limit: what it must keep.
        failed_start: seconds that are lost where a plan turns out not to fit, which then count in
            the objective as likely as that is; None where they do not count.
        trainer: with what software; None for any.
        job: start, checkpoints and restarts; None leaves them and failures out of the answer.
        offers: clusters that may be rented instead, `cluster` among them; empty: all of `cluster`.
        mixed: two clusters that train together, `cluster` the first of them; None for one kind.
        maximise: what to make as large as fits; None for nothing.
        scenarios: other questions that the same plan should answer well.
        lengthened: the workload for samples of so many tokens; None where it is not known. It says
            nothing that the workload does not, so studies with and without it are equal.
        assumed: in words, every default that a reader filled in.
    """

    workload: Workload
    cluster: Cluster
    space: Space
    objective: Objective = Objective.TIME
    limit: Limit = Limit()
    failed_start: float | None = None
    trainer: Runs | None = None
    job: JobPlan | None = None
    offers: tuple[Offer, ...] = ()
    mixed: Mixed | None = None
    maximise: Maximise | None = None
    scenarios: tuple[Scenario, ...] = ()
    lengthened: Callable[[int], Workload] | None = field(default=None, compare=False, repr=False)
    assumed: tuple[str, ...] = ()

    @property
    def choices(self) -> tuple[Offer, ...]:
        """What may be rented."""
        return self.offers or (whole(self.cluster),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What might come instead.

    Attributes:
        name: the user's.
        study: the whole question, with its own workload, cluster, space and limits.
    """

    name: str
    study: Study


def sized(study: Study, size: int) -> Study:
    """The same question with what it maximises at one size, and nothing to maximise.

    Args:
        study: the question; one that maximises the sequence knows its other lengths.
        size: samples of a micro-batch, tokens of a sample, or layers that can be cut.
    """
    asked = replace(study, maximise=None, scenarios=())
    match study.maximise:
        case Maximise.MICRO_BATCH:
            return replace(asked, space=replace(study.space, micro_batch=(size,)))
        case Maximise.SEQUENCE:
            assert study.lengthened is not None, "a question without other lengths was not refused"
            return replace(asked, workload=study.lengthened(size))
        case _:
            model = with_layers(study.workload.model, size)
            return replace(asked, workload=replace(study.workload, model=model))


class CollectiveKind(StrEnum):
    """What a group of devices does, as MPI and NCCL call it; bytes count as `nccl-tests` has them.

    Of an all-gather they are the gathered result, of a reduce-scatter its input, of anything else
    what one device holds or sends.
    """

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    BROADCAST = "broadcast"
    SEND_RECEIVE = "send-receive"


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveStudy:
    """One collective, again and again, with messages of several sizes.

    Attributes:
        cluster: where.
        kind: what the devices do.
        sizes: bytes, the smallest first.
        devices: how many take part, one node filled after the other.
        together: devices that one process calls for, one after the other.
        assumed: what was assumed for keys that are left out.
    """

    cluster: Cluster
    kind: CollectiveKind
    sizes: tuple[float, ...]
    devices: int
    together: int = 1
    assumed: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.sizes or list(self.sizes) != sorted(set(self.sizes)):
            raise InputError("CollectiveStudy.sizes must be some sizes, the smallest first.")
        if not 0 < self.sizes[0] <= self.sizes[-1] <= MOST:
            raise InputError(
                f"CollectiveStudy.sizes must be above 0 bytes, got {BYTES.write(self.sizes[0])}."
            )
        most = self.cluster.devices
        if not 2 <= self.devices <= most:
            raise InputError(
                f"CollectiveStudy.devices must be from 2 to the {most:,} of the cluster,"
                f" got {self.devices:,}."
            )
        if not 1 <= self.together <= self.devices:
            raise InputError(
                f"CollectiveStudy.together must be from 1 to the {self.devices:,} devices,"
                f" got {self.together:,}."
            )
        uneven = partly(self.cluster, self.devices)
        if uneven is not None:
            raise InputError(
                f"CollectiveStudy.devices must fill every {uneven[0]} that they spread over, got"
                f" {self.devices:,} where one holds {uneven[1]:,}."
            )

    @property
    def nodes(self) -> int:
        """Nodes over which the devices are spread."""
        return -(-self.devices // self.cluster.node_devices)


def partly(cluster: Cluster, devices: int) -> tuple[str, int] | None:
    """The first level whose groups the devices would fill in part, and what one of them holds."""
    for place, level in enumerate(cluster.levels[:-1]):
        held = prod(each.members for each in cluster.levels[: place + 1])
        if devices > held and devices % held:
            return level.name, held
    return None
