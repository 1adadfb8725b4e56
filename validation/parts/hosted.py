"""Devices of one or several hosts whose parameters the hosts keep: seconds of a synchronous step.

A device alone shows its compute, and what it asks of its host by itself. Every further device of a
host asks for parameters, gradients and samples too; other hosts come over the network; and all wait
for the slowest. What a host, a network and a device's evenness are worth is fitted to runs of the
system, of any network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from foretrain.errors import InputError

Floats = NDArray[np.float64]

TOGETHER = 2.0
"""Power of the norm in which computing, exchanging and reading hide one another: assumed, between
one after the other (1) and wholly at once (infinite)."""

TYPICAL = 0.03
"""Share by which a step usually differs from its formula; errors far beyond it count less than
their square. Assumed."""

DEVIATION = 3.0
"""Standard deviation of what is believed of a logarithm beforehand: hardly anything. Assumed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedRun:
    """A training run with parameter servers on the hosts of its devices.

    Attributes:
        alone: seconds of a step of one device that has a host to itself, the profile.
        samples: of a device's batch.
        parameters: bytes.
        devices: of each host.
        hosts: how many.
        servers: hosts that keep a part of the parameters each.
        reads: whether hosts read and prepare samples; otherwise they are made up.
    """

    alone: float
    samples: float
    parameters: float
    devices: int
    hosts: int = 1
    servers: int = 1
    reads: bool = False

    def __post_init__(self) -> None:
        for name in ("alone", "samples"):
            if not 0 < getattr(self, name) < inf:
                raise InputError(f"HostedRun.{name} must be above 0, got {getattr(self, name)}.")
        if not 0 <= self.parameters < inf:
            raise InputError(
                f"HostedRun.parameters must be at least 0 bytes, got {self.parameters}."
            )
        for name in ("devices", "hosts", "servers"):
            if not getattr(self, name) >= 1:
                raise InputError(f"HostedRun.{name} must be at least 1, got {getattr(self, name)}.")
        if self.servers > self.hosts:
            raise InputError(
                f"HostedRun.servers must be at most {self.hosts}, one a host, got {self.servers}."
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedSystem:
    """What devices, hosts and their network are worth, in four numbers.

    Attributes:
        uneven: standard deviation of a device's computing, as a share of it.
        host: bytes of parameters per second that a host passes to and from its devices.
        network: bytes per second of a host's connection, as servers get to use it.
        reading: samples per second that a host reads and prepares.
    """

    uneven: float
    host: float
    network: float
    reading: float

    def __post_init__(self) -> None:
        if not 0 <= self.uneven < inf:
            raise InputError(f"HostedSystem.uneven must be at least 0, got {self.uneven}.")
        for name in ("host", "network", "reading"):
            if not getattr(self, name) > 0:
                raise InputError(
                    f"HostedSystem.{name} must be above 0 a second, got {getattr(self, name)}."
                )

    def step(self, run: HostedRun) -> HostedStep:
        """A step of a run, in parts."""
        further = run.devices - 1
        copied = run.parameters * further / self.host
        sent = run.parameters * (run.hosts - 1) / run.servers / self.network
        return HostedStep(
            computing=run.alone,
            exchanging=copied + sent,
            reading=run.samples * further / self.reading if run.reads else 0.0,
            waiting=run.alone * self.uneven * slowest_normal(run.devices * run.hosts),
        )

    def rate(self, run: HostedRun) -> float:
        """Samples per second of all devices."""
        return run.hosts * run.devices * run.samples / self.step(run).total


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedStep:
    """Seconds of a step, in parts of which the first three hide one another.

    Attributes:
        computing: of one device, with what it asks of a host by itself.
        exchanging: of parameters and gradients, of further devices and other hosts.
        reading: of further devices' samples.
        waiting: for the slowest device.
    """

    computing: float
    exchanging: float
    reading: float
    waiting: float

    @property
    def total(self) -> float:
        """Of the step: the norm of what hides one another, and waiting."""
        parts = np.array([self.computing, self.exchanging, self.reading])
        return float(np.sum(parts**TOGETHER) ** (1.0 / TOGETHER)) + self.waiting


def slowest_normal(count: int) -> float:
    """Standard deviations by which the largest of so many normal values lies above their mean.

    Source: blom1958, as the quantile at (n - 3/8) / (n + 1/4); 0 for one value.
    """
    from scipy.special import ndtri

    return float(ndtri((count - 0.375) / (count + 0.25)))


BEGIN = HostedSystem(uneven=0.02, host=12e9, network=10e9 / 8, reading=1e4)
"""Where a fit begins: a device's PCIe, 10 Gb/s, and guesses. What no run shows stays there."""


def fit_hosted(runs: Sequence[HostedRun], measured: Sequence[float]) -> HostedSystem:
    """The system whose steps lie closest to measured ones, in logarithms.

    Args:
        runs: at least one.
        measured: seconds of a step of each.

    Source: huber1964 (errors that count less than their square).
    """
    from scipy.optimize import least_squares

    if not runs or len(runs) != len(measured):
        raise InputError(
            f"a system is fitted to the step of each run, at least one; got {len(runs)} runs and"
            f" {len(measured)} steps."
        )
    begin = np.log([BEGIN.uneven, BEGIN.host, BEGIN.network, BEGIN.reading])
    steps = np.log(measured)

    def residuals(numbers: Floats) -> Floats:
        system = _system(numbers)
        said = np.array([log(system.step(run).total) for run in runs])
        return np.concatenate([(said - steps) / TYPICAL, (numbers - begin) / DEVIATION])

    return _system(least_squares(residuals, begin, loss="soft_l1").x)


def _system(numbers: Floats) -> HostedSystem:
    """The system of fitted logarithms."""
    uneven, host, network, reading = map(float, np.exp(numbers))
    return HostedSystem(uneven=uneven, host=host, network=network, reading=reading)
