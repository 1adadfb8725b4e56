"""Queues with quotas: as [site] of a study writes them, and as Kueue's own objects tell them.

Rules: `kubectl get clusterqueues,cohorts -o json`, and the ConfigMap of its manager. Jobs: `kubectl
get workloads,localqueues -A -o json`. A condition of a workload keeps its last transition alone, so
of one that was preempted only the last run is known.

Source: kueue, its v1beta2 objects; some fields have other names in v1beta1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Final

from foretrain.errors import InputError
from foretrain.measured.job import End, Remainder
from foretrain.measured.limit import FlavorQuota, QuotaCohort, QuotaQueue
from foretrain.study.documents import from_json
from foretrain.study.traces.format import Format, Row
from foretrain.study.traces.record import NEVER_RAN, NO_DEVICE, UNREADABLE, NotAJob, Record
from foretrain.units import SHARE

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def told_by(section: DataclassInstance) -> dict[str, Any]:
    """What a section says, by its keys."""
    return {each.name: getattr(section, each.name) for each in fields(section)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorSection:
    """What is promised of a flavor of devices, as it is written."""

    name: str
    devices: float = 0.0
    borrows: float = inf
    lends: float = inf

    @property
    def noun(self) -> FlavorQuota:
        """What it means."""
        return FlavorQuota(**told_by(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortSection:
    """A cohort of queues and cohorts, as it is written."""

    name: str
    parent: str = ""
    devices: float = 0.0
    borrows: float = inf
    lends: float = inf
    weight: float = 1.0
    flavors: tuple[FlavorSection, ...] = ()

    @property
    def noun(self) -> QuotaCohort:
        """What it means."""
        return QuotaCohort(**{**told_by(self), "flavors": _flavors(self.flavors)})


def _flavors(sections: Sequence[FlavorSection]) -> tuple[FlavorQuota, ...]:
    return tuple(each.noun for each in sections)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSection:
    """A queue with a quota, as it is written."""

    name: str
    cohort: str = ""
    devices: float = 0.0
    borrows: float = inf
    lends: float = inf
    most: float = inf
    weight: float = 1.0
    strict: bool = False
    reclaims: bool = False
    lower_only: bool = False
    stops_to_borrow: bool = False
    stops_up_to: float = inf
    preempts: bool = False
    newer_too: bool = False
    past: Annotated[float, SHARE] = 0.0
    flavors: tuple[FlavorSection, ...] = ()
    next_before_borrowing: bool = False
    stops_before_next: bool = False

    @property
    def noun(self) -> QuotaQueue:
        """What it means."""
        return QuotaQueue(**{**told_by(self), "flavors": _flavors(self.flavors)})


Object = Mapping[str, Any]
"""What Kubernetes prints of one thing."""

NOT_SO: Final = (TypeError, ValueError, KeyError, AttributeError, OverflowError)
"""What objects raise that are not as Kueue has them."""

FAIR: Final = re.compile(r"^fairSharing:(?!\s*null)(?!\s*(?:\n +.*)*\n +enable: *false)", re.M)
"""In the configuration of Kueue's manager."""


def queues_of(text: str) -> dict[str, Any]:
    """The queues, cohorts and rules of Kueue's objects, in the keys of [site].

    Args:
        text: what kubectl prints, as JSON.

    Raises:
        InputError: no JSON, no queue in it, or a rule that cannot be read.
    """
    objects = _objects(text, "an object")
    kinds = {
        kind: [each for each in objects if each.get("kind") == kind]
        for kind in ("ClusterQueue", "Cohort", "ConfigMap", "Queue")
    }
    told: dict[str, Any] = {}
    if kinds["Queue"]:
        told["queues"] = [_volcano(each) for each in kinds["Queue"]]
    flavors = {
        each["name"]
        for item in (*kinds["ClusterQueue"], *kinds["Cohort"])
        for each in _flavors_of(item)
    }
    for key, kind in (("queues", "ClusterQueue"), ("cohorts", "Cohort")):
        if kinds[kind]:
            told.setdefault(key, []).extend(
                _node(each, apart=len(flavors) > 1) for each in kinds[kind]
            )
    not_kept = [rule for each in objects for rule in _not_kept(each)]
    told |= {"not_kept": not_kept} if not_kept else {}
    for each in kinds["ConfigMap"]:
        texts = each.get("data")
        written = texts.values() if isinstance(texts, dict) else ()
        if any(FAIR.search(str(text)) for text in written):
            told["fair_sharing"] = True
    if not told:
        raise InputError(
            "holds no ClusterQueue, Cohort or ConfigMap. Known: what kubectl get"
            " clusterqueues,cohorts -o json prints, and queues of Volcano."
        )
    return told


def _objects(text: str, where: str) -> list[Object]:
    """The objects of a list, or the one object."""
    document = from_json(text, where)
    items = document.get("items", [document])
    return [each for each in items if isinstance(each, dict)] if type(items) is list else []


def _name(item: Object) -> str:
    found = item.get("metadata", {})
    name = found.get("name") if isinstance(found, dict) else None
    if not isinstance(name, str):
        raise InputError("an object has no metadata.name.")
    return name


def _flavors_of(item: Object) -> list[dict[str, Any]]:
    """What a queue or a cohort is promised of each flavor of devices, in their order."""
    name, found = _name(item), dict[str, dict[str, Any]]()
    try:
        for flavor in (
            each
            for group in (item.get("spec") or {}).get("resourceGroups", ())
            for each in group["flavors"]
        ):
            for each in flavor["resources"]:
                if "gpu" not in each["name"].lower():
                    continue
                told = found.setdefault(flavor["name"], {"name": str(flavor["name"]), "devices": 0})
                told["devices"] += int(each["nominalQuota"])
                for key, limit in (("borrows", "borrowingLimit"), ("lends", "lendingLimit")):
                    if each.get(limit) is not None:
                        told[key] = told.get(key, 0) + int(each[limit])
    except NOT_SO as error:
        raise InputError(f"the {item['kind']} {name}: {error} is not as Kueue has it.") from None
    return [*found.values()]


def _node(item: Object, *, apart: bool) -> dict[str, Any]:
    """A queue or a cohort, its flavors apart if there are several in its tree."""
    told: dict[str, Any] = {"name": _name(item)}
    flavors, spec = _flavors_of(item), item.get("spec") or {}
    if apart:
        told["flavors"] = flavors
    elif flavors:
        told |= {key: value for key, value in flavors[0].items() if key != "name"}
    try:
        told["weight"] = float((spec.get("fairSharing") or {}).get("weight", 1))
        if item["kind"] == "Cohort":
            told["parent"] = str(spec.get("parentName") or spec.get("parent") or "")
            return told
        told["cohort"] = str(spec.get("cohortName") or spec.get("cohort") or "")
        told["strict"] = spec.get("queueingStrategy") == "StrictFIFO"
        stops = spec.get("preemption") or {}
        reclaims, own = (
            stops.get(key, "Never") for key in ("reclaimWithinCohort", "withinClusterQueue")
        )
        borrowing, tries = (
            found.get(key) or {}
            for found, key in ((stops, "borrowWithinCohort"), (spec, "flavorFungibility"))
        )
        told |= {"reclaims": reclaims != "Never", "preempts": own != "Never"}
        tells = {
            "lower_only": reclaims == "LowerPriority",
            "newer_too": own == "LowerOrNewerEqualPriority",
            "stops_to_borrow": borrowing.get("policy", "Never") != "Never",
            "next_before_borrowing": tries.get("whenCanBorrow") == "TryNextFlavor",
            "stops_before_next": tries.get("whenCanPreempt") in {"MayStopSearch", "Preempt"},
        }
        told |= {key: True for key, holds in tells.items() if holds}
        if borrowing.get("maxPriorityThreshold") is not None:
            told["stops_up_to"] = float(borrowing["maxPriorityThreshold"])
    except NOT_SO as error:
        where = f"the {item['kind']} {told['name']}"
        raise InputError(f"{where}: {error} is not as Kueue has it.") from None
    return told


def _volcano(item: Object) -> dict[str, Any]:
    """A queue of Volcano: its weight, what it deserves and its cap."""
    told: dict[str, Any] = {"name": _name(item)}
    try:
        spec = item.get("spec") or {}
        told["weight"] = float(spec.get("weight", 1))
        for key, field in (("devices", "deserved"), ("most", "capability")):
            found = [
                int(count)
                for name, count in (spec.get(field) or {}).items()
                if "gpu" in name.lower()
            ]
            told |= {key: sum(found)} if found else {}
    except NOT_SO as error:
        raise InputError(f"the Queue {told['name']}: {error} is not as Volcano has it.") from None
    return told


def _not_kept(item: Object) -> Iterator[str]:
    """Rules of a queue that are not kept, in words."""
    spec = item.get("spec")
    if not isinstance(spec, dict) or item.get("kind") not in ("ClusterQueue", "Queue"):
        return
    if spec.get("stopPolicy", "None") != "None":
        yield f"stopPolicy {spec['stopPolicy']} of the queue {_name(item)}"
    for key in ("guarantee", "parent"):
        if item["kind"] == "Queue" and spec.get(key) not in (None, {}, "", "root"):
            yield f"{key} of the queue {_name(item)}"


def workload_rows(text: str, where: str, remainder: Remainder) -> Iterator[Row]:
    """The workloads of Kueue as rows, whose number is their place in the list.

    Args:
        text: what kubectl prints, as JSON.
        where: what to call it in messages.
        remainder: takes those that cannot be read.

    A workload that was let in tells its ClusterQueue; of one that waits it is that of its
    LocalQueue, if the list holds this or another workload of it.
    """
    objects = _objects(text, where)
    homes: dict[tuple[str, str], str] = {}
    found: list[tuple[int, dict[str, str]]] = []
    if all(each.get("kind") != "Workload" for each in objects):
        raise InputError(
            f"{where}: holds no Workload of Kueue. Ask kubectl for workloads; of Slurm, what sacct"
            " --parsable2 prints is read."
        )
    for place, item in enumerate(objects, start=1):
        try:
            if item.get("kind") == "LocalQueue":
                space = str(item["metadata"].get("namespace", ""))
                homes[space, _name(item)] = str(item["spec"]["clusterQueue"])
            elif item.get("kind") == "Workload":
                told = _cells(item)
                found.append((place, told))
                if told["queue"]:
                    homes[told["namespace"], told["local"]] = told["queue"]
        except (*NOT_SO, InputError) as error:
            remainder.add(UNREADABLE, place, f"{error} is not as Kueue has it.")
    for place, told in found:
        home = homes.get((told["namespace"], told["local"]), told["local"])
        yield Row({**told, "queue": told["queue"] or home}, place)


def _cells(item: Object) -> dict[str, str]:
    """What a workload tells, by the columns of `WORKLOADS`."""
    meta, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    conditions = {each["type"]: each for each in status.get("conditions", ())}
    holds = {type: each for type, each in conditions.items() if each["status"] == "True"}
    admission = status.get("admission") or {}
    used = [each.get("resourceUsage") or {} for each in admission.get("podSetAssignments", ())]
    asked = [
        {
            name: int(pods.get("count", 1)) * int(count)
            for each in pods["template"]["spec"]["containers"]
            for name, count in _resources(each).items()
        }
        for pods in spec["podSets"]
    ]
    devices = sum(
        int(count)
        for pods in (used if any(used) else asked)
        for name, count in pods.items()
        if "gpu" in name.lower()
    )
    over = holds.get("Finished", {})
    why = f"{over.get('reason', '')} {over.get('message', '')}".lower()
    begun = holds.get("Admitted") or holds.get("QuotaReserved") or {}
    return {
        "name": f"{meta.get('namespace', '')}/{_name(item)}".lstrip("/"),
        "namespace": str(meta.get("namespace", "")),
        "local": str(spec.get("queueName", "")),
        "queue": str(admission.get("clusterQueue", "")),
        "created": str(meta["creationTimestamp"]),
        "admitted": str(begun.get("lastTransitionTime", "")),
        "finished": str(over.get("lastTransitionTime", "")),
        "end": "" if not over else "failed" if "fail" in why else "succeeded",
        "active": str(spec.get("active", True)),
        "devices": str(devices),
        "priority": str(spec.get("priority") or 0),
        "limit": str(spec.get("maximumExecutionTimeSeconds") or ""),
    }


def _resources(container: Object) -> Mapping[str, Any]:
    """Devices that a container asks for; what it may use at most is what it asks for."""
    found = container.get("resources") or {}
    told = {**(found.get("limits") or {}), **(found.get("requests") or {})}
    return {name: count for name, count in told.items() if "gpu" in name.lower()}


def workload_job(row: Row) -> Record:
    """A job of a workload."""
    if not row.count("devices"):
        raise NotAJob(NO_DEVICE)
    begun = row.moment("admitted") if row.has("admitted") else None
    if row.has("finished"):
        end = End.FINISHED if row.text("end") == "succeeded" else End.FAILED
    else:
        end = End.PENDING if begun is None else End.RUNNING
    if row.has("finished") and begun is None:
        raise NotAJob(NEVER_RAN)
    if end is End.PENDING and row.text("active") == "False":
        raise NotAJob("were deactivated, and do not tell when they ran")
    ran = row.moment("finished") - begun if row.has("finished") and begun is not None else None
    return Record(
        line=row.line,
        name=row.needed("name"),
        arrival=row.moment("created"),
        ran=ran,
        devices=row.count("devices"),
        end=end,
        begun=begun,
        estimate=row.duration("limit") if row.has("limit") else None,
        user=row.text("namespace"),
        group=row.text("queue"),
        nice=1.0 - row.number("priority"),
    )


WORKLOADS: Final = Format(
    says="what kubectl get workloads -o json prints of Kueue's jobs",
    columns=(
        "name", "namespace", "local", "queue", "created", "admitted", "finished", "end", "active",
        "devices", "priority", "limit",
    ),
    needs=("name", "created", "devices"),
    record=workload_job,
    objects=workload_rows,
)  # fmt: skip
