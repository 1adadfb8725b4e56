"""The text of a study, from values by key: what a file says, each key with where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from foretrain.launch.facts import decoder_of, library_name
from foretrain.launch.option import base
from foretrain.launch.stages import number
from foretrain.plan.plan import SAID
from foretrain.trainers.flags import Fact, Facts
from foretrain.workload.library.entries import known

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
