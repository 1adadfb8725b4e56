"""Segments: what a replica costs whose layers are cut over the machines that it has.

Every layer is cut into equal segments, one on each of the first machines of the replica, so that
only their number matters. A segment fetches the activations that it needs and does not hold, and
sends errors back the same way; layers come one after another, and each waits for its slowest
segment. Every thread of a machine trains a sample of its own with the weights of the machine.

Source: yan2015, of which only the abstract is public: the shape of the model (segments, threads,
replicas, servers) is theirs, every detail is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.queueing.closed import ClosedNetwork, mean_values
from foretrain.queueing.divisible import DivisibleLayer, remote_inputs

Floats = NDArray[np.float64]

COPIES = 2.0
"""Of the weights that a machine holds: the weights, and what has been added since the last push."""

MOST_SEGMENTS = 128
"""Of one layer, that a table of costs is made for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A computer of many cores.

    Attributes:
        slowdown: how many times slower a thread computes when so many of them share the machine's
            memory, for 1 thread, 2 threads ... up to one for each core; the first is 1.
        multiply_add: seconds of one on one core, alone.
        activation: seconds of the function of one neuron.
        error: seconds of one neuron's error term.
        memory: bytes.
        link: bytes per second, shared by all that the machine sends and receives.
        latency: seconds before the first byte of a message arrives.
        value: bytes of a weight, an activation or an error.
    """

    slowdown: tuple[float, ...]
    multiply_add: float
    activation: float = 0.0
    error: float = 0.0
    memory: float
    link: float
    latency: float = 0.0
    value: float = 4.0

    def __post_init__(self) -> None:
        if not self.slowdown or self.slowdown[0] != 1.0:
            raise InputError(
                f"Machine.slowdown must begin with 1, of one thread, got {self.slowdown[:1]}."
            )
        if not all(
            low <= high for low, high in zip(self.slowdown, self.slowdown[1:], strict=False)
        ):
            raise InputError("Machine.slowdown must not fall: more threads share one memory.")
        for name in ("multiply_add", "memory", "link", "value"):
            if not getattr(self, name) > 0:
                raise InputError(f"Machine.{name} must be above 0, got {getattr(self, name)}.")
        for name in ("activation", "error", "latency"):
            if not getattr(self, name) >= 0:
                raise InputError(f"Machine.{name} must be at least 0 s, got {getattr(self, name)}.")

    @property
    def cores(self) -> int:
        """As many as threads that the slow-down is known of."""
        return len(self.slowdown)


def memory_slowdown(share: float, *, cores: int) -> tuple[float, ...]:
    """How threads slow one another down that share the bandwidth of their machine's memory.

    Args:
        share: of the time of one thread alone in which it keeps the memory busy, from 0 to 1.
        cores: of the machine.

    Returns:
        For 1, 2 ... threads, how many times longer the same work takes; 1 at first, in the end as
        many times as threads share the memory, times the share.

    Assumes that threads compute and wait for memory in turns, and that the memory divides its
    bandwidth among those that wait.

    Source: reiser1980, mean values of a closed network of one queue beside a delay.
    """
    if not 0 <= share <= 1:
        raise InputError(f"share of memory must lie from 0 to 1, got {share}.")
    if not cores >= 1:
        raise InputError(f"cores must be at least 1, got {cores}.")
    network = ClosedNetwork(think=1.0 - share, demands={"memory": share})
    longer = np.arange(1, cores + 1) / mean_values(network, cores).throughput
    # Rounding must not make a thread more quicker, nor one alone slower than itself.
    return (1.0, *np.maximum.accumulate(np.maximum(longer, 1.0))[1:].tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaCost:
    """What a sample costs a replica.

    Attributes:
        segments: of each layer.
        threads: of each machine, which train a sample each.
        compute: seconds of a sample in which its thread computes.
        messages: seconds in which it waits for other machines.
        traffic: bytes that a sample moves over the link of the busiest machine.
        memory: bytes of the fullest machine.
    """

    segments: tuple[int, ...]
    threads: int
    compute: float
    messages: float
    traffic: float
    memory: float

    @property
    def machines(self) -> int:
        """As many as the layer with most segments needs."""
        return max(self.segments)

    @property
    def sample(self) -> float:
        """Seconds from a sample's start to its end."""
        return self.compute + self.messages


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentCosts:
    """What segments of layers cost, by their number and that of the layer before.

    Numbers count from 1, so place 0 is one segment. What more segments than neurons would cost is
    infinite. A machine is taken to have the largest share of each layer; the first one does.

    Attributes:
        compute: seconds of a sample on one core, alone. [layer, before, segments]
        messages: seconds of a sample. [layer, before, segments]
        traffic: bytes of a sample. [layer, before, segments]
        weights: bytes that a machine holds for all its threads. [layer, before, segments]
        context: bytes that each thread holds. [layer, before, segments]
    """

    compute: Floats
    messages: Floats
    traffic: Floats
    weights: Floats
    context: Floats


def segment_costs(layers: Sequence[DivisibleLayer], machine: Machine, *, most: int) -> SegmentCosts:
    """Tables of what segments cost.

    Args:
        layers: in order; the samples that the first one reads are at hand on every machine.
        machine: all are alike.
        most: segments of a layer.
    """
    if not layers:
        raise InputError("a replica needs at least one layer.")
    if not 1 <= most <= MOST_SEGMENTS:
        raise InputError(f"segments must number from 1 to {MOST_SEGMENTS}, got {most}.")
    rows = [
        _layer_costs(layer, machine, most=most, first=place == 0)
        for place, layer in enumerate(layers)
    ]
    names = [each.name for each in fields(SegmentCosts)]
    return SegmentCosts(**{name: np.stack([row[name] for row in rows]) for name in names})


def _layer_costs(
    layer: DivisibleLayer, machine: Machine, *, most: int, first: bool
) -> dict[str, Floats]:
    """The tables of one layer. [before, segments]"""
    segments = np.arange(1.0, most + 1.0)[np.newaxis, :] + np.zeros((most, 1))
    products, neurons = layer.connections / segments, layer.neurons / segments
    # Samples are at hand, and the first layer sends no errors.
    remote, inner = remote_inputs(layer, most=most), 0.0 if first else 1.0
    forward = products * machine.multiply_add + neurons * machine.activation
    backward = products * machine.multiply_add + neurons * machine.error
    compute = forward + inner * backward + products * machine.multiply_add
    fetched = inner * remote.values
    # Strips of a picture are computed with all weights.
    own = segments if layer.reach == 1.0 else np.ones_like(segments)
    # Errors take the way of the activations back.
    moved = 2.0 * fetched * machine.value
    return {
        "compute": np.where(segments <= layer.neurons, compute, np.inf),
        "messages": 2.0 * inner * remote.messages * machine.latency + moved / machine.link,
        "traffic": moved,
        "weights": COPIES * layer.weights / own * machine.value,
        "context": (layer.kept / segments + fetched) * machine.value,
    }


def replica_cost(
    layers: Sequence[DivisibleLayer],
    machine: Machine,
    *,
    segments: Sequence[int],
    threads: int,
) -> ReplicaCost:
    """What a sample costs a replica that is cut in one way.

    Args:
        layers: in order.
        machine: all are alike.
        segments: of each layer, as many numbers as layers.
        threads: of each machine.
    """
    if len(segments) != len(layers):
        raise InputError(f"segments must be {len(layers)} numbers, got {len(segments)}.")
    for layer, number in zip(layers, segments, strict=True):
        if not 1 <= number <= layer.neurons:
            raise InputError(
                f"segments of '{layer.name}' must number from 1 to {layer.neurons:g}, got {number}."
            )
    if not 1 <= threads <= machine.cores:
        raise InputError(f"threads must number from 1 to {machine.cores}, got {threads}.")
    costs = segment_costs(layers, machine, most=max(segments))
    return chosen_cost(costs, machine, segments=segments, threads=threads)


def chosen_cost(
    costs: SegmentCosts, machine: Machine, *, segments: Sequence[int], threads: int
) -> ReplicaCost:
    """The same from tables that are there."""
    here = [number - 1 for number in segments]
    rows = (range(len(here)), [0, *here[:-1]], here)
    return ReplicaCost(
        segments=tuple(segments),
        threads=threads,
        compute=machine.slowdown[threads - 1] * float(costs.compute[rows].sum()),
        messages=float(costs.messages[rows].sum()),
        traffic=float(costs.traffic[rows].sum()),
        memory=float(costs.weights[rows].sum() + threads * costs.context[rows].sum()),
    )
