"""Tools: the verbs as agents call them, with the documents and the messages of the command line.

A study is named by its file, or comes with the call: its sections, or a model and where it runs.
Nothing else is read. Studies may name code ("package.module:build"); for an agent none is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from foretrain.answers import entry_of
from foretrain.app.question import Spoken, asked_study
from foretrain.app.schema import STUDY, schema_of
from foretrain.errors import InputError, nearest
from foretrain.plan.study import Study
from foretrain.show.document import Provenance, document, of_question, provenance
from foretrain.study.coefficients import SHIPPED
from foretrain.study.documents import read_toml
from foretrain.study.problems import Problems
from foretrain.study.settings import with_settings
from foretrain.study.spoken import with_plan
from foretrain.study.study import study_from

Arguments = Mapping[str, Any]
Json = dict[str, Any]

TEXT: Final[Json] = {"type": "string"}
COUNT: Final[Json] = {"type": "integer", "minimum": 1}
TEXTS: Final[Json] = {"type": "array", "items": TEXT}
TYPES: Final[Mapping[str, tuple[type, str]]] = {
    "string": (str, "a text"),
    "integer": (int, "a whole number of at least 1"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list of texts"),
    "object": (dict, "a table of keys and values"),
}

FILE: Final[Json] = {"file": {**TEXT, "description": "A study in TOML, by its path."}}

QUESTION: Final[Json] = {
    **FILE,
    "study": {
        "type": "object",
        "description": "In place of a file its sections: workload, cluster, plan, search ... "
        f"`schema` with name '{STUDY}' tells all keys; numbers have units, such as '400 Gb/s'.",
    },
    "model": {**TEXT, "description": "In place of both: a model of the catalogue."},
    "on": {**TEXT, "description": "Where: '4xdgx-h100' (nodes), '8x RTX3090' (devices)."},
    "batch": {**COUNT, "description": "Samples of a step."},
    "sequence": {**COUNT, "description": "Tokens of a sample."},
    "image": {**COUNT, "description": "Pixels per side of a sample."},
    "settings": {**TEXTS, "description": "Keys of the study that are set: 'plan.tensor=4'."},
}

WHY_NOT: Final[Json] = {
    "why_not": {**TEXTS, "description": "Plans of which to say why not: 'tp8', 'recompute=full'."}
}

WHERE: Final = "study"
"""What messages call a study that came with a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replied:
    """What a tool answers.

    Attributes:
        question: what was asked.
        answer: the result of the verb.
        source: what it was computed from.
    """

    question: object
    answer: object
    source: Provenance

    @property
    def document(self) -> Json:
        """The same document that `--json` prints."""
        return document(entry_of(self.answer).name, self.answer, self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A verb that an agent may call.

    Attributes:
        name: the verb's.
        text: what it answers.
        takes: its arguments, each with a JSON Schema.
        needs: those without which it is not asked.
        call: asks it.
    """

    name: str
    text: str
    takes: Json
    call: Callable[[Arguments], Replied | Json]
    needs: tuple[str, ...] = ()

    def __call__(self, arguments: Arguments) -> Replied | Json:
        """What it answers.

        Raises:
            ForetrainError: an argument is unknown or none, or the verb refuses the question.
        """
        wrong = [*self._wrong(arguments)]
        if wrong:
            raise InputError("\n".join(wrong))
        return self.call(arguments)

    @property
    def described(self) -> Json:
        """Its entry in the list of tools."""
        takes = {
            "type": "object",
            "properties": self.takes,
            "required": list(self.needs),
            "additionalProperties": False,
        }
        gives = {} if self.name == "schema" else {"outputSchema": schema_of(self.name)}
        read_only = {"readOnlyHint": True, "openWorldHint": False}
        return {
            "name": self.name,
            "description": self.text,
            "inputSchema": takes,
            **gives,
            "annotations": read_only,
        }

    def _wrong(self, arguments: Arguments) -> Iterator[str]:
        """What is wrong with the arguments themselves."""
        for name, value in arguments.items():
            if name not in self.takes:
                known = [*self.takes]
                told = nearest(name, known)
                yield f"{self.name}: unknown argument '{name}'.{told} Known: {', '.join(known)}."
                continue
            kind, words = TYPES[self.takes[name]["type"]]
            least = self.takes[name].get("minimum")
            texts = kind is not list or all(isinstance(each, str) for each in value)
            whole = kind is bool or not isinstance(value, bool)
            if not (isinstance(value, kind) and texts and whole) or (least and value < least):
                yield f"{self.name}: {name} is {value!r}; {words} is wanted."
        for name in self.needs:
            if name not in arguments:
                yield f"{self.name}: {name} is missing."


def _sections(arguments: Arguments) -> Json | None:
    """The sections of the study of a call; None where a line says what is asked.

    Raises:
        InputError: the call names no study, more than one, or code.
    """
    given = [name for name in ("file", "study", "model") if name in arguments]
    if len(given) != 1:
        told = f"both {' and '.join(given)} are given" if given else "none is given"
        raise InputError(f"one of file, study and model says what is asked; {told}.")
    if "on" in arguments and "model" not in arguments:
        raise InputError("on: stands beside a model; a study says where in [cluster].")
    if "model" in arguments:
        _no_code({"workload": {"model": arguments["model"]}})
        return None
    found = arguments.get("study")
    if found is None:
        path = Path(arguments["file"])
        found = read_toml(path, Problems(str(path)))
    whole = with_settings(found, arguments.get("settings", ()))
    _no_code(whole)
    return whole


CODE: Final = (("workload", "model"), ("simulation", "policies"), ("cluster", "collectives"))
"""Keys of a study that may name code."""


def _no_code(sections: Json) -> None:
    """Refuse a study that names code.

    Raises:
        InputError: it does.
    """
    for section, key in CODE:
        inside = sections.get(section)
        value = inside.get(key) if isinstance(inside, Mapping) else None
        several = [*value.values()] if isinstance(value, Mapping) else value
        listed = several if isinstance(several, list | tuple) else [several]
        named = [each for each in listed if isinstance(each, str) and ":" in each]
        if named:
            raise InputError(
                f"{section}.{key}: {named[0]!r} names code, which is not run for an agent. "
                "Ask on the command line, or name an entry of the catalogue."
            )


def _said(arguments: Arguments) -> Spoken:
    """What a call says beside its study."""
    names = ("on", "batch", "sequence", "image", "settings")
    return Spoken(**{name: arguments[name] for name in names if name in arguments})


def _study(arguments: Arguments) -> Study:
    """The study of a call."""
    sections = _sections(arguments)
    if sections is None:
        return asked_study(Path(arguments["model"]), _said(arguments))
    if "study" in arguments:
        return study_from(sections, WHERE)
    return asked_study(Path(arguments["file"]), _said(arguments))


def _estimate(arguments: Arguments) -> Replied:
    from foretrain.step.estimate import estimate

    sections = _sections(arguments)
    if sections is not None and "collective" in sections:
        raise InputError("collective: a transfer is asked with `foretrain estimate` alone.")
    asked = _study(arguments)
    return _replied(asked, estimate(asked))


def _search(arguments: Arguments) -> Replied:
    from foretrain.search.search import search

    asked = _study(arguments)
    if asked.maximise is not None or asked.mixed is not None:
        key = "search.maximise" if asked.maximise is not None else "cluster.groups"
        raise InputError(f"{key}: is asked with `foretrain search` on the command line.")
    answer = search(
        asked,
        keep=arguments.get("keep", 10),
        why_not=arguments.get("why_not", ()),
        robust=arguments.get("robust", False),
    )
    return _replied(asked, answer)


def _explain(arguments: Arguments) -> Replied:
    from foretrain.search.explain.explain import explain

    asked = _study(arguments)
    return _replied(asked, explain(asked, why_not=arguments.get("why_not", ())))


def _compare(arguments: Arguments) -> Replied:
    from foretrain.search.explain.compare import compare

    first = _study({name: it for name, it in arguments.items() if name not in OTHER})
    given = [name for name in OTHER if name in arguments]
    if len(given) != 1:
        raise InputError(f"one of {', '.join(OTHER)} says with what; {len(given)} are given.")
    if "plan" in arguments:
        second = with_plan(first, arguments["plan"], where="compare")
    else:
        second = _study({name.removeprefix("other_"): arguments[name] for name in given})
    answer = compare(first, second)
    return Replied(question=(first, second), answer=answer, source=provenance(first, second))


OTHER: Final[Json] = {
    "other_file": {**TEXT, "description": "The other study, by its path."},
    "other_study": {"type": "object", "description": "The other study, by its sections."},
    "plan": {**TEXT, "description": "Or another plan for the first one: 'tp8'."},
}


def _scale(arguments: Arguments) -> Replied:
    from foretrain.queueing.scale import scale
    from foretrain.study.scale_study import read_scale_study

    _sections(arguments)
    asked = read_scale_study(Path(arguments["file"]))
    return Replied(question=asked, answer=scale(asked), source=provenance(asked))


def _simulate(arguments: Arguments) -> Replied:
    from foretrain.jobs.simulate import simulate
    from foretrain.study.queue_study import read_queue_study

    _sections(arguments)
    asked = read_queue_study(Path(arguments["file"]))
    answer = simulate(asked, why=arguments.get("why", ()))
    return Replied(question=asked, answer=answer, source=provenance(asked))


def _validate(arguments: Arguments) -> Replied:
    from foretrain.evidence.validate import validate
    from foretrain.study.measurements import read_measurements

    runs = [run for each in arguments["files"] for run in read_measurements(Path(each))]
    return Replied(question=runs, answer=validate(runs), source=provenance(runs))


def _catalogue(arguments: Arguments) -> Replied:
    from foretrain.app.catalogue import catalogue

    name = arguments.get("name")
    return Replied(question=name, answer=catalogue(name), source=provenance(name))


def _schema(arguments: Arguments) -> Json:
    return schema_of(arguments["name"])


def _replied(asked: Study, answer: object) -> Replied:
    source = of_question(asked, coefficients=SHIPPED.coefficients)
    return Replied(question=asked, answer=answer, source=source)


TOOLS: Final = (
    Tool(
        name="estimate",
        text="How long is a training step of one plan, what memory, money and energy, how sure.",
        takes=QUESTION,
        call=_estimate,
    ),
    Tool(
        name="search",
        text="Which plan is best: the few worth running, why others lose, trade-offs.",
        takes={
            **QUESTION,
            **WHY_NOT,
            "keep": {**COUNT, "description": "How many of the best plans to rank; 10 without it."},
            "robust": {"type": "boolean", "description": "Which choice stands if figures err."},
        },
        call=_search,
    ),
    Tool(
        name="explain",
        text="What limits a plan, what would help and by how much, and what stands behind it.",
        takes={**QUESTION, **WHY_NOT},
        call=_explain,
    ),
    Tool(
        name="compare",
        text="What differs between two studies or plans, and what each difference costs.",
        takes={**QUESTION, **OTHER},
        call=_compare,
    ),
    Tool(
        name="scale",
        text="Throughput against workers: where the knee is and what makes it.",
        takes=FILE,
        call=_scale,
        needs=("file",),
    ),
    Tool(
        name="simulate",
        text="Jobs that share a cluster: response times under scheduling policies.",
        takes={**FILE, "why": {**TEXTS, "description": "Jobs of which to say why they wait."}},
        call=_simulate,
        needs=("file",),
    ),
    Tool(
        name="validate",
        text="Predictions against measured runs, row by row.",
        takes={"files": {**TEXTS, "description": "Tables of measured runs in CSV, by path."}},
        call=_validate,
        needs=("files",),
    ),
    Tool(
        name="catalogue",
        text="The devices, clusters, trainers and models that studies may name, with sources.",
        takes={"name": {**TEXT, "description": "One entry, or devices, clusters, models ..."}},
        call=_catalogue,
    ),
    Tool(
        name="schema",
        text=f"The JSON Schema of a verb's document, or of a study ('{STUDY}').",
        takes={"name": {**TEXT, "description": f"A verb, or '{STUDY}'."}},
        call=_schema,
        needs=("name",),
    ),
)
"""Every tool. A run that trains, measures or writes is none."""
