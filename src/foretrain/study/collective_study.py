"""Studies of one collective: [collective] and [cluster]."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, Final

from foretrain.cluster.cluster import Cluster
from foretrain.errors import InputError, assumed, nearest
from foretrain.measured.coverage import Assumptions
from foretrain.measured.place import called_together
from foretrain.plan.study import CollectiveKind, CollectiveStudy, Study, partly
from foretrain.study.cluster import read_cluster
from foretrain.study.documents import read_toml
from foretrain.study.here import NAME as HERE
from foretrain.study.here import remark
from foretrain.study.keys import Count, Reads
from foretrain.study.own_entries import KEY as OWN_ENTRIES
from foretrain.study.own_entries import with_entries
from foretrain.study.problems import Problems, check_sections, inner, validated
from foretrain.study.settings import with_settings
from foretrain.study.study import read_study
from foretrain.units import BYTES, as_written

SECTION: Final = "collective"
"""The section by which a study asks for a transfer and not for a step."""

SECTIONS: Final = (SECTION, "cluster")
MISSING: Final = "is missing. It says where: at least name and nodes."
MOST_SIZES: Final = 1000
START: Final = re.compile(r"\bstart\b")
"""How the field is called whose key is a word of Python."""

ADVICE: Final = 'Write "1 GiB", a list of sizes, or { from = "1 KiB", to = "8 GiB", factor = 2 }.'

CALLS: Final[Mapping[str, CollectiveKind]] = {
    **{kind.value: kind for kind in CollectiveKind},
    "alltoall": CollectiveKind.ALL_TO_ALL,
    "sendrecv": CollectiveKind.SEND_RECEIVE,
}
"""Kinds by their names here and by those of the programs of `nccl-tests`."""


def read_kind(value: object) -> CollectiveKind:
    """What the devices do, also as `nccl-tests` calls it (`all_reduce_perf`).

    Raises:
        InputError: it is none of them.
    """
    known = [kind.value for kind in CollectiveKind]
    if not isinstance(value, str):
        raise InputError(f"{as_written(value)} is not a text. Known: {', '.join(known)}.")
    word = value.strip().lower().replace("_", "-").removesuffix("-perf")
    if word not in CALLS:
        raise InputError(
            f"unknown {as_written(value)}.{nearest(word, known)} Known: {', '.join(known)}."
        )
    return CALLS[word]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeRange:
    """Sizes that grow by a factor, as `-b`, `-e` and `-f` of `nccl-tests` say."""

    start: Annotated[float, BYTES]
    to: Annotated[float, BYTES]
    factor: float = 2.0

    @property
    def sizes(self) -> tuple[float, ...]:
        """All of them."""
        if not self.factor > 1:
            raise InputError(f"factor must be above 1, got {self.factor:g}.")
        if not 0 < self.start <= self.to:
            raise InputError(
                f"from must be above 0 bytes and at most to, got {BYTES.write(self.start)} and"
                f" {BYTES.write(self.to)}."
            )
        steps = (self.start * self.factor**step for step in range(MOST_SIZES + 1))
        return tuple(takewhile(lambda size: size <= self.to * (1 + 1e-12), steps))


def read_sizes(value: object) -> tuple[float, ...]:
    """One size, a list of them, or a range; the smallest first, each once.

    Raises:
        InputError: it is none of them, or a size is 0.
    """
    if isinstance(value, Mapping):
        written = {"start" if key == "from" else key: each for key, each in value.items()}
        try:
            found = inner(SizeRange, written).sizes
        except InputError as error:
            raise InputError(f"{START.sub('from', str(error))} {ADVICE}") from error
    elif isinstance(value, list | tuple):
        found = tuple(sorted({BYTES.read(each) for each in value}))
    else:
        found = (BYTES.read(value),)
    if not found:
        raise InputError(f"an empty list holds no size. {ADVICE}")
    if found[0] == 0:
        raise InputError(f"0 bytes take no time; leave them out. {ADVICE}")
    if len(found) > MOST_SIZES:
        raise InputError(f"more than {MOST_SIZES:,} sizes. {ADVICE}")
    return found


_KIND: Final[Mapping[str, object]] = {
    "type": "string",
    "description": "one of: " + ", ".join(kind.value for kind in CollectiveKind),
}
_SIZE: Final[Mapping[str, object]] = {"type": "string", "description": 'bytes, such as "1 GiB"'}
_SIZES: Final[Mapping[str, object]] = {
    "anyOf": [
        _SIZE,
        {"type": "array", "items": _SIZE, "minItems": 1},
        {
            "type": "object",
            "properties": {
                "from": _SIZE,
                "to": _SIZE,
                "factor": {"type": "number", "exclusiveMinimum": 1},
            },
            "required": ["from", "to"],
            "additionalProperties": False,
        },
    ]
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveSection:
    """The section as it is written; `CollectiveStudy` has the meanings."""

    kind: Annotated[CollectiveKind, Reads(read_kind, _KIND)]
    bytes: Annotated[tuple[float, ...], Reads(read_sizes, _SIZES)]
    devices: Count | None = None
    devices_per_process: Count | None = None


def read_question(path: Path | str, *, settings: Sequence[str] = ()) -> Study | CollectiveStudy:
    """What a study asks of `estimate`: one step of a plan, or one collective.

    Args:
        path: the file.
        settings: keys that have other values than in the file.

    Raises:
        InputError: with every problem of the file.
    """
    problems = Problems(str(path))
    document = with_settings(read_toml(Path(path), problems), settings)
    if SECTION in document:
        return collective_study(document, problems, folder=Path(path).parent)
    return read_study(path, settings=settings)


def read_collective_study(path: Path | str) -> CollectiveStudy:
    """The study of one collective in a TOML file.

    Raises:
        InputError: with every problem of the file.
    """
    problems = Problems(str(path))
    document = read_toml(Path(path), problems)
    return collective_study(document, problems, folder=Path(path).parent)


def collective_study(
    document: Mapping[str, Any], problems: Problems, *, folder: Path | None = None
) -> CollectiveStudy:
    """The study that a document describes.

    Args:
        document: its sections.
        problems: takes what is wrong.
        folder: of the file.

    Raises:
        InputError: with every problem.
    """
    with with_entries(document, problems, folder) as whole:
        check_sections(whole, SECTIONS, problems, beside=(OWN_ENTRIES,))
        asked = whole.get(SECTION, {})
        said = validated(CollectiveSection, asked, path=SECTION, problems=problems)
        if "cluster" not in whole:
            problems.add("cluster", MISSING)
        section = dict(whole.get("cluster", {}))
        place = read_cluster(section, problems, folder) if "cluster" in whole else None
    if place is not None and isinstance(asked, Mapping):
        _check(asked, place, problems)
    problems.check()
    assert place
    assert said
    return _study(said, place, told=(remark(place),) if section.get("name") == HERE else ())


def _check(asked: Mapping[str, Any], place: Cluster, problems: Problems) -> None:
    """What keeps the devices from taking part together; whole numbers alone are judged."""
    devices, together = (
        each if type(each) is int and each > 0 else None
        for each in (asked.get("devices", place.devices), asked.get("devices_per_process"))
    )
    if devices is None:
        return
    told = _against(devices, place)
    if told:
        problems.add("collective.devices", told)
    most = min(devices, place.node_devices)
    if not told and together is not None and together > most:
        problems.add(
            "collective.devices_per_process",
            f"{together:,} are more than the {most:,} that take part in a node.",
        )


def _against(devices: int, place: Cluster) -> str:
    """Why so many devices of a cluster cannot take part; empty if they can."""
    if devices < 2:
        return "one device has nobody to exchange with; give at least 2."
    if devices > place.devices:
        more = -(-devices // place.node_devices)
        return (
            f"{devices:,} are more than the {place.devices:,} of the cluster; give at most those,"
            f" or cluster.nodes = {more:,}."
        )
    uneven = partly(place, devices)
    if uneven is None:
        return ""
    name, held = uneven
    below, above = devices // held * held, -(-devices // held) * held
    return (
        f"{devices:,} do not fill whole groups of level {name}, which hold {held:,} devices; give"
        f" {below:,} or {above:,}, or fewer than {held:,}."
    )


def _study(said: CollectiveSection, place: Cluster, *, told: tuple[str, ...]) -> CollectiveStudy:
    """What is asked, with what was assumed for keys that are left out."""
    devices = place.devices if said.devices is None else said.devices
    nodes = -(-devices // place.node_devices)
    together = said.devices_per_process or called_together(devices, nodes, Assumptions())
    remarks = list(told)
    if said.devices is None:
        remarks.append(assumed(f"collective.devices = {devices}, all of the cluster"))
    if said.devices_per_process is None:
        remarks.append(
            assumed(
                f"collective.devices_per_process = {together}, as nccl-tests is started on"
                f" {'one node' if nodes == 1 else 'several nodes'}"
            )
        )
    return CollectiveStudy(
        cluster=place,
        kind=said.kind,
        sizes=said.bytes,
        devices=devices,
        together=together,
        assumed=tuple(remarks),
    )
