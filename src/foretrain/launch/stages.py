"""Stages: what trainers say of the layers and samples of a pipeline, and what follows from it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from foretrain.launch.counts import Found, degrees, exactly, number, replicas_of
from foretrain.trainers.flags import Fact, Facts


def layers_of_chunk(facts: Facts) -> Fact | None:
    """Layers of each chunk, where stages have several."""
    chunks = degrees(facts, "pipeline", "interleaving")
    return (
        exactly(number(facts, "model.layers", 0), chunks)
        if degrees(facts, "interleaving") > 1
        else None
    )


def from_layers_of_chunk(facts: Facts, value: Fact) -> Found:
    """Chunks of each stage."""
    if not isinstance(value, int):
        return None
    found = exactly(number(facts, "model.layers", 0), value * degrees(facts, "pipeline"))
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


def _cut(facts: Facts) -> list[int]:
    """Layers of each chunk, where a plan lists them."""
    said = str(facts.get("plan.cut", ""))
    return [int(each) for each in said.split(">")] if said[:1].isdigit() else []


def _listed(cut: list[int]) -> Found:
    return {"plan.cut": ">".join(map(str, cut))} if cut and min(cut) > 0 else None


def layout(facts: Facts) -> Fact | None:
    """Megatron-LM's layout of stages: E embedding, t layer, L loss, | between stages."""
    cut = _cut(facts)
    stages = [f"t*{layers}" for layers in cut]
    return "|".join(["E" + stages[0], *stages[1:-1], stages[-1] + "L"]) if len(cut) > 1 else None


GROUP: Final = re.compile(r"\(([^()]*)\)\*(\d+)")

LETTERS: Final = re.compile(r"([A-Za-z])(?:\*(\d+))?")

MOST_STAGES: Final = 10_000


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
    found = _listed(cut)
    if chunks is None or found is None:
        return None
    even = len({*cut}) == 1
    return {**({"plan.cut": "even"} if even else found), "plan.interleaving": chunks}


def layers_of_end(place: int) -> Callable[[Facts], Fact | None]:
    """Layers of the first or last stage, where those between are alike."""

    def of(facts: Facts) -> Fact | None:
        cut = _cut(facts)
        alike = len(cut) > 2 and len({*cut[1:-1]}) == 1 and degrees(facts, "interleaving") == 1
        return cut[place] if alike else None

    return of


def from_ends(facts: Facts, value: Fact) -> Found:
    """The cut of a first and a last stage of so many layers, and the rest evenly between."""
    stages, layers = degrees(facts, "pipeline"), number(facts, "model.layers", 0)
    first, last = (facts.get(f"layers_of_{which}_stage") for which in ("first", "last"))
    ends = [each for each in (first, last) if isinstance(each, int)]
    between = stages - len(ends)
    each = exactly(layers - sum(ends), between) if between > 0 else None
    if not each or not layers or degrees(facts, "interleaving") > 1:
        return None
    cut = [each] * between
    return _listed(
        [
            *([first] if isinstance(first, int) else []),
            *cut,
            *([last] if isinstance(last, int) else []),
        ]
    )


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
