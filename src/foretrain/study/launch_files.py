"""Files of trainers: launch scripts, configurations, logs, a profiler's traces, published recipes.

Launch scripts and configurations are read for `launch` to understand; recipes are plans that
trainers' makers publish (CSV), as nouns.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.plan.plan import Plan
from foretrain.study.documents import from_json, from_toml, from_yaml
from foretrain.study.files import exists, read_bytes, read_text
from foretrain.trainers.recipes import PublishedPlan

MOST_BYTES: Final = 2**20
STUDY: Final = ("workload", "cluster", "collective", "jobs", "ensemble", "scale")
"""Sections that only studies have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFile:
    """A file of a trainer.

    Attributes:
        name: for messages.
        text: what it holds.
        document: its keys and values; None of a script.
    """

    name: str
    text: str
    document: Mapping[str, Any] | None = None


def launch_file(name: str, text: str) -> LaunchFile:
    """A file by its name and what it holds.

    Raises:
        InputError: it is not what the end of its name says.
    """
    parse = PARSERS.get(Path(name).suffix.lower())
    if parse is None:
        return LaunchFile(name=name, text=text)
    return LaunchFile(name=name, text=text, document=parse(text, name))


def read_launch_files(*paths: Path | str) -> tuple[LaunchFile, ...]:
    """Launch scripts and configuration files of trainers.

    Raises:
        InputError: one cannot be read, is a program, or is not what the end of its name says.
    """
    for path in paths:
        if Path(path).suffix.lower() in PROGRAMS:
            raise InputError(
                f"{path}: is a program. torchtitan 0.3 and newer and NeMo 2 are configured by "
                "programs, which are not run here. Say what it sets in a study, or in one line: "
                "foretrain estimate MODEL --on ... --batch ... --set trainer.name=torchtitan-0.3."
            )
    return tuple(launch_file(str(path), read_text(Path(path), most=MOST_BYTES)) for path in paths)


def is_launch_file(path: Path | str) -> bool:
    """Whether a file is one of a trainer, no study and no model; False of what cannot be read."""
    if Path(path).suffix.lower() != ".toml":
        known = Path(path).suffix.lower() in (*PARSERS, *SCRIPTS, *PROGRAMS)
        return known and not is_configuration(path)
    try:
        document = from_toml(read_text(Path(path), most=MOST_BYTES), str(path))
    except InputError:
        return False
    return bool(document) and not any(key in document for key in STUDY) and _nested(document)


def is_configuration(path: Path | str) -> bool:
    """Whether a file is the config.json of a model; False of what cannot be read."""
    if Path(path).suffix.lower() != ".json":
        return False
    try:
        document = from_json(read_text(Path(path), most=MOST_BYTES), str(path))
    except InputError:
        return False
    return "model_type" in document or "architectures" in document


def _nested(document: Mapping[str, Any]) -> bool:
    """Whether a file has a section that trainers have and studies do not."""
    return any(
        key in document for key in ("parallelism", "training", "model", "activation_checkpoint")
    )


PROGRAMS: Final = (".py",)
SCRIPTS: Final = (".sh", ".bash", ".slurm", ".sbatch", ".job")
PARSERS: Final = {".json": from_json, ".toml": from_toml, ".yaml": from_yaml, ".yml": from_yaml}


HERE: Final = Path()
"""The folder in which somebody asks."""


def config_beside(found: Sequence[LaunchFile], model: str, *, home: str = ".") -> str | None:
    """The config.json of a model that files name by a folder which lies beside them.

    Args:
        found: the files.
        model: what they call it.
        home: the folder from which its path begins.
    """
    folders = dict.fromkeys(Path(each.name).parent for each in found)
    paths = (folder / model / "config.json" for folder in folders)
    return next((os.path.relpath(path, home) for path in paths if exists(path)), None)


def beside(found: Sequence[LaunchFile], asked: Sequence[str]) -> tuple[LaunchFile, ...]:
    """Files that the given ones name and that lie beside them; those that are not there are not."""
    have = {Path(each.name).name for each in found}
    folders = dict.fromkeys(Path(each.name).parent for each in found)
    paths = [folder / name for name in asked for folder in folders if Path(name).name not in have]
    return read_launch_files(*(path for path in paths if path.is_file() and path.suffix in PARSERS))


ENDINGS: Final = (".log", ".txt", ".out", ".err")

MOST_LOGGED: Final = 2**28


def is_log(path: Path) -> bool:
    """Whether a file is a log, by the end of its name, packed by gzip or not."""
    return path.with_suffix("" if path.suffix == ".gz" else path.suffix).suffix in ENDINGS


def read_log(path: Path) -> str:
    """The characters of a log; what is no text in it, as a process may print, becomes a mark.

    Raises:
        InputError: it cannot be read, or is larger than any log.
    """
    return read_bytes(path, most=MOST_LOGGED).decode("utf-8", errors="replace")


MOST_TRACED: Final = 2**29
"""Of a trace unpacked: some steps of a large model."""

TRACE_MARKS: Final = (b'"schemaVersion"', b'"traceEvents"')
TRACE_HEAD: Final = 2**16
PACKED: Final = ".json.gz"


def is_profile_file(path: Path) -> bool:
    """Whether a file is the trace of a profiler, by how it begins; False of what cannot be read.

    Nothing else that is asked about is packed JSON, so such a name is one whatever it holds.
    """
    if path.name.endswith(PACKED):
        return True
    if path.suffix != ".json" or not exists(path):
        return False
    try:
        content = read_bytes(path, most=MOST_TRACED)
    except InputError:
        return False
    return any(mark in content[:TRACE_HEAD] for mark in TRACE_MARKS)


def read_profile(path: Path) -> Mapping[str, Any]:
    """The trace in a file.

    Raises:
        InputError: it cannot be read, or is no trace.
    """
    content = read_bytes(path, most=MOST_TRACED)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}.") from None
    if not (isinstance(found, Mapping) and isinstance(found.get("traceEvents"), list)):
        raise InputError(f'{path}: is no trace; a trace of torch.profiler has "traceEvents".')
    document: Mapping[str, Any] = found
    return document


COUNTS: Final = (
    *("tensor", "pipeline", "interleaving", "context", "expert", "micro_batch", "global_batch"),
    "sequence",
)


@cache
def recipes() -> tuple[PublishedPlan, ...]:
    """Every published recipe for a model of the library, those of a release after earlier ones.

    Source: the recipes of Megatron-Bridge 0.2 to 0.5, of NeMo 1 and 2 and of NVIDIA's submissions
    to MLPerf 3.0 to 5.1, each with its file.
    """
    text = (files("foretrain") / "trainers" / "catalogue" / "recipes.csv").read_text("utf-8")
    return tuple(_recipe(row) for row in csv.DictReader(text.splitlines()))


AXES: Final = ("tensor", "pipeline", "context", "expert")
"""Degrees by which a plan is one that people run; the data axis has what is left."""


@cache
def _degrees() -> frozenset[tuple[int, ...]]:
    """Of every recipe."""
    return frozenset(tuple(getattr(each, axis) for axis in AXES) for each in recipes())


def practised(plan: Plan) -> bool:
    """Whether some published recipe divides a model as a plan does, replicas apart."""
    return tuple(getattr(plan, axis) for axis in AXES) in _degrees()


def _recipe(row: dict[str, str]) -> PublishedPlan:
    return PublishedPlan(
        family=row["family"],
        release=row["release"],
        date=row["date"],
        model=row["model"],
        adapts=row["task"] == "lora",
        devices=tuple(tuple(words.split()) for words in row["device"].split("|")),
        count=int(row["devices"]),
        **{name: int(row[name]) for name in COUNTS},
        precision=row["precision"],
        recompute=row["recompute"],
        sharding=row["sharding"],
        source=row["source"],
    )
