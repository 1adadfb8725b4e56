"""Kept runs: results in a folder, so that an interrupted simulation goes on where it was."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from foretrain.errors import InputError
from foretrain.jobs.case import CaseResult
from foretrain.study.files import exists, read_bytes, write_text

if TYPE_CHECKING:
    from pydantic import TypeAdapter


MOST_BYTES: Final = 256 * 2**20
"""Of one result; those of a million jobs have 100 MB."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder of results, a file each.

    A result counts only if it is what was written and this very code made it: a changed formula
    must not be mixed with results of the one before.

    Attributes:
        folder: where they lie.
        damaged: files that were not what was written; their runs are done again.
    """

    folder: Path
    damaged: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        try:
            self.folder.mkdir(exist_ok=True)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"{self.folder} cannot hold results: {reason}.") from error

    def get(self, key: str) -> CaseResult | None:
        """The result of a key; None if this code has kept none, or it was damaged.

        Raises:
            InputError: it is there and cannot be read.
        """
        path = self._path(key)
        if not exists(path):
            return None
        content = read_bytes(path, most=MOST_BYTES)
        try:
            found = json.loads(content)
            told = found["result"]
            is_whole, is_ours = found["sha256"] == _checksum(told), found["code"] == code()
        except (ValueError, TypeError, KeyError, RecursionError):
            is_whole = is_ours = False
        if not is_whole:
            self.damaged.append(path)
        return _adapter().validate_python(told) if is_whole and is_ours else None

    def put(self, key: str, result: CaseResult) -> None:
        """Keep a result; a reader sees all of it or nothing.

        Raises:
            InputError: it cannot be written.
        """
        told = _adapter().dump_python(result, mode="json")
        kept = {"code": code(), "sha256": _checksum(told), "result": told}
        write_text(self._path(key), json.dumps(kept))

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"


@cache
def code() -> str:
    """The sha256 of all that a result depends on beside its question.

    That is every file of this package, and the versions of NumPy and SciPy.
    """
    told = sha256(f"numpy {version('numpy')} scipy {version('scipy')}".encode())
    package = Path(str(files("foretrain")))
    for path in sorted(package.rglob("*")):
        if path.suffix in {".py", ".toml", ".csv"}:
            told.update(str(path.relative_to(package)).encode())
            told.update(path.read_bytes())
    return told.hexdigest()


def _checksum(told: object) -> str:
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


@cache
def _adapter() -> TypeAdapter[CaseResult]:
    from pydantic import TypeAdapter

    return TypeAdapter(CaseResult)
