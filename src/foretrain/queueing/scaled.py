"""What `scale` answers: points, the knee, what a change would do, the best number of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from foretrain.plan.servers import Aggregation, Servers, Updates
from foretrain.show.table import label, labelled
from foretrain.show.words import per_second, percent, signed_percent, whole
from foretrain.units import SECONDS


def one_place(number: float) -> str:
    """A number with one digit behind the point."""
    return f"{number:,.1f}"


RATE = "rate"
"""The group of columns that have one unit."""


class ScaleMethod(StrEnum):
    """How points were found."""

    SIMULATED = "simulated"
    """By an event simulation, with formulas beside it."""
    PLANNED = "planned"
    """By an estimate of the best plan on so many nodes."""
    PROVISIONED = "provisioned"
    """By the formula of the quickest plan on so many machines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePoint:
    """What a number of workers do together.

    Attributes:
        workers: how many.
        throughput: samples per second, by the answer's method.
        low: that it exceeds with 97.5 % probability (planned: with 90 %; provisioned: the same).
        high: that it stays below with 97.5 % (planned: with 90 %; provisioned: the same).
        variance: of the samples per second from one round of steps to the next; None of a plan.
        formula: samples per second by a formula; None where none holds.
        most: samples per second that no way of updating exceeds; None of a plan.
        useful: samples per second less what staleness wastes: those that as many samples of
            synchronous training would teach as much as.
        efficiency: of a worker, over that of a worker of the fewest.
        step: seconds from a worker's step to its next (provisioned: from a replica's exchange of
            weights to its next).
        limit: what keeps them from doing more.
        utilisation: of each kind of resource, in the simulation.
    """

    workers: int = field(metadata=label("workers", whole))
    throughput: float = field(metadata=label("samples/s", per_second, group=RATE))
    low: float
    high: float
    variance: float | None
    formula: float | None = field(metadata=label("formula", per_second, group=RATE))
    most: float | None = field(
        metadata=label(
            "bound", per_second, spare=2, group=RATE, meaning="no way of updating does more"
        )
    )
    useful: float = field(
        metadata=label("useful", per_second, meaning="less what staleness wastes", group=RATE)
    )
    efficiency: float = field(
        metadata=label(
            "efficiency", percent, short="eff.", meaning="of a worker over one of the fewest"
        )
    )
    step: float = field(metadata=label("step", SECONDS))
    limit: str = field(metadata=label("limit"))
    utilisation: Mapping[str, float]

    @property
    @labelled("interval", number=True, spare=1)
    def interval(self) -> str | None:
        """Where the throughput lies; None where only a formula says it."""
        if self.low == self.high:
            return None
        return f"{per_second(self.low)} to {per_second(self.high)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleKnee:
    """Where more workers begin to wait for one another.

    Attributes:
        workers: beyond which each more takes as much from the others as it adds.
        limit: what they wait for.
        throughput: samples per second that no number of workers exceeds.
    """

    workers: float
    limit: str
    throughput: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleChange:
    """What one change would do, by formulas.

    Attributes:
        change: what is changed.
        knee: workers beyond which they wait for one another then; None without such a number.
        throughput: samples per second of the most workers; None where no formula holds.
        gain: of it, over that without the change.
    """

    change: str = field(metadata=label("what if"))
    knee: float | None = field(
        metadata=label("knee", one_place, meaning="workers beyond which they wait", number=True)
    )
    throughput: float | None = field(metadata=label("samples/s", per_second))
    gain: float | None = field(metadata=label("gain", signed_percent))


class ScalingCause(StrEnum):
    """What a finding is about."""

    START_UP = "start-up"
    BEST_COUNT = "best count"
    SERVER = "server"
    WHAT_IF = "what if"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingFinding:
    """One thing that a reader should take home.

    Attributes:
        kind: what it is about.
        subject: what limits, or what is changed.
        values: the numbers behind it, in seconds, nodes and fractions.
        sentence: all of that in one sentence.
    """

    kind: ScalingCause
    subject: str
    values: Mapping[str, float]
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BestCount:
    """On how many nodes a job with servers ends first.

    Attributes:
        nodes: the number, up to the most that are asked about.
        seconds: from its start to its end.
        start: of them, before the first step.
        findings: what limits the job as nodes are added, and what would help.
    """

    nodes: int
    seconds: float
    start: float
    findings: tuple[ScalingFinding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledWorker:
    """What each worker does in a step, as said or as an estimate says.

    Attributes:
        compute: seconds of its forward and backward pass, on average.
        samples: of its batch.
        pulled: bytes of parameters that it receives.
        pushed: bytes of gradients that it sends.
        link: bytes per second of its connection, in each direction.
    """

    compute: float
    samples: float
    pulled: float
    pushed: float
    link: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledProvision:
    """One way to share out machines of many cores.

    Attributes:
        machines: of replicas and servers together.
        replicas: how many.
        replica_machines: of one replica.
        threads: of each machine, which train a sample each.
        servers: machines that hold the weights.
        segments: that each layer is cut into, one on each of the first machines of a replica.
        epoch: seconds.
    """

    machines: int = field(metadata=label("machines", whole))
    replicas: int = field(metadata=label("replicas", whole))
    replica_machines: int = field(metadata=label("machines of one", whole))
    threads: int = field(metadata=label("threads", whole, meaning="of each machine"))
    servers: int = field(metadata=label("servers", whole))
    segments: tuple[int, ...]
    epoch: float = field(metadata=label("epoch", SECONDS))

    @property
    @labelled("segments", meaning="of each layer")
    def cut(self) -> str:
        """Segments of each layer, in a row."""
        return " ".join(str(each) for each in self.segments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """Throughput as a function of the number of workers.

    Attributes:
        method: how points were found.
        worker: what each does; None where whole plans are estimated or provisioned.
        aggregation: who adds up gradients; None where machines are shared out.
        updates: when a worker may go on.
        servers: those that do, where servers do.
        points: by numbers of workers, ascending.
        knee: of training with servers; None where nobody waits, or where no formula holds.
        bounds: samples per second that no number of workers exceeds, by what sets it.
        what_ifs: one change each, the most helpful first.
        provisions: the best plans on the most machines, where machines are shared out.
        best: the number of nodes on which the whole job ends first; None where only steps are asked
            about.
        assumed: in words, what a reader filled in.
    """

    method: ScaleMethod
    worker: ScaledWorker | None
    aggregation: Aggregation | None
    updates: Updates
    servers: Servers | None
    points: tuple[ScalePoint, ...]
    knee: ScaleKnee | None
    bounds: Mapping[str, float]
    what_ifs: tuple[ScaleChange, ...]
    best: BestCount | None
    provisions: tuple[ScaledProvision, ...] = ()
    assumed: tuple[str, ...] = ()
