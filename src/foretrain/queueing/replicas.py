"""Replicas: how long an epoch takes many replicas that exchange weights through servers.

Replicas train chunks of samples and never wait for one another: each pushes what it has added to
the weights and pulls those of the servers.

Source: yan2015, of which only the abstract is public: see `foretrain.queueing.segments`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError
from foretrain.queueing.segments import Machine

Number = float | NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatedTraining:
    """What replicas train together.

    Attributes:
        samples: of an epoch.
        chunk: samples that a replica trains between two exchanges of weights.
        weights: of one replica.
        overlapped: whether a replica goes on training while it exchanges weights.
        waste: samples that each replica beside the first makes necessary, as a share of those of
            one replica alone, at least 0 and below 1: what stale weights cost. Nothing here
            predicts it, so it is stated; 0 says that asynchrony costs nothing.
        epochs: how many.
    """

    samples: float
    chunk: float
    weights: float
    overlapped: bool = True
    waste: float = 0.0
    epochs: float = 1.0

    def __post_init__(self) -> None:
        for name in ("samples", "chunk", "weights", "epochs"):
            if not getattr(self, name) > 0:
                raise InputError(
                    f"ReplicatedTraining.{name} must be above 0, got {getattr(self, name)}."
                )
        if not 0 <= self.waste < 1:
            raise InputError(
                "ReplicatedTraining.waste must be at least 0 and below 1: from 1 on, a replica more"
                f" makes more work than it does. Got {self.waste}."
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EpochTime:
    """Seconds of an epoch, or of epochs. [plan]

    Attributes:
        compute: of the replicas, which wait for messages between their machines too.
        links: in which the links of the replicas' machines move messages, and weights meanwhile.
        servers: in which the servers' links move weights.
        exposed: in which replicas wait for weights.
    """

    compute: Number
    links: Number
    servers: Number
    exposed: Number

    @property
    def total(self) -> Number:
        """What takes longest goes on beside the rest. [plan]"""
        busiest = np.maximum(np.maximum(self.compute, self.links), self.servers)
        return busiest + self.exposed

    def times(self, epochs: float) -> EpochTime:
        """So many of them."""
        return EpochTime(
            compute=epochs * self.compute,
            links=epochs * self.links,
            servers=epochs * self.servers,
            exposed=epochs * self.exposed,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pace:
    """How quickly a replica trains. [plan]

    Attributes:
        sample: seconds from a sample's start to its end.
        threads: of each machine.
        traffic: bytes that a sample moves over the link of the busiest machine.
        machines: of a replica.
    """

    sample: Number
    threads: Number
    traffic: Number
    machines: Number


def epoch_time(
    pace: Pace,
    machine: Machine,
    training: ReplicatedTraining,
    *,
    replicas: Number,
    servers: Number,
) -> EpochTime:
    """Seconds of an epoch. [plan]

    Args:
        pace: of a replica. [plan]
        machine: all are alike, those of the servers too.
        training: what is trained.
        replicas: how many. [plan]
        servers: machines that hold the weights, each an equal part. [plan]

    Machines of a replica share its exchange evenly, and its shared weights are added up before they
    leave it. Staleness wastes samples in proportion to the replicas: assumed.
    """
    samples = samples_needed(training, replicas)
    own = samples / replicas
    exchanges = own / training.chunk * exchange_seconds(machine, training, machines=pace.machines)
    hidden = 1.0 if training.overlapped else 0.0
    return EpochTime(
        compute=own * pace.sample / pace.threads,
        links=own * pace.traffic / machine.link + hidden * exchanges,
        servers=samples / training.chunk * exchange_seconds(machine, training, machines=servers),
        exposed=(1.0 - hidden) * exchanges,
    )


def exchange_seconds(machine: Machine, training: ReplicatedTraining, *, machines: Number) -> Number:
    """Seconds in which links push and pull the weights of one replica once. [plan]

    Args:
        machine: all are alike.
        training: what is trained.
        machines: that share them evenly, of the replica or servers. [plan]
    """
    return 2.0 * training.weights * machine.value / (machines * machine.link)


def samples_needed(training: ReplicatedTraining, replicas: Number) -> Number:
    """Samples of an epoch, those that staleness wastes included. [plan]"""
    return training.samples * (1.0 + training.waste * (replicas - 1.0))


def servers_needed(
    pace: Pace, machine: Machine, training: ReplicatedTraining, *, replicas: Number
) -> Number:
    """The fewest servers that keep no replica waiting, a fraction where it comes out so. [plan]

    Args:
        pace: of a replica. [plan]
        machine: all are alike.
        training: what is trained.
        replicas: how many. [plan]
    """
    one = epoch_time(pace, machine, training, replicas=replicas, servers=1.0)
    return one.servers / np.maximum(one.compute, one.links)
