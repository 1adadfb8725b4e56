"""What trainers say and studies do not: counts that follow from a plan, and lead back to it.

Each is a formula and its inverse. A key that it needs and that nobody gives makes it say nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Final

from foretrain.launch.stages import (
    Found,
    degrees,
    devices_of,
    exactly,
    from_ends,
    from_layers_for_ends,
    from_layers_of_chunk,
    from_layers_of_experts,
    from_layout,
    from_local_batch,
    from_recomputed,
    has_stages,
    interleaved,
    layers_for_ends,
    layers_of_chunk,
    layers_of_end,
    layers_of_experts,
    layers_on_host,
    layout,
    local_batch,
    number,
    on_host,
    optimizer_on_host,
    recomputed,
    replicas_of,
    stage_batch,
)
from foretrain.trainers.flags import Fact, Facts
from foretrain.workload.library.entries import known


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


def _copies(facts: Facts) -> Fact | None:
    """Groups of devices that each hold a whole copy, where copies are shared."""
    data, context, shard = (
        number(facts, f"plan.{name}", 0) for name in ("data", "context", "shard")
    )
    if facts.get("plan.sharding") != "parameters":
        return data
    return 1 if shard == 0 else exactly(data * max(context, 1), shard)


def _sharers(facts: Facts) -> Fact | None:
    copies = _copies(facts)
    return None if copies is None else exactly(number(facts, "plan.data"), int(copies))


def _shared(facts: Facts, value: Fact) -> Found:
    """What follows from groups and their members; -1 members are all that are left."""
    if not isinstance(value, int):
        return None
    copies, members = number(facts, "copies"), value
    if members < 0:
        data = replicas_of(facts)
        if data is None:
            # Who they are is not known, but that they share is.
            return {"plan.sharding": "parameters", "plan.shard": 0} if copies == 1 else None
        members = exactly(data, copies) or 0
    if not members:
        return None
    among = members * number(facts, "plan.context")
    sharding = "parameters" if among > 1 else "none"
    shard = among if among > 1 and copies > 1 else 0
    found: dict[str, Fact] = {"plan.sharding": sharding, "plan.shard": shard}
    return {**found, "plan.data": copies * members}


def _micro_batches(facts: Facts) -> Fact | None:
    data = replicas_of(facts)
    if data is None:
        return None
    return exactly(number(facts, "workload.global_batch", 0), data * degrees(facts, "micro_batch"))


def _from_micro_batches(facts: Facts, value: Fact) -> Found:
    data = replicas_of(facts)
    if data is None or not isinstance(value, int) or "plan.micro_batch" not in facts:
        return None
    return {"workload.global_batch": value * data * degrees(facts, "micro_batch")}


def _times(*keys: str) -> Callable[[Facts], Fact | None]:
    return lambda facts: prod(number(facts, key) for key in keys)


def _divided(key: str, by: str) -> Callable[[Facts, Fact], Found]:
    """The key of which a value is a multiple by another."""

    def into(facts: Facts, value: Fact) -> Found:
        found = exactly(value, number(facts, by)) if isinstance(value, int) else None
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
        each = exactly(value, number(facts, "cluster.nodes"))
        return {"cluster.node_devices": each} if each else None
    if "cluster.node_devices" in facts and "cluster.nodes" not in facts:
        nodes = exactly(value, number(facts, "cluster.node_devices"))
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
    return exactly(degrees(facts, "data", "context"), shard) if shard else None


def _from_instances(facts: Facts, value: Fact) -> Found:
    data = replicas_of(facts)
    if data is None or not isinstance(value, int):
        return None
    among = exactly(data * degrees(facts, "context"), value)
    return {"plan.shard": 0 if value == 1 else among} if among else None


BLOCK: Final = 64
"""Widths of gated parts that nobody states are whole blocks (source: megatron-lm, arguments.py)."""


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
        mesh = facts.get("plan.sharding") == "parameters" or degrees(facts, "tensor", "context") > 1
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
    among = data * degrees(facts, "context")
    return {"plan.shard": 0 if devices >= among else devices}


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
        of=layers_of_experts,
        into=from_layers_of_experts,
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
            {} if "plan.reshard" in facts else {"plan.reshard": not has_stages(facts)}
        ),
    ),
    Derived(
        key="batch_of_stages",
        needs=(),
        of=stage_batch,
        into=lambda facts, value: {"plan.micro_batch": value} if has_stages(facts) else {},
    ),
    Derived(key="local_batch", needs=(), of=local_batch, into=from_local_batch),
    Derived(
        key="layers_of_chunk",
        needs=("model.layers",),
        of=layers_of_chunk,
        into=from_layers_of_chunk,
    ),
    Derived(
        key="interleaved",
        needs=(),
        of=interleaved,
        into=lambda facts, _: {} if "plan.interleaving" in facts else {"plan.interleaving": 2},
    ),
    *(
        Derived(
            key=f"layers_for_{end}",
            needs=("model.layers",),
            of=layers_for_ends,
            into=from_layers_for_ends,
        )
        for end in ("embedding", "head")
    ),
    Derived(
        key="layers_of_first_stage", needs=("model.layers",), of=layers_of_end(0), into=from_ends
    ),
    Derived(
        key="layers_of_last_stage", needs=("model.layers",), of=layers_of_end(-1), into=from_ends
    ),
    Derived(key="layout", needs=(), of=layout, into=from_layout),
    Derived(
        key="layers_on_host", needs=(), of=layers_on_host, into=lambda facts, _: on_host(facts)
    ),
    Derived(
        key="optimizer_on_host",
        needs=(),
        of=optimizer_on_host,
        into=lambda facts, _: on_host(facts),
    ),
    Derived(key="layers_recomputed_of_chunk", needs=(), of=recomputed, into=from_recomputed),
    Derived(key="samples_of_device", needs=(), of=_per_device, into=_from_per_device),
    Derived(
        key="positions_at_least",
        needs=(),
        of=lambda facts: facts.get("workload.sequence"),
        into=lambda _, __: {},
    ),
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
