"""Files of trainers: launch scripts and configurations, read for `launch` to understand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from foretrain.errors import InputError
from foretrain.study.documents import from_json, from_toml, from_yaml
from foretrain.study.reading import exists, read_text

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
    """Whether a file is one of a trainer, and no study; False of what cannot be read."""
    if Path(path).suffix.lower() != ".toml":
        return Path(path).suffix.lower() in (*PARSERS, *SCRIPTS, *PROGRAMS)
    try:
        document = from_toml(read_text(Path(path), most=MOST_BYTES), str(path))
    except InputError:
        return False
    return bool(document) and not any(key in document for key in STUDY) and _nested(document)


def _nested(document: Mapping[str, Any]) -> bool:
    """Whether a file has a section that trainers have and studies do not."""
    return any(
        key in document for key in ("parallelism", "training", "model", "activation_checkpoint")
    )


PROGRAMS: Final = (".py",)
SCRIPTS: Final = (".sh", ".bash", ".slurm", ".sbatch", ".job")
PARSERS: Final = {".json": from_json, ".toml": from_toml, ".yaml": from_yaml, ".yml": from_yaml}


def config_beside(found: Sequence[LaunchFile], model: str) -> Path | None:
    """The config.json of a model that files name by a folder which lies beside them."""
    folders = dict.fromkeys(Path(each.name).parent for each in found)
    paths = (folder / model / "config.json" for folder in folders)
    return next((path for path in paths if exists(path)), None)


def beside(found: Sequence[LaunchFile], asked: Sequence[str]) -> tuple[LaunchFile, ...]:
    """Files that the given ones name and that lie beside them; those that are not there are not."""
    have = {Path(each.name).name for each in found}
    folders = dict.fromkeys(Path(each.name).parent for each in found)
    paths = [folder / name for name in asked for folder in folders if Path(name).name not in have]
    return read_launch_files(*(path for path in paths if path.is_file() and path.suffix in PARSERS))
