"""Whether the members of one node should share a stream, what it saves, and from how many on."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, inf

from foretrain.ensemble.one_node import (
    LoadingEstimate,
    OnOneNode,
    fed_stream,
    private_loaders,
    shared_stream,
)
from foretrain.ensemble.preference import as_fast, preferred, worth_sharing


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingAdvice:
    """What sharing saves on one node.

    Attributes:
        private: the best without sharing.
        shared: the best with sharing.
        estimates: of all ways of loading that were looked at.
        pays: whether to share.
        verdict: that in a sentence.
        least_members: members from which on sharing takes less CPU time than loaders without
            workers; inf if it never does.
    """

    private: LoadingEstimate
    shared: LoadingEstimate
    estimates: tuple[LoadingEstimate, ...]
    pays: bool
    verdict: str
    least_members: float

    @property
    def cpu_ratio(self) -> float:
        """CPU time without sharing over that with it."""
        return self.private.cpu / self.shared.cpu

    @property
    def rate_ratio(self) -> float:
        """Rate of a member with sharing over that without it."""
        return self.shared.rate / self.private.rate


def advise_sharing(setting: OnOneNode, *, workers: int | None = None) -> SharingAdvice:
    """Compare private loaders with a shared stream on one node: rate first, then CPU time.

    Args:
        setting: members, cores and what was measured.
        workers: most processes that prepare, of each loader and of the stream; all cores if not
            said.
    """
    most = workers or setting.cores.count
    private = [private_loaders(setting, workers=each) for each in range(most + 1)]
    shared = [shared_stream(setting, workers=each) for each in range(1, most + 1)]
    shared.append(fed_stream(setting))
    one, many = preferred(private), preferred(shared)
    return SharingAdvice(
        private=one,
        shared=many,
        estimates=(*private, *shared),
        pays=worth_sharing(many, one),
        verdict=_verdict(setting, one, many),
        least_members=least_members(setting),
    )


def least_members(setting: OnOneNode) -> float:
    """Members from which on one stream takes less CPU time than loaders without workers.

    Each member saves preparing and pays for delivery; storing a sample is paid once.
    """
    saved = setting.costs.prepare - setting.loaders.deliver
    return floor(setting.loaders.store / saved) + 1.0 if saved > 0 else inf


def _verdict(setting: OnOneNode, one: LoadingEstimate, many: LoadingEstimate) -> str:
    """Whether sharing pays, and why."""
    beside = (
        f"{many.name} trains {many.rate / one.rate:.3g} times as fast as {one.name}, for "
        f"{many.cpu / one.cpu:.0%} of the CPU time"
    )
    if worth_sharing(many, one):
        return f"Sharing pays: {beside}."
    if not as_fast(many, one):
        return f"Sharing does not pay: {beside}; {many.limit} limits the stream."
    k = setting.costs.shareable
    return f"Sharing does not pay: {beside}; with k = {k:.3g} there is too little to share."
