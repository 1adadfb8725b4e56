"""Facts: a study and its plan as values by key, and values by key as the text of a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final

from foretrain.launch.stages import rule_of
from foretrain.plan.plan import SAID, Plan, Schedule, idle
from foretrain.plan.study import Study
from foretrain.trainers.chosen import Chosen, chosen_of
from foretrain.trainers.flags import Fact, Facts
from foretrain.trainers.trainer import Trainer
from foretrain.trainers.vocabulary import OPTIONS
from foretrain.workload.library.entries import known

NOT_TOLD: Final = ("grid", "convolutions", "split", "attention")
"""Fields of plans for pictures, of which no trainer has options, and one that is an option."""


def facts_of(study: Study, plan: Plan, trainer: Trainer) -> Facts:
    """Everything that a study with one plan says, by key.

    Args:
        study: what is learned and where.
        plan: how.
        trainer: with what.
    """
    workload, cluster = study.workload, study.cluster
    found: dict[str, Fact] = {
        f"plan.{name}": value_of(getattr(plan, name)) for name in SAID if name not in NOT_TOLD
    }
    if isinstance(plan.cut, tuple):
        found["plan.cut"] = value_of(rule_of(plan.cut, plan.pipeline))
    found |= dict(_sizes(workload.model.name))
    found["model.layers"] = workload.model.cuttable_layers
    found |= {
        "workload.model": workload.model.name,
        "workload.global_batch": workload.global_batch,
        "workload.precision": workload.precision.value,
        "workload.optimizer": workload.optimizer.value,
        "cluster.nodes": cluster.nodes,
        "cluster.node_devices": cluster.node_devices,
        "cluster.devices": cluster.devices,
    }
    if workload.model.tokens > 1:
        found["workload.sequence"] = workload.model.tokens
    return {**found, **_options(study, plan, trainer)}


def value_of(value: object) -> Fact:
    """What a study calls the value of a key, a list as its items with ">" between them."""
    if isinstance(value, bool | str | int | float) and not isinstance(value, Enum):
        return value
    if isinstance(value, Schedule):
        return value.word
    if isinstance(value, Enum):
        return value.name.lower()
    assert isinstance(value, tuple), f"{value!r} is no value of a plan"
    return ">".join(map(str, value))


def _options(study: Study, plan: Plan, trainer: Trainer) -> Mapping[str, Fact]:
    """Options of the trainer that a study states, and its kernel of attention where a plan asks.

    The kernel that the trainer takes unasked needs no option.
    """
    chosen: Chosen | None = chosen_of(study)
    stated = {} if chosen is None or chosen.name != trainer.name else dict(chosen.options)
    found: dict[str, Fact] = {f"options.{name}": value for name, value in stated.items()}
    option = trainer.option("attention")
    if option is None or "attention" in stated or not option.values:
        return found
    kinds = {each: OPTIONS["attention"].values[each].value[0] for each in option.values}
    if kinds[option.lines[-1].value] is not plan.attention:
        fitting = [each for each, kind in kinds.items() if kind is plan.attention]
        told = [each for each in fitting if ("options.attention", each) in _written(trainer)]
        found |= {"options.attention": (told or fitting)[0]} if fitting else {}
    return found


def _written(trainer: Trainer) -> set[tuple[str, Fact]]:
    """Keys and values for which a trainer has a word."""
    flags = (each for each in trainer.dialect.flags if not each.only_read)
    return {pair for flag in flags for _, sets in flag.words for pair in sets}


def _sizes(name: str) -> Iterator[tuple[str, Fact]]:
    """The sizes of a decoder of the library; nothing of another model."""
    entry = known(name)
    if entry is None or entry.shape_by.partition(".")[0] != "Decoder":
        return
    stated = {"gated": False, "bias": False, "tied": False, "dropout": False, **entry.stated}
    stated.setdefault("layer_norm", stated["bias"])
    stated.setdefault("kv_heads", stated["heads"])
    stated.setdefault("positions", False)
    for key, value in stated.items():
        if isinstance(value, bool | int | str):
            yield f"model.{key}", value
    experts: Any = stated.get("experts")
    if isinstance(experts, Mapping):
        yield "model.experts.count", experts["count"]
        yield "model.experts.chosen", experts["chosen"]
        yield "model.experts.width", experts["each"]["width"]
        if "shared" in experts:
            yield "model.experts.shared", experts["shared"]["width"]


def unheard(plan: Plan, study: Study) -> frozenset[str]:
    """Keys of a plan that change nothing about it, so that nobody has to be told of them."""
    quiet = {*idle(plan, study.workload.model)}
    if "sharding" in quiet:
        quiet |= {"shard", "reshard"}
    return frozenset(f"plan.{name}" for name in quiet)


DECODER: Final = ("layers", "hidden", "heads", "vocabulary")
"""Sizes without which a decoder cannot be built."""


def decoder_of(facts: Facts) -> dict[str, Any]:
    """The sizes of a decoder as a study writes them; empty where they are not all there."""
    sizes: dict[str, Any] = {
        key.removeprefix("model."): value
        for key, value in facts.items()
        if key.startswith("model.") and "." not in key.removeprefix("model.")
    }
    if not all(key in sizes for key in DECODER):
        return {}
    experts = {
        key.removeprefix("model.experts."): value
        for key, value in facts.items()
        if key.startswith("model.experts.")
    }
    gated = bool(sizes.get("gated", False))
    if experts.get("count", 1) != 1 and "chosen" in experts:
        width = experts.get("width", sizes.get("feed_forward"))
        sizes["experts"] = {
            "count": experts["count"],
            "chosen": experts["chosen"],
            "each": {"width": width, "gated": gated},
        }
        if experts.get("shared"):
            sizes["experts"]["shared"] = {"width": experts["shared"], "gated": gated}
    if sizes.get("positions") is False:
        del sizes["positions"]
    return sizes


def library_name(sizes: Mapping[str, Any]) -> str:
    """The model of the library that has these sizes; empty if none has."""
    from foretrain.workload.library.entries import entries

    wanted = _compared(sizes)
    for name, entry in entries().items():
        if entry.shape_by.partition(".")[0] == "Decoder" and _compared(entry.stated) == wanted:
            return name
    return ""


def _compared(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes with what their absence means, so that two ways to write them are equal."""
    from dataclasses import fields

    from foretrain.workload.parts.language_model import Decoder

    usual = {each.name: each.default for each in fields(Decoder)}
    full = {**usual, **stated}
    full["kv_heads"] = full["kv_heads"] or full["heads"]
    full["layer_norm"] = full["bias"] if full["layer_norm"] is None else full["layer_norm"]
    latent = full["key_rank"] is not None
    width = full["head_width"]
    if latent or (width is not None and width * full["heads"] == full["hidden"]):
        full["head_width"] = None
    if latent:
        full["kv_heads"] = None
    if full["experts"] and not full["dense_layers"] and not full["pattern"]:
        full["feed_forward"], full["gated"] = None, False
    if full["experts"]:
        # How a router groups its experts changes nothing that two names are told apart by.
        full["experts"] = {key: it for key, it in full["experts"].items() if key in SIZED}
    return full


SIZED: Final = ("count", "chosen", "each", "shared")
