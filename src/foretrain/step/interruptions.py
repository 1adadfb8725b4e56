"""Checkpoints: how many bytes they have, and how long they take to write and to read.

Evaluation: forward passes over held-out samples between the steps.

Failures: what they cost, and how often to write checkpoints because of them.

Failures strike at a constant rate, during restarts too; each throws training back to the last
checkpoint that is stored. With them, a stretch of training between two checkpoints is expected to
take the time of `expected_seconds`, exactly.

Start: from granted nodes to the first step, and again after every failure.

Batch ramp: the sizes that a growing batch takes, and how many steps of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, expm1, floor, inf, sqrt

from foretrain.cluster.cluster import Cluster, Host, Storage
from foretrain.coefficients.coefficients import Coefficients
from foretrain.plan.plan import Plan, Sharding
from foretrain.statistics import largest_normal
from foretrain.workload.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What is saved, and who saves it.

    Attributes:
        weights: bytes of the working weights.
        state: bytes of the optimizer's state and the master copy.
        weight_copies: how many copies of the weights the devices hold.
        state_copies: the same for the state.
    """

    weights: float
    state: float
    weight_copies: int
    state_copies: int

    @property
    def bytes(self) -> float:
        """What is stored."""
        return self.weights + self.state


def checkpoint(workload: Workload, plan: Plan) -> Checkpoint:
    """What a training saves: of every trained parameter all that the optimizer needs to go on.

    Parameters that are not trained are where they were loaded from.
    """
    model, precision = workload.model, workload.precision
    trained = model.trainable
    replicas = plan.data * plan.context
    group = plan.shard or replicas
    return Checkpoint(
        weights=trained * precision.value_bytes,
        state=trained * (workload.master_bytes + workload.optimizer.state_bytes),
        weight_copies=replicas // (group if plan.sharding >= Sharding.PARAMETERS else 1),
        state_copies=replicas // (group if plan.sharding >= Sharding.OPTIMIZER else 1),
    )


def snapshot_seconds(saved: Checkpoint, cluster: Cluster, host: Host) -> float:
    """Seconds until the hosts hold a copy, from which it can be stored in the background."""
    return saved.bytes / (_writers(saved, cluster) * host.device_bandwidth)


def write_seconds(saved: Checkpoint, cluster: Cluster, storage: Storage) -> float:
    """Seconds until the last byte is stored.

    The nodes with one whole copy write, each its own part.
    """
    nodes = ceil(_writers(saved, cluster) / cluster.node_devices)
    return saved.bytes / min(nodes * storage.write, storage.total_write or inf)


def load_seconds(saved: Checkpoint, cluster: Cluster, storage: Storage) -> float:
    """Seconds until every device has its part back; every copy is read by itself."""
    size = saved.weights * saved.weight_copies + saved.state * saved.state_copies
    return size / min(cluster.nodes * storage.read, storage.total_read or inf)


def _writers(saved: Checkpoint, cluster: Cluster) -> int:
    """Devices that hold one whole copy between them."""
    return cluster.devices // saved.state_copies


def evaluation_seconds(workload: Workload, pass_seconds: float) -> float:
    """Seconds of one evaluation; 0 where the workload has none.

    Args:
        workload: what is evaluated.
        pass_seconds: forward passes of one global batch.
    """
    if workload.evaluation is None:
        return 0.0
    return workload.evaluation.samples / workload.global_batch * pass_seconds


def evaluations(workload: Workload, samples: float) -> float:
    """How many evaluations come in a training of so many samples.

    Whole ones of a training; without an amount, the share of one that falls to the samples.
    """
    if workload.evaluation is None:
        return 0.0
    number = samples / workload.evaluation.every
    return number if workload.samples is None else float(floor(number))


LARGEST_EXPONENT = 700.0
"""Failures per attempt above which no float holds the expected time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """What interrupts training: checkpoints and failures.

    Attributes:
        rate: failures per second of the whole job.
        pause: seconds that training stands still for a checkpoint.
        lag: seconds until it is stored after that; training goes on meanwhile.
        restart: seconds from a failure to the next step.
    """

    rate: float
    pause: float
    lag: float
    restart: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointInterval:
    """Expected seconds of one stretch of training and the checkpoint that ends it.

    Attributes:
        work: training that counts.
        checkpoint: standing still for the checkpoint.
        lost: work and checkpoints done in vain.
        restarts: from failures to next steps, restarts that fail themselves included.
        failures: how many are expected.
    """

    work: float
    checkpoint: float
    lost: float
    restarts: float
    failures: float

    @property
    def total(self) -> float:
        """Their sum, in seconds."""
        return self.work + self.checkpoint + self.lost + self.restarts


def young(pause: float, *, rate: float) -> float:
    """Seconds of work between checkpoints, to first order.

    Source: young1974, the closing formula: the root of 2 x pause x mean time between failures.
    """
    return sqrt(2.0 * pause / rate)


def daly(pause: float, *, rate: float) -> float:
    """Seconds of work between checkpoints that make the expected time least.

    Args:
        pause: seconds of one checkpoint.
        rate: failures per second, above 0.

    Source: daly2006, equation 37.
    """
    if pause * rate >= 2.0:
        return 1.0 / rate
    half = pause * rate / 2.0
    return young(pause, rate=rate) * (1.0 + sqrt(half) / 3.0 + half / 9.0) - pause


def optimal(between: Interruption) -> float:
    """Daly's interval, but no shorter than the storing of one checkpoint takes.

    Without failures none is needed, and the interval has no end.
    """
    if between.rate == 0.0:
        return inf
    return max(daly(between.pause, rate=between.rate), between.lag - between.pause)


def expected_seconds(work: float, between: Interruption) -> float:
    """Expected seconds of a stretch of work and the checkpoint that ends it.

    Args:
        work: seconds of training.
        between: checkpoints and failures; the lag is at most the stretch.

    A failure throws training back to the last stored checkpoint, so that a restart is followed by
    the lag once more: with it in the place of a longer restart, daly2006's formula stays exact.

    Source: daly2006, equation 20.
    """
    stretch, rate = work + between.pause, between.rate
    again = rate * (between.restart + between.lag)
    if again + rate * stretch > LARGEST_EXPONENT:
        return inf
    return stretch if rate == 0.0 else exp(again) * expm1(rate * stretch) / rate


def stretch(work: float, between: Interruption) -> CheckpointInterval:
    """What a stretch of work is expected to take, in parts.

    Failures come at their rate all the time, and a restart lasts until it is done or fails itself:
    of all time, 1 - exp(-rate x restart) goes into restarts.
    """
    total = expected_seconds(work, between)
    if total == inf:
        return CheckpointInterval(
            work=work, checkpoint=between.pause, lost=inf, restarts=inf, failures=inf
        )
    restarts = -expm1(-between.rate * between.restart) * total
    lost = total - (work + between.pause) - restarts
    return CheckpointInterval(
        work=work,
        checkpoint=between.pause,
        lost=max(lost, 0.0),  # where failures are rare, the difference may be but rounding
        restarts=restarts,
        failures=between.rate * total,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Seconds before the first step.

    Attributes:
        nodes: until the slowest node has its container and its processes.
        groups: until all processes have found one another; grows with their number.
        warm_up: compilation, first batches, allocation of memory.
    """

    nodes: float
    groups: float
    warm_up: float

    @property
    def total(self) -> float:
        """Their sum, in seconds."""
        return self.nodes + self.groups + self.warm_up


def start(cluster: Cluster, coefficients: Coefficients) -> Start:
    """What a job does before its first step, in seconds.

    Nodes start independently of one another, in times that are about normal; waiting in the
    cluster's queue is not counted.
    """
    mean = coefficients.job.node_start
    return Start(
        nodes=largest_normal(
            cluster.nodes, mean=mean, deviation=coefficients.job.node_start_spread * mean
        ),
        groups=coefficients.job.rank_start * cluster.devices,
        warm_up=coefficients.job.warm_up,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSize:
    """Steps of one size.

    Attributes:
        batch: samples of a step.
        steps: how many such steps, whole or not.
    """

    batch: int
    steps: float


def batch_sizes(workload: Workload) -> tuple[BatchSize, ...]:
    """Every batch size of a training and its steps, first to last; the full batch is last.

    Each size below the full one trains an equal part of the ramp's samples. Without an amount, or
    without a ramp, there is the full batch alone.

    Source: shoeybi2019, the published code's option rampup-batch-size (from memory).
    """
    full, ramp, left = workload.global_batch, workload.ramp, workload.samples
    if left is None:
        return (BatchSize(batch=full, steps=1.0),)
    sizes = range(ramp.start, full, ramp.increment) if ramp else range(0)
    found = []
    for batch in sizes:
        assert ramp
        samples = min(left, ramp.samples / len(sizes))
        found.append(BatchSize(batch=batch, steps=samples / batch))
        left -= samples
    return (*found, BatchSize(batch=full, steps=left / full))
