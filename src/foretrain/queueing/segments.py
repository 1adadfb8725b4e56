"""Segments: what a replica costs whose layers are cut over the machines that it has.

Every layer is cut into equal segments, one on each of the first machines of the replica, so that
only their number matters. A segment fetches the activations that it needs and does not hold, and
sends errors back the same way; layers come one after another, and each waits for its slowest
segment. Every thread of a machine trains a sample of its own with the weights of the machine.

Source: yan2015, of which only the abstract is public: the shape of the model (segments, threads,
replicas, servers) is theirs, every detail is ours.

Layers that machines share: what a segment of one computes, and what it lacks of its inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.queueing.closed import ClosedNetwork, mean_values
from foretrain.workload.graph import Layer, Model
from foretrain.workload.operator import Matrices, Operator

HAIR = 1e-9
"""Share of a layer's inputs below which what a segment lacks is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DivisibleLayer:
    """A layer of one sample, whole.

    Attributes:
        name: shown to users.
        connections: multiply-adds of the forward pass.
        neurons: values that it computes, which segments divide; at least 1.
        weights: parameters, fewer than connections where neurons share them (convolutions).
        inputs: values that it reads from the layer before.
        kept: values that the backward pass needs.
        reach: share of its inputs that a segment needs on either side beyond those in its own
            place: 1 for a connected layer, whose segments read all, each with weights of its own; a
            border for a convolution, whose segments are strips and have all weights.
    """

    name: str
    connections: float
    neurons: float
    weights: float
    inputs: float
    kept: float
    reach: float = 1.0

    def __post_init__(self) -> None:
        for name in ("connections", "weights", "inputs", "kept"):
            if not getattr(self, name) >= 0:
                raise InputError(
                    f"DivisibleLayer '{self.name}': {name} must be at least 0,"
                    f" got {getattr(self, name)}."
                )
        if not self.neurons >= 1:
            raise InputError(
                f"DivisibleLayer '{self.name}': neurons must be at least 1, got {self.neurons}."
            )
        if not 0 <= self.reach <= 1:
            raise InputError(
                f"DivisibleLayer '{self.name}': reach must lie from 0 to 1, got {self.reach}."
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemoteInputs:
    """What the segment that lacks most fetches, by segments of the layer before and of its own.

    Attributes:
        values: how many. [before, segments]
        messages: machines that they come from, each in a message of its own. [before, segments]
    """

    values: Floats
    messages: Floats


def remote_inputs(layer: DivisibleLayer, *, most: int) -> RemoteInputs:
    """What segments fetch from other machines.

    Args:
        layer: the layer that reads it.
        most: segments of a layer.
    """
    before, after = np.arange(1.0, most + 1.0)[:, np.newaxis], np.arange(1.0, most + 1.0)
    place = np.arange(float(most))[:, np.newaxis, np.newaxis]
    # In units of the whole over both numbers, in which equal places are equal to the last bit.
    whole, beyond = before * after, layer.reach * before * after
    low = np.maximum(0.0, place * before - beyond)
    high = np.minimum(whole, (place + 1.0) * before + beyond)
    own = np.minimum(high, (place + 1.0) * after) - np.maximum(low, place * after)
    held = np.where(place < before, np.maximum(0.0, own), 0.0)
    lacking = np.where(place < after, high - low - held, 0.0)
    sources = np.ceil(high / after - HAIR) - np.floor(low / after + HAIR) - (held > HAIR * whole)
    return RemoteInputs(
        values=layer.inputs * lacking.max(axis=0) / whole,
        messages=np.where(lacking > HAIR * whole, sources, 0.0).max(axis=0),
    )


def divisible_layers(model: Model) -> tuple[DivisibleLayer, ...]:
    """The layers of a model that machines can share: one for each product with weights.

    What comes between two products (functions, pooling, statistics) runs where its input is; what
    it keeps counts with the product before it. Layers that repeat stand there as often.

    Raises:
        InputError: no operator multiplies by weights.
    """
    found = [each for layer in model.layers for each in layer.repeats * [*_products(layer)]]
    if not found:
        raise InputError(f"{model.name} has no product with weights that machines could share.")
    return tuple(found)


def _products(layer: Layer) -> list[DivisibleLayer]:
    """One layer's products with weights."""
    found: list[DivisibleLayer] = []
    for place, operator in enumerate(layer.operators):
        if operator.matrices is None or not operator.weights:
            continue
        later = layer.operators[place + 1 :]
        until = next(
            (n for n, other in enumerate(later) if other.matrices and other.weights), len(later)
        )
        kept = operator.kept.values + sum(other.kept.values for other in later[:until])
        found.append(_divisible(layer, operator, operator.matrices, kept=kept))
    return found


def _divisible(
    layer: Layer, operator: Operator, product: Matrices, *, kept: float
) -> DivisibleLayer:
    """A product, of which a convolution's segments are strips along the first side."""
    reach = 1.0
    if operator.pixels is not None and operator.pixels.borders:
        reach = min(1.0, max(operator.pixels.borders[0]) / operator.pixels.read[0])
    return DivisibleLayer(
        name=f"{layer.name}: {operator.name}",
        connections=operator.flop / 2.0,
        neurons=product.batch * product.rows * product.columns,
        weights=operator.weights,
        inputs=product.batch * product.rows * product.depth / product.reuse,
        kept=kept,
        reach=reach,
    )


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
