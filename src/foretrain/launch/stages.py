"""Stages: what trainers say of the layers and samples of a pipeline, and what follows from it.

Counts: what a plan and devices are together, as far as facts say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from math import prod
from typing import Final

from foretrain.plan.plan import AS_MADE, Cut, cut_into, lists_chunks
from foretrain.trainers.flags import Fact, Facts

Found = Mapping[str, Fact] | None
"""Keys that follow; None where they cannot."""


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


def exactly(whole: int, part: int) -> int | None:
    """A whole divided into so many parts; None where it cannot be."""
    return whole // part if part > 0 and whole % part == 0 else None


def degrees(facts: Facts, *names: str) -> int:
    """The product of some counts of a plan."""
    return prod(number(facts, f"plan.{name}") for name in names)


def replicas_of(facts: Facts) -> int | None:
    """Degree of the data axis: as it is given, or what the other axes leave of the devices."""
    if "plan.data" in facts:
        return number(facts, "plan.data")
    devices = devices_of(facts)
    return (
        None
        if devices is None
        else exactly(devices, degrees(facts, "tensor", "context", "pipeline"))
    )


def layers_of_chunk(facts: Facts) -> Fact | None:
    """Layers of each chunk, where stages have several; ends that are counted are among them."""
    chunks = degrees(facts, "pipeline", "interleaving")
    if degrees(facts, "interleaving") == 1 or facts.get("plan.cut", "even") not in RULES:
        return None
    ends = 2 if facts.get("plan.cut") == "counted" else 0
    return exactly(number(facts, "model.layers", 0) + ends, chunks)


def from_layers_of_chunk(facts: Facts, value: Fact) -> Found:
    """Chunks of each stage."""
    if not isinstance(value, int):
        return None
    layers = number(facts, "model.layers", 0) + sum(_counted(facts))
    found = exactly(layers, value * degrees(facts, "pipeline"))
    return {"plan.interleaving": found} if found else None


def recomputed(facts: Facts) -> Fact | None:
    """Layers of each chunk that are recomputed, where a plan counts them."""
    layers = number(facts, "plan.recompute_layers", 0)
    return exactly(layers, degrees(facts, "pipeline", "interleaving")) if layers else None


def from_recomputed(facts: Facts, value: Fact) -> Found:
    """Layers that are recomputed, where they are the first of each chunk."""
    if facts.get("recompute_method") != "block" or not isinstance(value, int):
        return {}
    layers = value * degrees(facts, "pipeline", "interleaving")
    every = number(facts, "model.layers", 0)
    return {"plan.recompute_layers": 0 if every and layers >= every else layers}


RULES: Final = ("even", "counted")
"""Cuts whose chunks all have the same, an embedding and a head counted or not."""


def _cut(facts: Facts) -> tuple[int, ...]:
    """Layers of each chunk, where they are uneven."""
    said = str(facts.get("plan.cut", ""))
    if said[:1].isdigit():
        return tuple(int(each) for each in said.split(">"))
    layers, pipeline = number(facts, "model.layers", 0), degrees(facts, "pipeline")
    rule = next((each for each in AS_MADE if each == said and each != "even"), None)
    if not isinstance(rule, str) or not layers:
        return ()
    chunks = degrees(facts, "pipeline", "interleaving")
    return cut_into(rule, layers, pipeline=pipeline, chunks=chunks) or ()


def rule_of(sizes: tuple[int, ...], pipeline: int) -> Cut:
    """The rule that makes just these chunks of so many stages; the chunks where none does."""
    layers, chunks = sum(sizes), len(sizes)
    made = (each for each in AS_MADE if isinstance(each, str))
    rule = (
        each for each in made if cut_into(each, layers, pipeline=pipeline, chunks=chunks) == sizes
    )
    return next(rule, sizes)


def _listed(cut: Sequence[int], facts: Facts) -> Found:
    """The cut of some chunks, by the name of the rule that makes it if one does."""
    sizes = tuple(cut)
    if not lists_chunks(sizes):
        return None
    rule = rule_of(sizes, degrees(facts, "pipeline"))
    return {"plan.cut": rule if isinstance(rule, str) else ">".join(map(str, rule))}


def _counted(facts: Facts) -> tuple[int, int]:
    """Layers as which an embedding and a head are counted."""
    first, last = (facts.get(f"layers_for_{which}", 0) for which in ("embedding", "head"))
    return int(first or 0), int(last or 0)


def layers_for_ends(facts: Facts) -> Fact | None:
    """As how many layers an embedding, and a head, are counted: as one where chunks are then alike.

    Trainers that do not count them are told the layers of their stages.
    """
    cut = facts.get("plan.cut")
    if not has_stages(facts) or cut not in RULES:
        return None
    chunks = degrees(facts, "pipeline", "interleaving")
    ends = 2 if cut == "counted" else 0
    alike = exactly(number(facts, "model.layers", 0) + ends, chunks)
    return None if alike is None else ends // 2


MOST_STAGES: Final = 10_000
"""Chunks that are listed one by one."""


def from_layers_for_ends(facts: Facts, _: Fact) -> Found:
    """The cut where an embedding and a head are counted: first chunks have what is left over.

    Source: megatron-core 0.12, get_num_layers_to_build, which refuses what is left over;
    torchtitan 0.2, generate_llm_fqn_per_model_part.
    """
    if not has_stages(facts):
        return {}
    layers, chunks = number(facts, "model.layers", 0), degrees(facts, "pipeline", "interleaving")
    first, last = _counted(facts)
    if chunks > MOST_STAGES:
        return None
    each, over = divmod(layers + first + last, chunks)
    sizes = [each + (place < over) for place in range(chunks)]
    sizes[0] -= first
    sizes[-1] -= last
    return _listed(sizes, facts) if layers else None


def layout(facts: Facts) -> Fact | None:
    """Megatron-LM's layout of stages: E embedding, t layer, L loss, | between stages.

    It stands alone: Megatron-LM takes nothing else beside it that says how layers are cut.
    """
    cut = _cut(facts)
    told = ("layers_for_embedding", "layers_of_first_stage", "layers_of_last_stage")
    if len(cut) < 2 or any(facts.get(key) is not None for key in told):
        return None
    first, *between, last = (LAYERS.get(layers, f"t*{layers}") for layers in cut)
    runs = [(stage, len(list(run))) for stage, run in groupby(between)]
    middle = [f"({stage}|)*{many}" if many > 1 else f"{stage}|" for stage, many in runs]
    return "".join([f"E{first}|", *middle, f"{last}L"])


LAYERS: Final = {0: "", 1: "t"}
"""Few layers in a layout."""


GROUP: Final = re.compile(r"\(([^()]*)\)\*(\d+)")

LETTERS: Final = re.compile(r"([A-Za-z])(?:\*(\d+))?")


def from_layout(facts: Facts, value: Fact) -> Found:
    """The cut of a layout, and its chunks per stage."""
    text = str(value).replace(" ", "").replace(",", "").strip("'\"")
    while match := GROUP.search(text):
        if len(match[1]) * int(match[2]) > MOST_STAGES:
            return None
        text = text.replace(match[0], match[1] * int(match[2]), 1)
    cut = [
        sum(int(many or 1) for letter, many in LETTERS.findall(stage) if letter == "t")
        for stage in text.split("|")
    ]
    chunks = exactly(len(cut), degrees(facts, "pipeline"))
    found = _listed(cut, facts)
    if chunks is None or found is None:
        return None
    return {**found, "plan.interleaving": chunks}


def layers_of_end(place: int) -> Callable[[Facts], Fact | None]:
    """Layers of the first or last stage, where those between are alike and it is not like them."""

    def of(facts: Facts) -> Fact | None:
        cut = _cut(facts)
        if len(cut) < 2 or degrees(facts, "interleaving") > 1:
            return None
        between = {*cut[1:-1]} or {cut[0]}
        told = facts.get("layers_for_embedding") is not None
        return None if told or len(between) > 1 or cut[place] in between else cut[place]

    return of


def from_ends(facts: Facts, value: Fact) -> Found:
    """The cut of a first and a last stage of so many layers, and the rest evenly between."""
    stages, layers = degrees(facts, "pipeline"), number(facts, "model.layers", 0)
    first, last = (facts.get(f"layers_of_{which}_stage") for which in ("first", "last"))
    start = [first] if isinstance(first, int) else []
    end = [last] if isinstance(last, int) else []
    between, left = stages - len(start + end), layers - sum(start + end)
    each = exactly(left, between)
    if not layers or degrees(facts, "interleaving") > 1 or (between and not each):
        return None
    if between > MOST_STAGES or (not between and left):
        return None
    return _listed([*start, *[each or 0] * between, *end], facts)


def on_host(facts: Facts) -> Found:
    """What waits on the host, where options tell it part by part."""
    layers = number(facts, "layers_on_host", 0)
    optimizer = facts.get("optimizer_on_host") is True
    if layers:
        both = "both" if optimizer else "activations"
        return {"plan.offload": both, "plan.offload_layers": layers}
    return {"plan.offload": "optimizer"} if optimizer else {}


def layers_on_host(facts: Facts) -> Fact | None:
    """Layers whose activations wait on the host, where a plan counts them.

    Source: megatron-core 0.5, cpu_offloading_num_layers: fewer than all, in one stage, and nothing
    is recomputed beside it.
    """
    some, every = number(facts, "plan.offload_layers", 0), number(facts, "model.layers", 0)
    waits = facts.get("plan.offload") in ("activations", "both")
    refused = has_stages(facts) or facts.get("plan.recompute", "none") != "none"
    return some if waits and not refused and 0 < some < every else None


def optimizer_on_host(facts: Facts) -> Fact | None:
    """Whether the optimizer's state waits on the host; None where it does not."""
    return True if facts.get("plan.offload") in ("optimizer", "both") else None


def has_stages(facts: Facts) -> bool:
    """Whether there are several stages."""
    return degrees(facts, "pipeline") > 1


def local_batch(facts: Facts) -> Fact | None:
    """Samples of a replica in a pass; with stages those of all micro-batches."""
    if not has_stages(facts):
        return facts.get("plan.micro_batch")
    return exactly(number(facts, "workload.global_batch", 0), degrees(facts, "data"))


def from_local_batch(facts: Facts, value: Fact) -> Found:
    """The micro-batch, and the samples of a step where nobody says them."""
    data = replicas_of(facts)
    if not isinstance(value, int):
        return None
    found: dict[str, Fact] = {} if has_stages(facts) else {"plan.micro_batch": value}
    if "workload.global_batch" in facts:
        return found
    return None if data is None else {**found, "workload.global_batch": value * data}


def stage_batch(facts: Facts) -> Fact | None:
    """The micro-batch, where there are stages."""
    return facts.get("plan.micro_batch") if has_stages(facts) else None


def interleaved(facts: Facts) -> Fact | None:
    """Whether stages have several chunks; None where they have not."""
    return True if degrees(facts, "interleaving") > 1 else None


EXPERTS: Final = re.compile(r"\(?\[0\]\*(\d{1,4})\+\[1\]\*(\d{1,4})\)?")


def layers_of_experts(facts: Facts) -> Fact | None:
    """Megatron-LM's pattern of layers: 0 for dense ones, 1 for those of experts."""
    dense, layers = number(facts, "model.dense_layers", 0), number(facts, "model.layers", 0)
    return f"([0]*{dense}+[1]*{layers - dense})" if dense else None


def from_layers_of_experts(facts: Facts, value: Fact) -> Found:
    """The first layers, without experts."""
    if value == 1:
        return {}
    match = EXPERTS.fullmatch(str(value).replace(" ", "").strip("'\""))
    return {"model.dense_layers": int(match[1])} if match else None
