"""Rates: how quickly a member goes on a number of devices, measured or carried on."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from foretrain.measured.members import Member


def profile_counts(members: Sequence[Member], devices_per_node: int) -> range:
    """Numbers of devices on which rates are to be measured.

    On the largest of them the slowest member keeps up with the quickest one on a single device,
    if its rate grows with its devices; and it lies on at least two nodes.

    Args:
        members: whose rates on one device are known.
        devices_per_node: of each node.

    Source: guan2020, profiling: 1 to max(ceil(r_max / r_min), 2 GPUs per node).
    """
    rates = [member.rate for member in members]
    return range(1, max(ceil(max(rates) / min(rates)), 2 * devices_per_node) + 1)


def extrapolated(rates: Sequence[float], devices: int, *, base: int) -> float:
    """Samples per second on more devices than were measured.

    What a device does falls by the same factor with each further device, the factor of the last
    device of the base.

    Args:
        rates: samples per second on 1, 2, ... devices, at least as far as `base`.
        devices: a number above the base.
        base: number of devices from which on the factor holds, at least 2.

    Source: guan2020, r(m) = m r(Mb)/Mb (r(Mb)/r(Mb-1) (Mb-1)/Mb)^(m-Mb), Mb = 2 GPUs per node.
    """
    last, before = rates[base - 1], rates[base - 2]
    fall = last / before * (base - 1) / base
    return float(devices * last / base * fall ** (devices - base))


def rates_on(member: Member, most: int, *, devices_per_node: int) -> tuple[float, ...]:
    """Samples per second of a member on 1, 2, ... devices, up to `most` of them.

    Where fewer than two nodes were measured there is nothing to carry on from: the member then runs
    on no more devices than were measured.

    Args:
        member: with its measured rates.
        most: devices at most.
        devices_per_node: of each node.
    """
    measured, base = member.rates[:most], 2 * devices_per_node
    if len(member.rates) < base:
        return measured
    further = range(len(measured) + 1, most + 1)
    return measured + tuple(extrapolated(member.rates, each, base=base) for each in further)
