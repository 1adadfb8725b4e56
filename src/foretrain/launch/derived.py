"""What trainers say and studies do not: counts that follow from a plan, and lead back to it.

Each is a formula and its inverse. A key that it needs and that nobody gives makes it say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Final

from foretrain.trainers.flags import Fact, Facts
from foretrain.workload.library.entries import known

Found = Mapping[str, Fact] | None
"""Keys that follow; None where they cannot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derived:
    """A count that follows from keys of a study.

    Attributes:
        key: what flags call it.
        needs: keys without which nothing follows from it.
        of: its value; None where a plan has none.
        into: what follows from a value.
    """

    key: str
    needs: tuple[str, ...]
    of: Callable[[Facts], Fact | None]
    into: Callable[[Facts, Fact], Found]


def number(facts: Facts, key: str, default: int = 1) -> int:
    """A count; the default where nobody gives it, or gives something else."""
    value = facts.get(key, default)
    return value if isinstance(value, int) else default


def devices_of(facts: Facts) -> int | None:
    """Devices that take part; None where nobody says."""
    if "cluster.devices" in facts:
        return number(facts, "cluster.devices")
    if {"cluster.nodes", "cluster.node_devices"} <= {*facts}:
        return number(facts, "cluster.nodes") * number(facts, "cluster.node_devices")
    return None


def _exactly(whole: int, part: int) -> int | None:
    return whole // part if part > 0 and whole % part == 0 else None


def _plan(facts: Facts, *names: str) -> int:
    return prod(number(facts, f"plan.{name}") for name in names)


def replicas_of(facts: Facts) -> int | None:
    """Degree of the data axis: as it is given, or what the other axes leave of the devices."""
    if "plan.data" in facts:
        return number(facts, "plan.data")
    devices = devices_of(facts)
    return (
        None
        if devices is None
        else _exactly(devices, _plan(facts, "tensor", "context", "pipeline"))
    )


def _copies(facts: Facts) -> Fact | None:
    """Groups of devices that each hold a whole copy, where copies are shared."""
    data, context, shard = (
        number(facts, f"plan.{name}", 0) for name in ("data", "context", "shard")
    )
    if facts.get("plan.sharding") != "parameters":
        return data
    return 1 if shard == 0 else _exactly(data * max(context, 1), shard)


def _sharers(facts: Facts) -> Fact | None:
    copies = _copies(facts)
    return None if copies is None else _exactly(number(facts, "plan.data"), int(copies))


def _shared(facts: Facts, value: Fact) -> Found:
    """What follows from groups and their members; -1 members are all that are left."""
    copies, members = number(facts, "copies"), value
    if not isinstance(members, int):
        return None
    if members < 0:
        data = replicas_of(facts)
        if data is None:
            # Who they are is not known, but that they share is.
            return {"plan.sharding": "parameters", "plan.shard": 0} if copies == 1 else None
        members = _exactly(data, copies)
        if members is None:
            return None
    among = members * number(facts, "plan.context")
    sharding = "parameters" if among > 1 else "none"
    shard = among if among > 1 and copies > 1 else 0
    found: dict[str, Fact] = {"plan.sharding": sharding, "plan.shard": shard}
    return {**found, "plan.data": copies * members}


def _chunk(facts: Facts) -> Fact | None:
    chunks = _plan(facts, "pipeline", "interleaving")
    return (
        _exactly(number(facts, "model.layers", 0), chunks)
        if _plan(facts, "interleaving") > 1
        else None
    )


def _chunks(facts: Facts, value: Fact) -> Found:
    if not isinstance(value, int):
        return None
    found = _exactly(number(facts, "model.layers", 0), value * _plan(facts, "pipeline"))
    return {"plan.interleaving": found} if found else None


def _micro_batches(facts: Facts) -> Fact | None:
    data = replicas_of(facts)
    if data is None:
        return None
    return _exactly(number(facts, "workload.global_batch", 0), data * _plan(facts, "micro_batch"))


def _from_micro_batches(facts: Facts, value: Fact) -> Found:
    data = replicas_of(facts)
    if data is None or not isinstance(value, int) or "plan.micro_batch" not in facts:
        return None
    return {"workload.global_batch": value * data * _plan(facts, "micro_batch")}


def _recomputed(facts: Facts) -> Fact | None:
    """Layers of each chunk that are recomputed, where a plan counts them."""
    layers = number(facts, "plan.recompute_layers", 0)
    return _exactly(layers, _plan(facts, "pipeline", "interleaving")) if layers else None


def _from_recomputed(facts: Facts, value: Fact) -> Found:
    if facts.get("recompute_method") != "block" or not isinstance(value, int):
        return {}
    layers = value * _plan(facts, "pipeline", "interleaving")
    every = number(facts, "model.layers", 0)
    return {"plan.recompute_layers": 0 if every and layers >= every else layers}


def _cut(facts: Facts) -> list[int]:
    """Layers of each chunk, where a plan lists them."""
    said = str(facts.get("plan.cut", ""))
    return [int(each) for each in said.split(">")] if said[:1].isdigit() else []


def _listed(cut: list[int]) -> Found:
    return {"plan.cut": ">".join(map(str, cut))} if cut and min(cut) > 0 else None


def _layout(facts: Facts) -> Fact | None:
    """Megatron-LM's layout of stages: E embedding, t layer, L loss, | between stages."""
    cut = _cut(facts)
    stages = [f"t*{layers}" for layers in cut]
    return "|".join(["E" + stages[0], *stages[1:-1], stages[-1] + "L"]) if len(cut) > 1 else None


GROUP: Final = re.compile(r"\(([^()]*)\)\*(\d+)")
LETTERS: Final = re.compile(r"([A-Za-z])(?:\*(\d+))?")
MOST_STAGES: Final = 10_000


def _from_layout(facts: Facts, value: Fact) -> Found:
    text = str(value).replace(" ", "").replace(",", "").strip("'\"")
    while match := GROUP.search(text):
        if len(match[1]) * int(match[2]) > MOST_STAGES:
            return None
        text = text.replace(match[0], match[1] * int(match[2]), 1)
    cut = [
        sum(int(many or 1) for letter, many in LETTERS.findall(stage) if letter == "t")
        for stage in text.split("|")
    ]
    chunks = _exactly(len(cut), _plan(facts, "pipeline"))
    found = _listed(cut)
    if chunks is None or found is None:
        return None
    even = len({*cut}) == 1
    return {**({"plan.cut": "even"} if even else found), "plan.interleaving": chunks}


def _end(place: int) -> Callable[[Facts], Fact | None]:
    """Layers of the first or last stage, where those between are alike."""

    def of(facts: Facts) -> Fact | None:
        cut = _cut(facts)
        alike = len(cut) > 2 and len({*cut[1:-1]}) == 1 and _plan(facts, "interleaving") == 1
        return cut[place] if alike else None

    return of


def _from_ends(facts: Facts, value: Fact) -> Found:
    """The cut of a first and a last stage of so many layers, and the rest evenly between."""
    stages, layers = _plan(facts, "pipeline"), number(facts, "model.layers", 0)
    first, last = (facts.get(f"layers_of_{which}_stage") for which in ("first", "last"))
    ends = [each for each in (first, last) if isinstance(each, int)]
    between = stages - len(ends)
    each = _exactly(layers - sum(ends), between) if between > 0 else None
    if not each or not layers or _plan(facts, "interleaving") > 1:
        return None
    cut = [each] * between
    return _listed(
        [
            *([first] if isinstance(first, int) else []),
            *cut,
            *([last] if isinstance(last, int) else []),
        ]
    )


def _times(*keys: str) -> Callable[[Facts], Fact | None]:
    return lambda facts: prod(number(facts, key) for key in keys)


def _divided(key: str, by: str) -> Callable[[Facts, Fact], Found]:
    """The key of which a value is a multiple by another."""

    def into(facts: Facts, value: Fact) -> Found:
        found = _exactly(value, number(facts, by)) if isinstance(value, int) else None
        return {key: found} if found else None

    return into


def _per_device(facts: Facts) -> Fact | None:
    """Samples of a device in a pass of all: a fraction where several share a sample."""
    devices = devices_of(facts)
    if devices is None:
        return None
    samples = number(facts, "plan.micro_batch") * number(facts, "plan.data") / devices
    return int(samples) if samples == int(samples) else samples


def _from_per_device(facts: Facts, value: Fact) -> Found:
    devices, data = devices_of(facts), replicas_of(facts)
    if devices is None or data is None or isinstance(value, str):
        return None
    micro_batch = value * devices / data
    return {"plan.micro_batch": int(micro_batch)} if micro_batch == int(micro_batch) >= 1 else None


def _devices_into(facts: Facts, value: Fact) -> Found:
    if not isinstance(value, int):
        return None
    if "cluster.nodes" in facts and "cluster.node_devices" not in facts:
        each = _exactly(value, number(facts, "cluster.nodes"))
        return {"cluster.node_devices": each} if each else None
    if "cluster.node_devices" in facts and "cluster.nodes" not in facts:
        nodes = _exactly(value, number(facts, "cluster.node_devices"))
        return {"cluster.nodes": nodes} if nodes else None
    return {}


def _named(facts: Facts, value: Fact) -> Found:
    """The model of the library of a family and a size; of some families there is one alone."""
    family = str(facts.get("model_family", ""))
    names = (f"{family}-{str(value).lower()}", family)
    found = next((each for each in names if family and known(each)), None)
    return {"workload.model": found} if found else None


def _size(facts: Facts) -> Fact | None:
    return str(facts.get("workload.model", "")).rpartition("-")[2].upper() or None


def _family(facts: Facts) -> Fact | None:
    return str(facts.get("workload.model", "")).rpartition("-")[0] or None


def _layers(facts: Facts, value: Fact) -> Found:
    """The layers of a model of the library."""
    entry = known(str(value))
    layers = None if entry is None else entry.stated.get("layers")
    return {"model.layers": layers} if isinstance(layers, int) else {}


def _instances(facts: Facts) -> Fact | None:
    """Groups of replicas that each hold a whole optimizer."""
    shard = number(facts, "plan.shard", 0)
    return _exactly(_plan(facts, "data", "context"), shard) if shard else None


def _from_instances(facts: Facts, value: Fact) -> Found:
    data = replicas_of(facts)
    if data is None or not isinstance(value, int):
        return None
    among = _exactly(data * _plan(facts, "context"), value)
    return {"plan.shard": 0 if value == 1 else among} if among else None


EXPERTS: Final = re.compile(r"\(?\[0\]\*(\d{1,4})\+\[1\]\*(\d{1,4})\)?")


def _of_experts(facts: Facts) -> Fact | None:
    """Megatron-LM's pattern of layers: 0 for dense ones, 1 for those of experts."""
    dense, layers = number(facts, "model.dense_layers", 0), number(facts, "model.layers", 0)
    return f"([0]*{dense}+[1]*{layers - dense})" if dense else None


def _from_layers_of_experts(facts: Facts, value: Fact) -> Found:
    if value == 1:
        return {}
    match = EXPERTS.fullmatch(str(value).replace(" ", "").strip("'\""))
    return {"model.dense_layers": int(match[1])} if match else None


BLOCK: Final = 64
"""Widths of gated parts that nobody states are whole blocks of so many (source: Megatron-LM, arguments.py)."""


def _wide(facts: Facts, value: Fact) -> Found:
    """The feed-forward part's width; two thirds of it where a gate makes it two."""
    hidden = facts.get("model.hidden")
    if isinstance(value, str) or not isinstance(hidden, int):
        return None
    if "model.feed_forward" in facts:
        return {}
    width = int(value * hidden)
    if facts.get("model.gated") and facts.get("gate_narrows"):
        width = int(width * 2 / 3 / BLOCK) * BLOCK
    return {"model.feed_forward": width}


def _where_sharded(of: Callable[[Facts], Fact | None]) -> Callable[[Facts], Fact | None]:
    """A count that is said only where there is more than plain replicas."""

    def said(facts: Facts) -> Fact | None:
        mesh = facts.get("plan.sharding") == "parameters" or _plan(facts, "tensor", "context") > 1
        return of(facts) if mesh else None

    return said


def _shared_in_groups(facts: Facts, value: Fact) -> Found:
    """As `_shared`, by the groups of FSDP."""
    return _shared({**facts, "copies": facts.get("fsdp_copies", 1)}, value)


def _by_node(facts: Facts, value: Fact) -> Found:
    """Copies that the devices of a node share."""
    devices, data = facts.get("cluster.node_devices"), replicas_of(facts)
    if not isinstance(devices, int) or data is None:
        return None
    among = data * _plan(facts, "context")
    return {"plan.shard": 0 if devices >= among else devices}


def _of_stages(facts: Facts) -> bool:
    return _plan(facts, "pipeline") > 1


def _local_batch(facts: Facts) -> Fact | None:
    """Samples of a replica in a pass; with stages those of all micro-batches."""
    if not _of_stages(facts):
        return facts.get("plan.micro_batch")
    return _exactly(number(facts, "workload.global_batch", 0), _plan(facts, "data"))


def _from_local_batch(facts: Facts, value: Fact) -> Found:
    data = replicas_of(facts)
    if not isinstance(value, int):
        return None
    found: dict[str, Fact] = {} if _of_stages(facts) else {"plan.micro_batch": value}
    if "workload.global_batch" in facts:
        return found
    return None if data is None else {**found, "workload.global_batch": value * data}


def _stage_batch(facts: Facts) -> Fact | None:
    return facts.get("plan.micro_batch") if _of_stages(facts) else None


def _interleaved(facts: Facts) -> Fact | None:
    return True if _plan(facts, "interleaving") > 1 else None


DERIVED: Final = (
    Derived(key="cluster.devices", needs=(), of=devices_of, into=_devices_into),
    Derived(key="model_family", needs=(), of=_family, into=lambda _, __: {}),
    Derived(key="model_size", needs=("model_family",), of=_size, into=_named),
    Derived(
        key="workload.model",
        needs=(),
        of=lambda facts: facts.get("workload.model"),
        into=_layers,
    ),
    Derived(
        key="layers_of_experts",
        needs=(),
        of=_of_experts,
        into=_from_layers_of_experts,
    ),
    Derived(key="optimizer_instances", needs=(), of=_instances, into=_from_instances),
    Derived(key="feed_forward_ratio", needs=("model.hidden",), of=lambda _: None, into=_wide),
    Derived(key="copies", needs=(), of=_copies, into=lambda _, __: {}),
    Derived(key="sharers", needs=(), of=_sharers, into=_shared),
    Derived(key="fsdp_copies", needs=(), of=_where_sharded(_copies), into=lambda _, __: {}),
    Derived(key="fsdp_sharers", needs=(), of=_where_sharded(_sharers), into=_shared_in_groups),
    Derived(
        key="shared_by_node",
        needs=("cluster.node_devices",),
        of=lambda _: None,
        into=_by_node,
    ),
    Derived(
        key="resharded_without_stages",
        needs=(),
        of=lambda _: None,
        into=lambda facts, _: (
            {} if "plan.reshard" in facts else {"plan.reshard": not _of_stages(facts)}
        ),
    ),
    Derived(
        key="batch_of_stages",
        needs=(),
        of=_stage_batch,
        into=lambda facts, value: {"plan.micro_batch": value} if _of_stages(facts) else {},
    ),
    Derived(key="local_batch", needs=(), of=_local_batch, into=_from_local_batch),
    Derived(key="layers_of_chunk", needs=("model.layers",), of=_chunk, into=_chunks),
    Derived(
        key="interleaved",
        needs=(),
        of=_interleaved,
        into=lambda facts, _: {} if "plan.interleaving" in facts else {"plan.interleaving": 2},
    ),
    Derived(key="layout", needs=(), of=_layout, into=_from_layout),
    Derived(key="layers_of_first_stage", needs=("model.layers",), of=_end(0), into=_from_ends),
    Derived(key="layers_of_last_stage", needs=("model.layers",), of=_end(-1), into=_from_ends),
    Derived(key="layers_recomputed_of_chunk", needs=(), of=_recomputed, into=_from_recomputed),
    Derived(key="samples_of_device", needs=(), of=_per_device, into=_from_per_device),
    Derived(
        key="tokens_of_micro_batch",
        needs=("workload.sequence",),
        of=_times("plan.micro_batch", "workload.sequence"),
        into=_divided("plan.micro_batch", "workload.sequence"),
    ),
    Derived(
        key="micro_batches",
        needs=("plan.micro_batch",),
        of=_micro_batches,
        into=_from_micro_batches,
    ),
    Derived(
        key="tokens_of_step",
        needs=("workload.sequence",),
        of=_times("workload.global_batch", "workload.sequence"),
        into=_divided("workload.global_batch", "workload.sequence"),
    ),
)
"""In the order in which one may follow from what another gave."""
