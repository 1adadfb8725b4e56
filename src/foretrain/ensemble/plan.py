"""The plan of an ensemble: what is known, how samples come, who trains when, what it will take.

Which of several ways to feed members is to be preferred: rate first, then CPU time.

Whether the members of one node should share a stream, what it saves, and from how many on.

Loading: which way of getting samples an ensemble takes, and why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf
from typing import Protocol, TypeVar

from foretrain.ensemble.one_node import (
    Forecast,
    LoadingEstimate,
    OnOneNode,
    Trains,
    Way,
    data_loaders,
    estimated,
    fed_stream,
    forecast,
    on_one_node,
    private_loaders,
    shared_stream,
)
from foretrain.ensemble.run.launch import comparisons, together
from foretrain.ensemble.run.machine import gpus, memory_free
from foretrain.errors import InputError
from foretrain.measured.ensemble_study import EnsembleStudy, Input, Probed

CLOSE = 0.02
"""Rates and CPU times that differ by less are equal: the model is no surer than that."""

WORTH = 0.05
"""Share of the CPU time that sharing must save at equal rates before it is worth its machinery."""


class PricedSharing(Protocol):
    """A way to feed members, with what it delivers and costs."""

    @property
    def rate(self) -> float:
        """Samples per second of a member."""

    @property
    def cpu(self) -> float:
        """Core-seconds per sample."""


Some = TypeVar("Some", bound=PricedSharing)


def preferred(found: Sequence[Some]) -> Some:
    """The fastest; of those as fast, the cheapest; of those as cheap, the first.

    Args:
        found: at least one, simple ones first.
    """
    fast = [each for each in found if as_fast(each, max(found, key=lambda one: one.rate))]
    least = min(each.cpu for each in fast)
    return next(each for each in fast if each.cpu <= (1.0 + CLOSE) * least)


def as_fast(one: PricedSharing, other: PricedSharing) -> bool:
    """Whether one is as fast as the other, or faster."""
    return one.rate >= (1.0 - CLOSE) * other.rate


def worth_sharing(shared: PricedSharing, private: PricedSharing) -> bool:
    """Whether sharing is faster, or as fast for clearly less CPU time."""
    if not as_fast(private, shared):
        return True
    return as_fast(shared, private) and shared.cpu < (1.0 - WORTH) * private.cpu


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
    pays = worth_sharing(many, one)
    beside = (
        f"{many.name} trains {many.rate / one.rate:.3g} times as fast as {one.name}, for "
        f"{many.cpu / one.cpu:.0%} of the CPU time"
    )
    if pays:
        verdict = f"Sharing pays: {beside}."
    elif not as_fast(many, one):
        verdict = f"Sharing does not pay: {beside}; {many.limit} limits the stream."
    else:
        k = setting.costs.shareable
        verdict = f"Sharing does not pay: {beside}; with k = {k:.3g} there is too little to share."
    return SharingAdvice(
        private=one,
        shared=many,
        estimates=(*private, *shared),
        pays=pays,
        verdict=verdict,
        least_members=least_members(setting),
    )


def least_members(setting: OnOneNode) -> float:
    """Members from which on one stream takes less CPU time than loaders without workers.

    Each member saves preparing and pays for delivery; storing a sample is paid once.
    """
    saved = setting.costs.prepare - setting.loaders.deliver
    return floor(setting.loaders.store / saved) + 1.0 if saved > 0 else inf


ASKED = "The study says so."
FED = "The data is a loader, which gives every batch once: a stream can hand it to all."


@dataclass(frozen=True, slots=True, kw_only=True)
class SharingChoice:
    """A way of loading.

    Attributes:
        way: what is taken.
        input: the same as the study says it.
        why: in a sentence.
        estimates: of all that were compared, the quickest first.
        private: the best without sharing.
        taken: what is expected of `way`.
    """

    way: Way
    input: Input
    why: str
    estimates: tuple[LoadingEstimate, ...]
    private: LoadingEstimate
    taken: LoadingEstimate


def loading(
    setting: OnOneNode, asked: Input, *, workers: int | None, fed: bool = False
) -> SharingChoice:
    """The way that is asked for, or the better one: quicker, or as quick for less of the cores.

    Args:
        setting: members, cores and what was measured.
        asked: what the study says.
        workers: processes that prepare, of the stream or of each member; None for the best
            number.
        fed: whether a loader gives the samples.

    Raises:
        InputError: a loader is to be private.
    """
    if fed:
        return _fed(setting, asked)
    advice = advise_sharing(setting, workers=workers)
    shared = asked is Input.SHARED or (asked is Input.AUTO and advice.pays)
    taken = advice.shared if shared else advice.private
    if workers is not None:
        taken = estimated(setting, Way(shared=shared, workers=workers))
    of_loader = fed_stream(setting)
    beside = data_loaders(setting, workers=workers or 1)
    found = (each for each in (*advice.estimates, beside) if each != of_loader)
    return SharingChoice(
        way=Way(shared=shared, workers=taken.workers),
        input=Input.SHARED if shared else Input.PRIVATE,
        why=advice.verdict if asked is Input.AUTO else f"{ASKED} {advice.verdict}",
        estimates=tuple(sorted(found, key=lambda each: (-each.rate, each.cpu))),
        private=advice.private,
        taken=taken,
    )


def _fed(setting: OnOneNode, asked: Input) -> SharingChoice:
    if asked is Input.PRIVATE:
        raise InputError(
            "ensemble.input: 'private' needs a data set with a length and an index, and the data"
            " is a loader. Write 'shared', or return the loader's data set."
        )
    private, taken = private_loaders(setting, workers=0), fed_stream(setting)
    return SharingChoice(
        way=Way(shared=True, workers=1, fed=True),
        input=Input.SHARED,
        why=FED,
        estimates=tuple(sorted((private, taken), key=lambda each: -each.rate)),
        private=private,
        taken=taken,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """An ensemble that could begin now.

    Attributes:
        probed: what is known of samples and members.
        choice: how samples come, and why.
        parts: who trains together, one after the other.
        forecast: what that takes.
        memory: bytes of a device, or of the host, that members may fill.
        devices: GPUs that members may be put on; 0 for the host's cores.
    """

    probed: Probed
    choice: SharingChoice
    parts: tuple[Trains, ...]
    forecast: Forecast
    memory: float
    devices: int

    def wave(self, name: str) -> int:
        """In which group a member trains first, from 1."""
        return 1 + next(n for n, part in enumerate(self.parts) if name in part.epochs)


def planned(study: EnsembleStudy, probed: Probed, *, cores: int, fed: bool) -> Planned:
    """Plan a study on this machine.

    Args:
        study: data, members, and what the run may use.
        probed: what samples and members cost.
        cores: that everything shares.
        fed: whether a loader gives the samples.

    Raises:
        InputError: a member does not fit.
        MissingExtra: members ask for this machine's GPUs, and PyTorch is not installed.
    """
    anywhere = any(recipe.device == "auto" for recipe in study.recipes)
    devices, of_device = gpus() if anywhere else (0, 0.0)
    memory = of_device if devices else memory_free() - study.memory
    parts = _parts(study, probed, devices=devices, memory=memory)
    first = parts[0]
    batches = {recipe.name: recipe.batch for recipe in study.recipes}
    setting = on_one_node(probed, [*first.epochs], batches, cores=cores, arena=study.memory)
    choice = loading(setting, study.input, workers=study.workers, fed=fed)
    expected = forecast(probed, parts, choice.way, cores=cores, arena=study.memory)
    return Planned(
        probed=probed,
        choice=choice,
        parts=parts,
        forecast=expected,
        memory=memory,
        devices=devices,
    )


def _parts(
    study: EnsembleStudy, probed: Probed, *, devices: int, memory: float
) -> tuple[Trains, ...]:
    """Who trains together; of the members that end early, it is only known how many."""
    halving = comparisons(study)
    rungs = [int(rung) for rung in halving.rungs] if halving else []
    parts, active, since = list[Trains](), list(study.recipes), 0
    for ends in [*rungs, study.epochs]:
        going = [recipe for recipe in active if recipe.epochs > since]
        for placed in together(going, probed, devices=devices, memory=memory):
            here = [recipe for recipe in going if recipe.name in placed]
            parts.append(
                Trains(
                    batches={recipe.name: recipe.batch for recipe in here},
                    epochs={recipe.name: min(ends, recipe.epochs) for recipe in here},
                    since=since,
                )
            )
        contenders = [recipe for recipe in going if recipe.epochs > ends]
        kept = halving.kept(len(contenders)) if halving and contenders else 0
        active, since = contenders[:kept], ends
        if not active:
            break
    return tuple(parts)
