"""JSON Schema of the documents that foretrain prints, and of the studies that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from types import GenericAlias
from typing import Any, Final, Literal

from pydantic import ConfigDict, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from foretrain.answers import ANSWERS, loaded
from foretrain.cluster.cluster import Cluster
from foretrain.errors import InputError, nearest
from foretrain.measured.ensemble_study import Halving
from foretrain.show.document import plain
from foretrain.study.cluster import KEY as GROUPS
from foretrain.study.collective_study import SECTION, CollectiveSection
from foretrain.study.ensemble_sections import (
    CheckpointsSection,
    EnsembleSection,
    LogsSection,
    MemberSection,
)
from foretrain.study.keys import NOT_YET
from foretrain.study.offers import NodeList, NodeRange
from foretrain.study.plan import PlanSection
from foretrain.study.queue_study import JobsSection, NodesSection, SimulationSection
from foretrain.study.scale_sections import StartSection
from foretrain.study.scale_study import (
    ProvisionSection,
    ScaleSection,
    ServersSection,
    WorkerSection,
)
from foretrain.study.settings import KEY as SCENARIO
from foretrain.study.study import NEEDED, JobSection, SearchSection
from foretrain.study.trainers import TrainerSection
from foretrain.study.workload import WorkloadSection

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
STUDY: Final = "study"
QUEUE: Final = "queue-study"
SCALE: Final = "scale-study"
COLLECTIVE: Final = "collective-study"
ENSEMBLE: Final = "ensemble-study"
Schema = dict[str, Any]


class _NamedMembers(GenerateJsonSchema):
    """Enumerations stand in documents by name: only their text is JSON, their numbers are ours."""

    def enum_schema(self, schema: Mapping[str, Any]) -> Schema:
        texts = [plain(each) for each in schema["members"]]
        return {"title": schema["cls"].__name__, "enum": texts, "type": "string"}

    def dataclass_schema(self, schema: Any) -> Schema:  # noqa: ANN401 - one of pydantic's own
        """Without what a record does not show of itself; what it says only if set is not needed."""
        known = {each.name: each for each in fields(schema["cls"])}
        inside = schema["schema"]
        kept = [each for each in inside["fields"] if known[each["name"]].repr]
        shown: Any = {**schema, "schema": {**inside, "fields": kept}}
        found = super().dataclass_schema(shown)
        if self.mode != "serialization":
            return found
        needed = [it for it in found.get("required", []) if not known[it].metadata.get("if_set")]
        # A word that Python keeps for itself has an underscore behind it there.
        named = {name.rstrip("_"): it for name, it in found["properties"].items()}
        return {**found, "properties": named, "required": [it.rstrip("_") for it in needed]}

    def encode_default(self, dft: object) -> object:
        return super().encode_default(plain(dft) if isinstance(dft, Enum) else dft)


def schema_of(verb: str) -> Schema:
    """The JSON Schema of a verb's document, or of a study.

    Args:
        verb: one of `ANSWERS`; or study, collective-study, queue-study, which `simulate` reads,
            scale-study or ensemble-study.

    Raises:
        InputError: if no such document exists.
    """
    studies = {
        STUDY: _study,
        COLLECTIVE: _collective,
        QUEUE: _queue,
        SCALE: _scale,
        ENSEMBLE: _ensemble,
    }
    results = {entry.name: entry.result for entry in ANSWERS}
    known = [*results, *studies]
    if verb not in known:
        raise InputError(f"no schema of '{verb}'.{nearest(verb, known)} Known: {', '.join(known)}.")
    body = studies[verb]() if verb in studies else _answer(verb, loaded(results[verb]))
    return {"$schema": DIALECT, "title": f"foretrain {verb}", **body}


def _answer(verb: str, result: object) -> Schema:
    """A verb's result with the keys that every document has."""
    assert isinstance(result, type), f"the result of {verb} is not a class"
    body = _record(result, "serialization")
    texts = {name: {"type": "string"} for name in ("foretrain", "inputs", "coefficients")}
    every = {"schema": {"const": f"foretrain/{verb}/1"}, **texts}
    body["properties"] = every | body["properties"]
    body["required"] = [*every, *body["required"]]
    return body


def _study() -> Schema:
    """The sections of a study."""
    sections = {
        "workload": _record(WorkloadSection, "validation"),
        "cluster": _cluster(),
        "trainer": _record(TrainerSection, "validation"),
        "plan": _record(PlanSection, "validation"),
        "job": _record(JobSection, "validation"),
        "search": _record(SearchSection, "validation"),
    }
    for section, body in sections.items():
        # Keys that are legal with one value alone.
        body["properties"] |= {
            name: {"const": key.neutral}
            for name, key in NOT_YET.get(section, {}).items()
            if key.neutral is not None
        }
    shared = {
        name: body
        for section in sections.values()
        for name, body in section.pop("$defs", {}).items()
    }
    anew = {name: {**body, "required": []} for name, body in sections.items()}
    scenario = {
        "type": "object",
        "properties": {"name": {"type": "string"}, **anew},
        "required": ["name"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {**sections, SCENARIO: {"type": "array", "items": scenario}},
        "required": list(NEEDED),
        "additionalProperties": False,
        "$defs": shared,
    }


def _collective() -> Schema:
    """The sections of a study of one collective."""
    sections = {SECTION: _record(CollectiveSection, "validation"), "cluster": _cluster()}
    shared = {
        name: body for each in sections.values() for name, body in each.pop("$defs", {}).items()
    }
    return {
        "type": "object",
        "properties": sections,
        "required": list(sections),
        "additionalProperties": False,
        "$defs": shared,
    }


def _scale() -> Schema:
    """The sections of a study of throughput against workers."""
    sections = {
        "scale": _record(ScaleSection, "validation"),
        "worker": _record(WorkerSection, "validation"),
        "provision": _record(ProvisionSection, "validation"),
        "servers": _record(ServersSection, "validation"),
        "start": _record(StartSection, "validation"),
        "workload": _record(WorkloadSection, "validation"),
        "cluster": _cluster(),
        "plan": _record(PlanSection, "validation"),
    }
    shared = {
        name: body for each in sections.values() for name, body in each.pop("$defs", {}).items()
    }
    return {
        "type": "object",
        "properties": sections,
        "required": ["scale"],
        "additionalProperties": False,
        "$defs": shared,
    }


def _queue() -> Schema:
    """The sections of a study of a shared cluster."""
    sections = {
        "cluster": _cluster(),
        "fleet": _record(NodesSection, "validation"),
        "jobs": _record(JobsSection, "validation"),
        "simulation": _record(SimulationSection, "validation"),
    }
    kinds = _record(NodesSection, "validation")
    sections["fleet"]["properties"] |= {
        "kinds": {"type": "array", "items": {**kinds, "$defs": {}}},
        "quota": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
    }
    sections["fleet"].pop("required", None)
    shared = {
        name: body for each in sections.values() for name, body in each.pop("$defs", {}).items()
    }
    return {
        "type": "object",
        "properties": sections,
        "required": ["jobs"],
        "additionalProperties": False,
        "$defs": shared,
    }


def _ensemble() -> Schema:
    """The sections of a study of an ensemble."""
    member = _record(MemberSection, "validation")
    inherited = _record(EnsembleSection, "validation")["properties"].keys() & {*member["required"]}
    member["required"] = [key for key in member["required"] if key not in inherited - {"name"}]
    member["properties"]["grid"] = {"type": "object", "description": "lists of values to try"}
    sections = {
        "ensemble": _record(EnsembleSection, "validation"),
        "members": {"type": "array", "items": member, "minItems": 1},
        "halving": _record(Halving, "validation"),
        "checkpoints": _record(CheckpointsSection, "validation"),
        "logs": _record(LogsSection, "validation"),
    }
    shared = member.pop("$defs", {})
    for body in sections.values():
        shared |= body.pop("$defs", {})
    return {
        "type": "object",
        "properties": sections,
        "required": ["ensemble", "members"],
        "additionalProperties": False,
        "$defs": shared,
    }


def _cluster() -> Schema:
    """A cluster, or several that may be rented, each with keys of its own."""
    # A cluster, whose device may be a name, and most of which the catalogue may say.
    body = _record(Cluster, "validation")
    keys, text = body["properties"], {"type": "string"}
    listed = _record(NodeList, "validation")["properties"]["nodes"]
    between = {
        key: value for key, value in _record(NodeRange, "validation").items() if key != "$defs"
    }
    own = {
        "nodes": {"anyOf": [*listed["anyOf"], between]},
        "prices": text,
        "name": {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}]},
        "device": {"anyOf": [text, keys["device"]]},
    }
    offered = {**body, "properties": {**keys, **own}, "required": []}
    shared = offered.pop("$defs")
    tables = {"type": "array", "items": offered, "minItems": 1}
    groups = {**tables, "minItems": 2, "maxItems": 2}
    link = shared["Link"]
    more = {"offers": tables, GROUPS: groups, "link": link}
    return {**offered, "properties": {**offered["properties"], **more}, "$defs": shared}


def _record(kind: type, mode: Literal["validation", "serialization"]) -> Schema:
    """The schema of a dataclass; nested ones are under `$defs`."""
    single: Any = GenericAlias(tuple, (kind,))
    config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)
    whole = TypeAdapter(single, config=config).json_schema(
        mode=mode, schema_generator=_NamedMembers
    )
    shared = whole["$defs"]
    body: Schema = shared.pop(kind.__name__)
    return {**body, "$defs": shared}
