"""import: which study do launch scripts and configuration files of a trainer ask?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.launch.facts import Missing, study_parts, toml_of
from foretrain.launch.option import (
    FilePlace,
    Ignored,
    NotUnderstood,
    Option,
    Tongues,
    Understood,
    base,
)
from foretrain.launch.reading import read
from foretrain.launch.recognise import together, trainer_of
from foretrain.plan.study import Study
from foretrain.show.report import AnswerReport, Block, Bullets, Note, ReportSection, Verbatim
from foretrain.show.table import Column, table
from foretrain.show.words import count
from foretrain.study import catalogue
from foretrain.study.launch_files import HERE, LaunchFile, beside, config_beside
from foretrain.study.study import study_from
from foretrain.study.trainers import KIND, trainers
from foretrain.trainers.flags import Fact, Facts, fact
from foretrain.trainers.trainer import Trainer
from foretrain.units import as_written
from foretrain.workload.library.entries import known

MANY_OF: Final = re.compile(r"(\d+)\s*x\s*(.+)")
ASKED: Final = FilePlace(file="asked for")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What files of a trainer say.

    Attributes:
        study: in TOML, with where each key was found.
        trainer: name of the entry by whose options they were read.
        release: of that.
        files: their names.
        missing: what they do not say, and a study needs.
        understood: options that were understood, and what the trainer does unasked.
        not_understood: options that may change time or memory and were not taken as written.
        ignored: options that change neither.
        document: the study as its keys and values.
    """

    study: str
    trainer: str
    release: str
    files: tuple[str, ...]
    missing: tuple[Missing, ...]
    understood: tuple[Understood, ...]
    not_understood: tuple[NotUnderstood, ...]
    ignored: tuple[Ignored, ...]
    document: Mapping[str, Any]

    def question(self, *, free: bool = False) -> Study:
        """The study that can be asked.

        Args:
            free: whether the plan is left open, for a search; otherwise it is the files'.

        Raises:
            InputError: something is missing, or it contradicts itself.
        """
        where = ", ".join(self.files)
        if self.missing:
            lines = [f"{it.key}: the files do not say {it.needs}." for it in self.missing]
            raise InputError("\n".join([f"{where}: {line}" for line in lines]))
        kept = {key: it for key, it in self.document.items() if not (free and key == "plan")}
        return study_from(kept, where, folder=HERE)


def import_(
    files: Sequence[LaunchFile],
    *,
    on: str = "",
    trainer: str = "",
    settings: Mapping[str, object] | None = None,
    home: str = ".",
) -> Imported:
    """The study that launch scripts and configuration files of a trainer ask.

    Args:
        files: what `read_launch_files` reads.
        on: the cluster on which they run, with its nodes where the files do not say them
            ("dgx-h100", "4x dgx-h100").
        trainer: for which they are written; recognised if absent.
        settings: what they leave open, by key ("workload.global_batch").
        home: folder of the study, from which it names the config.json of a model.

    Raises:
        InputError: they are of no trainer that is known here, or cannot be read.
    """
    every = trainers()
    said = together(files, every)
    named = catalogue.find(KIND, trainer) if trainer else _written_for(files)
    chosen = trainer_of(said, every, named)
    given = [Option(name=key, value=fact(it), place=ASKED) for key, it in (settings or {}).items()]
    cluster, node_devices, nodes = _cluster(on)
    around = [*_once(said.around, nodes), *given]
    around += _asked(around, node_devices, nodes)
    reading = read(said.options, Tongues(chosen, every), given=around)
    facts = {**reading.facts, **_configured(files, reading.facts, home)}
    many, against = _nodes(facts, cluster=cluster, node_devices=node_devices, nodes=nodes)
    parts = study_parts(facts, trainer=chosen.name, cluster=cluster, nodes=many)
    if against:
        kept = (it for it in parts.missing if it.key != "cluster.nodes")
        parts = replace(parts, missing=(*kept, *against))
    names = tuple(each.name for each in files)
    return Imported(
        study=toml_of(parts, reading.places, _head(names, chosen)),
        trainer=chosen.name,
        release=chosen.release,
        files=names,
        missing=parts.missing,
        understood=reading.understood,
        not_understood=reading.not_understood,
        ignored=reading.ignored,
        document=parts.document,
    )


HEAD: Final = re.compile(r"Written by foretrain \S+ for .{0,80}\(([\w.-]+)\)\.")
"""How a file begins that was exported: with the release that it was written for."""


def _written_for(files: Sequence[LaunchFile]) -> str:
    """The trainer that an exported file names; empty of any other."""
    named = (match[1] for it in files for match in HEAD.finditer(it.text))
    return next((each for each in named if catalogue.knows(KIND, each)), "")


def settings_of(texts: Sequence[str]) -> dict[str, str]:
    """Keys and values of texts such as "workload.global_batch=64".

    Raises:
        InputError: one is no such text.
    """
    found = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign or "." not in key:
            raise InputError(
                f"--set {as_written(text)}: write a key of a study and its value, such as "
                "workload.global_batch=64."
            )
        found[key.strip()] = value.strip()
    return found


def with_asked(files: Sequence[LaunchFile]) -> tuple[LaunchFile, ...]:
    """Files, and those that their options name and that lie beside them.

    Raises:
        InputError: one cannot be read.
    """
    every = trainers()
    return (*files, *beside(files, together(files, every).asked))


def _configured(files: Sequence[LaunchFile], facts: Facts, home: str) -> dict[str, Fact]:
    """The config.json of a model that is no name of the library and lies beside the files."""
    named = facts.get("workload.model")
    if not isinstance(named, str) or known(named) is not None:
        return {}
    path = config_beside(files, named, home=home)
    return {} if path is None else {"workload.model": path}


def _head(names: Sequence[str], chosen: Trainer) -> list[str]:
    shown = ", ".join(base(name) for name in names)
    return [f"From {shown}, read as {chosen.family} {chosen.release} ({chosen.name})."]


def _once(around: Sequence[Option], nodes: int | None) -> list[Option]:
    """What launchers say of devices; of nodes, whoever asks says more than a variable."""
    known = {each.name for each in around if not each.unset}
    found: dict[tuple[str, Fact, bool], Option] = {}
    for each in around:
        if each.unset and (each.name in known or (each.name == "cluster.nodes" and nodes)):
            continue
        if each.name != "tasks":
            found.setdefault((each.name, each.value, bool(each.unset)), each)
    return list(found.values())


def _asked(around: Sequence[Option], node_devices: int | None, nodes: int | None) -> list[Option]:
    """Nodes and their devices as whoever asks says them, where the files do not."""
    known = {each.name for each in around if not each.unset}
    asked = {"cluster.node_devices": node_devices}
    asked |= {} if "cluster.devices" in known else {"cluster.nodes": nodes}
    return [
        Option(name=key, value=value, place=ASKED)
        for key, value in asked.items()
        if value is not None and key not in known
    ]


def _cluster(on: str) -> tuple[str, int | None, int | None]:
    """A cluster of the catalogue, devices of its nodes, and how many nodes are asked for."""
    if not on:
        return "", None, None
    many = MANY_OF.fullmatch(on.strip())
    name = many[2] if many else on.strip()
    found = catalogue.cluster(name, 1)
    return catalogue.find("clusters", name), found.node_devices, int(many[1]) if many else None


def _nodes(
    facts: Facts, *, cluster: str, node_devices: int | None, nodes: int | None
) -> tuple[int | None, tuple[Missing, ...]]:
    """The nodes of the cluster that is asked for, and why they cannot be as many as files say."""
    said, each = facts.get("cluster.nodes"), facts.get("cluster.node_devices")
    devices = facts.get("cluster.devices")
    if not isinstance(devices, int) and isinstance(said, int) and isinstance(each, int):
        devices = said * each
    if node_devices is None or not isinstance(devices, int):
        return (said if isinstance(said, int) else nodes), ()
    if devices % node_devices:
        needs = f"nodes of {node_devices} devices, as {cluster} has them, but {devices} devices"
        return None, (Missing(key="cluster.nodes", needs=needs),)
    found = devices // node_devices
    if nodes is not None and nodes != found:
        needs = f"{nodes} nodes of {cluster}, but {found}, for {devices} devices"
        return None, (Missing(key="cluster.nodes", needs=needs),)
    return found, ()


def import_report(files: Sequence[LaunchFile], found: Imported) -> AnswerReport:
    """What is said of files."""
    written = [each for each in found.understood if each.place]
    told = tuple(f"{base(it.place)}: {it.option} {it.value}\n  {it}" for it in found.not_understood)
    missing = tuple(f"{it.key}: the files do not say {it.needs}." for it in found.missing)
    ignored = tuple(f"{it.about}: {' '.join(it.options)}" for it in found.ignored)
    many = Note(f"{count(len(written), 'option')} understood: --json and --html list them.")
    how = Note("Give it with --on CLUSTER or --set KEY=VALUE.")
    sections = (
        ReportSection(name="study", title="", body=(Verbatim(found.study.rstrip("\n")),)),
        _listed("missing", "Missing", missing, how),
        _listed("not-understood", f"Not understood ({len(told)})", told),
        *_understood(found),
        _listed("ignored", "Ignored, for it changes neither time nor memory", ignored),
        ReportSection(name="counts", title="", body=(many,)),
    )
    return AnswerReport(kind="Import", title=", ".join(map(base, found.files)), sections=sections)


def _understood(found: Imported) -> tuple[ReportSection, ReportSection]:
    """Options that were understood, and what a trainer does unasked, for a page."""
    written = [each for each in found.understood if each.place]
    unset = [each for each in found.understood if not each.place]
    options = table(
        written,
        (Column(name="where"), lambda it: base(it.place)),
        (Column(name="option"), lambda it: f"{it.option} {it.value}"),
        (Column(name="says"), _says),
    )
    unasked = table(unset, (Column(name="says"), _says))
    title = f"Understood as options of {found.trainer}"
    return (
        ReportSection(name="understood", title=title, body=(options,), page_only=True),
        ReportSection(
            name="unset", title="What the trainer does unasked", body=(unasked,), page_only=True
        ),
    )


def _says(it: Understood) -> str:
    return f"{it.key} = {it.taken}" if it.key else it.taken


def _listed(name: str, title: str, texts: tuple[str, ...], *more: Note) -> ReportSection:
    body: tuple[Block, ...] = (Bullets(texts), *more) if texts else ()
    return ReportSection(name=name, title=title if texts else "", body=body)
