"""Facts: a study and its plan as values by key, and values by key as the text of a study.

Facts: a study and its plan as values by key, and values by key as the text of a study.

The text of a study, from values by key: what a file says, each key with where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from foretrain.launch.option import base
from foretrain.launch.stages import number, rule_of
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


WORKLOAD: Final = ("global_batch", "sequence", "precision", "optimizer")
LISTS: Final = ("plan.cut", "plan.order")


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A key without which there is no study.

    Attributes:
        key: which.
        needs: what to give.
    """

    key: str
    needs: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyParts:
    """A study as tables, and what it lacks.

    Attributes:
        sections: keys and values.
        missing: what nobody says.
    """

    sections: Mapping[str, Mapping[str, Any]]
    missing: tuple[Missing, ...]

    @property
    def document(self) -> dict[str, Any]:
        """The study as TOML would give it."""
        return {name: dict(keys) for name, keys in self.sections.items() if keys}


def study_parts(facts: Facts, *, trainer: str, cluster: str, nodes: int | None) -> StudyParts:
    """The sections of a study.

    Args:
        facts: by key.
        trainer: name of its entry.
        cluster: name of where it runs; empty where nobody says.
        nodes: of that; None where nobody says.
    """
    missing = []
    model = facts.get("workload.model")
    sizes = decoder_of(facts)
    named = library_name(sizes) if sizes and model is None else ""
    workload: dict[str, Any] = {"model": model or named or ({"decoder": sizes} if sizes else None)}
    workload |= {key: facts[f"workload.{key}"] for key in WORKLOAD if f"workload.{key}" in facts}
    if workload["model"] is None:
        del workload["model"]
        lacking = [
            key
            for key in ("layers", "hidden", "heads", "vocabulary")
            if f"model.{key}" not in facts
        ]
        partly = len(lacking) < 4
        needs = f"the size {', '.join(lacking)}" if partly else "the name of a model, or its sizes"
        missing.append(Missing(key="workload.model", needs=needs))
    if "global_batch" not in workload:
        missing.append(Missing(key="workload.global_batch", needs="samples of a step"))
    if not cluster:
        missing.append(Missing(key="cluster.name", needs="a cluster of the catalogue"))
    if nodes is None:
        missing.append(Missing(key="cluster.nodes", needs="how many nodes take part"))
    options = {
        key.removeprefix("options."): str(value)
        for key, value in facts.items()
        if key.startswith("options.")
    }
    where = {"name": cluster} if cluster else {}
    sections = {
        "workload": workload,
        "cluster": {**where, **({} if nodes is None else {"nodes": nodes})},
        "trainer": {"name": trainer, **({"options": options} if options else {})},
        "plan": _plan(facts if has_experts(facts, named or str(model)) else _dense(facts)),
    }
    return StudyParts(sections=sections, missing=tuple(missing))


def has_experts(facts: Facts, model: str) -> bool:
    """Whether what is trained has experts, as far as its sizes or the library tell."""
    entry = known(model)
    by_name = entry is not None and "experts" in entry.stated
    return by_name or number(facts, "model.experts.count") > 1


def _dense(facts: Facts) -> Facts:
    """Facts without degrees of an axis of experts that say nothing."""
    quiet = ("plan.expert_tensor", *(("plan.expert",) if facts.get("plan.expert") == 1 else ()))
    return {key: value for key, value in facts.items() if key not in quiet}


def _plan(facts: Facts) -> dict[str, Any]:
    quiet = {
        name
        for axis, names in WITHOUT.items()
        if number(facts, f"plan.{axis}") == 1
        for name in names
    }
    sharding = facts.get("plan.sharding")
    quiet |= {"reshard"} if sharding != "parameters" else set()
    quiet |= {"shard"} if sharding == "none" else set()
    return {
        name: _listed(f"plan.{name}", facts[f"plan.{name}"])
        for name in SAID
        if f"plan.{name}" in facts and name not in quiet
    }


WITHOUT: Final[Mapping[str, tuple[str, ...]]] = {
    "tensor": ("sequence_parallel",),
    "context": ("exchange",),
    "pipeline": ("interleaving", "schedule", "cut"),
}
"""Fields of a plan that say nothing where an axis has one member."""


def _listed(key: str, value: Fact) -> Any:  # noqa: ANN401 - a value of any kind
    if key in LISTS and isinstance(value, str) and ">" in value:
        return [int(each) if each.isdigit() else each for each in value.split(">")]
    return value


def toml_of(parts: StudyParts, places: Mapping[str, str], head: Sequence[str] = ()) -> str:
    """The text of a study; each key with where it was found.

    Args:
        parts: its sections.
        places: where each key was found.
        head: lines of comment above it.
    """
    lines = [f"# {each}" for each in head]
    for name, keys in parts.sections.items():
        if not keys and not any(it.key.startswith(f"{name}.") for it in parts.missing):
            continue
        lines += ["", f"[{name}]"]
        lines += [f"# {it.key.partition('.')[2]}: the files do not say {it.needs}"
                  for it in parts.missing if it.key.startswith(f"{name}.")]  # fmt: skip
        for key, value in keys.items():
            place = base(places.get(f"{name}.{key}", ""))
            lines.append(f"{key} = {written(value)}{f'  # {_tame(place)}' if place else ''}")
    return "\n".join(lines).strip("\n") + "\n"


def _tame(text: str) -> str:
    return "".join(each if each.isprintable() else "?" for each in text)


def written(value: object) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key} = {written(it)}" for key, it in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    return '"' + "".join(_escaped(str(value))) + '"'


def _escaped(text: str) -> Iterator[str]:
    for each in text:
        if each in '"\\':
            yield f"\\{each}"
        elif each.isprintable():
            yield each
        else:
            yield f"\\U{ord(each):08x}"
