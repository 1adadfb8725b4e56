"""Recognise: what some files say together, and which trainer they are written for.

Files that are tables (JSON, TOML, YAML): their leaves as options, each with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from foretrain.errors import InputError, nearest
from foretrain.launch.lines import DEVICES, NODE_DEVICES, NODES, launched, written_in
from foretrain.launch.option import FilePlace, Launched, Option, Tongues
from foretrain.study.launch_files import PARSERS, LaunchFile, launch_file
from foretrain.trainers.flags import Fact, fact
from foretrain.trainers.trainer import Trainer

Path = tuple[str, ...]

REFERENCE: Final = re.compile(r"\$\{(\.?[\w.]+)\}")
PRODUCT: Final = re.compile(r"\$\{multiply:\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\}")
"""OmegaConf's references, from the top or (with a dot) beside; a resolver of NeMo's files."""
MOST_REFERENCES: Final = 8


def table_options(document: Mapping[str, Any], text: str, file: str) -> tuple[Option, ...]:
    """The leaves of a document.

    Args:
        document: keys and values.
        text: of the file, in which lines are looked up.
        file: its name.
    """
    found = list(_leaves(document, ()))
    values = {".".join(path): value for path, value in found}
    lines = _lines_of(text, [path for path, _ in found])
    return tuple(
        _resolved(".".join(path), value, values, place=FilePlace(file=file, line=line))
        for (path, value), line in zip(found, lines, strict=True)
    )


def _leaves(value: object, path: Path) -> Iterator[tuple[Path, Fact]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, (*path, *str(key).split(".")))
    elif isinstance(value, list):
        if any(isinstance(item, Mapping | list) for item in value):
            for place, item in enumerate(value):
                yield from _leaves(item, (*path, str(place)))
        else:
            yield path, " ".join(_plain(item) for item in value)
    elif value is not None:
        yield path, fact(value)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _resolved(name: str, value: Fact, values: Mapping[str, Fact], *, place: FilePlace) -> Option:
    """An option whose references to other keys are followed."""
    unset: list[str] = []
    above = name.rpartition(".")[0]
    for _ in range(MOST_REFERENCES):
        if not (isinstance(value, str) and "${" in value):
            break
        if product := PRODUCT.search(value):
            made = str(int(product[1]) * int(product[2]))
            value = fact(value.replace(product[0], made))
            continue
        match = REFERENCE.search(value)
        named = "" if match is None else match[1]
        target = values.get(f"{above}{named}" if named.startswith(".") else named)
        if match is None or target is None:
            unset.append(value)
            break
        value = fact(value.replace(match[0], str(target)))
    return Option(name=name, value=value, place=place, unset=tuple(unset))


def _lines_of(text: str, paths: Sequence[Path]) -> list[int]:
    """The line of each path: its last key is looked for after the line of the path before it.

    Keys stand in a file in the order in which a reader gives them; 0 where a key is not found.
    """
    lines = text.splitlines()
    found, at = [], 0
    for path in paths:
        key = next((part for part in reversed(path) if not part.isdigit()), "")
        pattern = re.compile(rf"(?<![\w-])[\"']?{re.escape(key)}[\"']?\s*[:=]")
        place = next(
            (n for n in range(at, len(lines)) if pattern.search(lines[n].split(" #")[0])), None
        )
        if place is None:
            place = next((n for n in range(at) if pattern.search(lines[n])), None)
        else:
            at = place
        found.append(0 if place is None else place + 1)
    return found


def job_of(document: Mapping[str, Any], text: str, file: str) -> Launched | None:
    """What a description of a job says, a TrainJob or a task of SkyPilot; None of anything else."""
    if document.get("kind") == "TrainJob":
        return _train_job(document, text, file)
    if isinstance(document.get("run"), str) and (
        "resources" in document or "num_nodes" in document
    ):
        return _task(document, text, file)
    return None


def _train_job(document: Mapping[str, Any], text: str, file: str) -> Launched:
    """Source: kubeflow/trainer, api v1alpha1: spec.trainer and its command, args and counts."""
    spec = document.get("spec", {})
    trainer = spec.get("trainer", {}) if isinstance(spec, Mapping) else {}
    words = [*_listed(trainer.get("command")), *_listed(trainer.get("args"))]
    if words[:2] in (["bash", "-c"], ["sh", "-c"], ["/bin/bash", "-c"]):
        line = "\n".join(words[2:])
    else:
        line = " ".join("'" + each.replace("'", "'\\''") + "'" for each in words)
    places = {each.name: each.place for each in table_options(document, text, file)}
    around = [
        Option(
            name=key,
            value=fact(trainer[name]),
            place=places.get(f"spec.trainer.{name}", FilePlace(file=file)),
        )
        for name, key in (("numNodes", NODES), ("numProcPerNode", NODE_DEVICES))
        if name in trainer
    ]
    counts = {
        "PET_NNODES": trainer.get("numNodes"),
        "PET_NPROC_PER_NODE": trainer.get("numProcPerNode"),
    }
    known = {name: str(value) for name, value in counts.items() if value is not None}
    above = places.get(
        "spec.trainer.args.0", places.get("spec.trainer.args", FilePlace(file=file))
    ).line
    return _joined("\n" * above + line, file, around=around, known=known)


def _task(document: Mapping[str, Any], text: str, file: str) -> Launched:
    """Source: skypilot-org/skypilot, the YAML of a task: num_nodes, resources.accelerators, run."""
    places = {each.name: each.place for each in table_options(document, text, file)}
    resources = document.get("resources")
    kinds = resources.get("accelerators") if isinstance(resources, Mapping) else None
    per_node = str(kinds).rpartition(":")[2] if isinstance(kinds, str) else ""
    nodes = document.get("num_nodes", 1)
    around = [
        Option(name=NODES, value=fact(nodes), place=places.get("num_nodes", FilePlace(file=file)))
    ]
    known = {"SKYPILOT_NUM_NODES": str(nodes)}
    if per_node.isdecimal():
        where = places.get("resources.accelerators", FilePlace(file=file))
        around.append(Option(name=NODE_DEVICES, value=int(per_node), place=where))
        known["SKYPILOT_NUM_GPUS_PER_NODE"] = per_node
    above = places.get("run", FilePlace(file=file)).line
    return _joined("\n" * above + str(document["run"]), file, around=around, known=known)


def _joined(
    line: str, file: str, *, around: Sequence[Option], known: Mapping[str, str]
) -> Launched:
    """What the command of a job says, and what the job says beside it."""
    found = launched(line, file, values=known)
    said = {each.name for each in found.around if not each.unset}
    kept = tuple(each for each in found.around if not each.unset)
    beside = tuple(
        each
        for each in around
        if each.name not in said and not (each.name != NODES and DEVICES in said)
    )
    return Launched(
        options=found.options,
        around=(*kept, *beside),
        programs=found.programs,
        asked=found.asked,
    )


def _listed(value: object) -> list[str]:
    return (
        [str(each) for each in value] if isinstance(value, list) else [str(value)] if value else []
    )


def together(files: Sequence[LaunchFile], trainers: Sequence[Trainer]) -> Launched:
    """What files say: tables first, for what a command line says counts more.

    Raises:
        InputError: a script cannot be read.
    """
    programs = "|".join(f"(?:{it.dialect.programs})" for it in trainers if it.dialect.programs)
    scripts: list[Launched] = []
    tables: list[Launched] = []
    for file in files:
        if file.document is None:
            scripts.append(launched(file.text, file.name, preferred=programs))
            tables += [_table(each) for each in _written(file)]
        else:
            job = job_of(file.document, file.text, file.name)
            (tables if job is None else scripts).append(_table(file) if job is None else job)
    found = [*tables, *scripts]
    return Launched(
        options=tuple(each for it in found for each in it.options),
        around=tuple(each for it in found for each in it.around),
        programs=tuple(each for it in found for each in it.programs),
        marks=tuple(each for it in found for each in it.marks),
        asked=tuple(each for it in found for each in it.asked),
    )


def _table(file: LaunchFile) -> Launched:
    assert file.document is not None, f"{file.name} is no table"
    options = table_options(file.document, file.text, file.name)
    return Launched(options=options, marks=tuple(map(str, file.document)))


def _written(file: LaunchFile) -> list[LaunchFile]:
    """Tables that a script writes itself, as far as they can be read."""
    found = []
    for name, text in written_in(file.text, file.name).items():
        if name.endswith(tuple(PARSERS)):
            try:
                found.append(launch_file(f"{file.name} > {name}", text))
            except InputError:
                continue
    return found


def trainer_of(said: Launched, trainers: Sequence[Trainer], name: str = "") -> Trainer:
    """The trainer for which options are written: by its program or file, then by its options.

    Of its releases the newest that knows most of the options.

    Args:
        said: what files say.
        trainers: every trainer of the catalogue.
        name: of a trainer or a family, where somebody says it.

    Raises:
        InputError: it is none that is known here.
    """
    able = [each for each in trainers if each.dialect]
    if name:
        named = [each for each in able if each.name == name]
        if not named:
            known = sorted({each.name for each in able})
            raise InputError(
                f"trainer '{name}' has no options that are known here.{nearest(name, known)} "
                f"Known: {', '.join(known)}."
            )
        return named[0]
    scored = [(_score(said, each, trainers), each) for each in able]
    best = max(scored, key=lambda it: (it[0], it[1].date), default=None)
    if best is None or not best[0]:
        families = sorted({each.family for each in able})
        raise InputError(
            "nothing in it is an option of a trainer that is known here. Files of these are read: "
            f"{', '.join(families)}."
        )
    return best[1]


SURE: Final = 5
"""Options that a program or a mark of a file is worth."""


def _score(said: Launched, trainer: Trainer, trainers: Sequence[Trainer]) -> int:
    dialect = trainer.dialect
    by_program = bool(dialect.programs) and any(
        re.search(dialect.programs, each) for each in said.programs
    )
    by_mark = any(each in dialect.marks for each in said.marks)
    tongues = Tongues(trainer, trainers)
    options = {it.name for it in said.options}
    return SURE * (by_program + by_mark) + sum(tongues.knows(name) for name in options)
