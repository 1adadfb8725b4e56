"""Sensitivities: what a tenth more of every resource and coefficient does to a plan.

Each is the difference of two estimates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from foretrain.cluster.cluster import Cluster, Host, Storage
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import ForetrainError
from foretrain.plan.study import Study
from foretrain.search.explain.limits import MORE, quicker
from foretrain.show.table import label, labelled
from foretrain.show.words import percent, signed
from foretrain.step.estimate import estimate
from foretrain.step.price import price_plan
from foretrain.step.result import Estimate
from foretrain.step.setting import recalibrated
from foretrain.step.software import study_setting
from foretrain.units import BYTES, DOLLARS, SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """What a tenth more of one resource or coefficient does to a plan.

    Attributes:
        name: of the resource, as a study writes it, or of the coefficient.
        kind: resource or coefficient.
        value: as it is, in the unit used inside.
        time: seconds that a step takes more.
        share: the same over the step.
        cost: dollars that it takes more; None without a price.
        memory: bytes that the heaviest device needs more.
        refused: why there cannot be a tenth more; empty where there can.
    """

    name: str = field(metadata=label("a tenth more of"))
    kind: str = field(metadata=label("kind", spare=2))
    value: float
    time: float
    share: float
    cost: float | None
    memory: float
    refused: str = ""

    @property
    @labelled("step", number=True)
    def step_change(self) -> str:
        """The change of the step."""
        return signed(SECONDS, self.time) if self.time else ""

    @property
    @labelled("share", number=True, meaning="of the step")
    def step_share(self) -> str:
        """The same as a share of it."""
        return signed_share(self.share) if self.share else ""

    @property
    @labelled("cost", number=True, spare=1, meaning="of a step")
    def step_cost(self) -> str | None:
        """The change of its money."""
        return signed(DOLLARS, self.cost) if self.cost else None

    @property
    @labelled("memory", number=True, spare=1)
    def device_memory(self) -> str:
        """The change of a device's memory."""
        return signed(BYTES, self.memory) if self.memory else ""


def signed_share(share: float) -> str:
    """A share of the step with its sign: "-4.2 %"."""
    return f"{'+' * (share > 0)}{percent(share)}"


def less(before: float | None, after: float | None) -> float | None:
    """What a question has less of; None where either is not known."""
    return None if before is None or after is None else before - after


LINKS: Final[Mapping[str, tuple[str, ...]]] = {
    "bandwidth": ("bandwidth", "capacity"),
    "capacity": ("capacity",),
    "latency": ("latency",),
}
"""What of a level there may be more of: a faster link lets more leave a group too."""


def resources(cluster: Cluster, *, times: float) -> Iterator[tuple[str, float, Cluster]]:
    """Every resource of a cluster as a study calls it, its value, and a cluster with more of it."""
    device = cluster.device
    yield (
        "cluster.device.peak",
        device.peak.bf16 or device.peak.fp32,
        replace(cluster, device=quicker(device, times=times)),
    )
    for name in ("memory_bandwidth", "memory"):
        more = replace(device, **{name: times * getattr(device, name)})
        yield f"cluster.device.{name}", getattr(device, name), replace(cluster, device=more)
    yield from _links(cluster, times)
    changes: dict[str, Any]
    if cluster.host is not None:
        for name, value in _amounts(cluster.host, *(each.name for each in fields(Host))):
            changes = {name: times * value}
            host = replace(cluster.host, **changes)
            yield f"cluster.host.{name}", value, replace(cluster, host=host)
    if cluster.storage is not None:
        for name, value in _amounts(cluster.storage, *(each.name for each in fields(Storage))):
            changes = {name: times * value}
            storage = replace(cluster.storage, **changes)
            yield f"cluster.storage.{name}", value, replace(cluster, storage=storage)
    for name, value in _amounts(cluster, "price", "node_power", "mtbf"):
        changes = {name: times * value}
        yield f"cluster.{name}", value, replace(cluster, **changes)


def _links(cluster: Cluster, times: float) -> Iterator[tuple[str, float, Cluster]]:
    """The same of its links, level by level."""
    for place, level in enumerate(cluster.levels):
        for name, keys in LINKS.items():
            known = dict(_amounts(level.link, *keys))
            if keys[0] in known:
                changes: dict[str, Any] = {key: times * it for key, it in known.items()}
                other = replace(level, link=replace(level.link, **changes))
                levels = (*cluster.levels[:place], other, *cluster.levels[place + 1 :])
                yield f"{level.name}.{name}", known[keys[0]], replace(cluster, levels=levels)


def _amounts(noun: object, *names: str) -> Iterator[tuple[str, float]]:
    """Those of some fields of a noun that are known."""
    for name in names:
        value = getattr(noun, name, None)
        if value is not None:
            yield name, value


def sensitivities(
    study: Study, here: Estimate, coefficients: Coefficients
) -> tuple[Sensitivity, ...]:
    """What a tenth more of every resource and coefficient does, the largest change first.

    Args:
        study: of one plan.
        here: its estimate.
        coefficients: those of the estimate.
    """
    found = [
        _sensitivity((name, "resource", value), (replace(study, cluster=more), coefficients), here)
        for name, value, more in resources(study.cluster, times=MORE)
    ]
    known = study_setting(study, study.cluster, coefficients)
    still = price_plan(known, here.plan, played=False)
    for name, source in coefficients.sources.items():
        value = coefficients.value(name)
        told, more = (name, "coefficient", value), MORE * value
        if source.unit == "1" and source.high <= 1.0 < more:
            found.append(_unchanged(told, f"{more:.4g} is no share: at most 1 is"))
            continue
        try:
            other = coefficients.changed({name: more})
            quick = price_plan(recalibrated(known, other), here.plan, played=False)
        except ForetrainError as error:
            found.append(_unchanged(told, str(error)))
            continue
        moves = quick.step_time != still.step_time or quick.memory.total != still.memory.total
        told_of = _sensitivity(told, (study, other), here) if moves else _unchanged(told)
        found.append(told_of)
    return tuple(sorted(found, key=lambda it: (-abs(it.time), -abs(it.memory), it.name)))


def _sensitivity(
    told: tuple[str, str, float], asked: tuple[Study, Coefficients], here: Estimate
) -> Sensitivity:
    """What changes with another question than that of an estimate."""
    (name, kind, value), (study, coefficients) = told, asked
    try:
        there = estimate(study, coefficients=coefficients)
    except ForetrainError as error:
        return _unchanged(told, str(error))
    time = there.step_time - here.step_time
    saved = less(here.cost_per_step, there.cost_per_step)
    return Sensitivity(
        name=name,
        kind=kind,
        value=value,
        time=time,
        share=time / here.step_time,
        cost=None if saved is None else -saved,
        memory=there.memory.total - here.memory.total,
    )


def _unchanged(told: tuple[str, str, float], why: str = "") -> Sensitivity:
    """That nothing changes, or that there cannot be more, and why."""
    name, kind, value = told
    return Sensitivity(
        name=name, kind=kind, value=value, time=0.0, share=0.0, cost=None, memory=0.0, refused=why
    )
