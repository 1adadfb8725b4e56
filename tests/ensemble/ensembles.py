"""Ensembles for the tests of courses."""

from foretrain.ensemble.costs import FleetTerms
from foretrain.measured.members import Ensemble, Member


def terms(rates, *, epochs=None, samples=1000, devices=4, per_node=4, **limits):
    """Terms of members called a, b, c, ...; rates as tuples, or one number for perfect scaling."""
    count = max(devices, 2 * per_node)
    known = [
        rate if isinstance(rate, tuple) else tuple(rate * m for m in range(1, count + 1))
        for rate in rates
    ]
    members = tuple(
        Member(name=name, batch=10, epochs=each, rates=rate)
        for name, each, rate in zip("abcdefghijkl", epochs or [1] * len(known), known, strict=False)
    )
    ensemble = Ensemble(
        members=members, samples=samples, devices=devices, devices_per_node=per_node
    )
    return FleetTerms(ensemble=ensemble, **limits)
