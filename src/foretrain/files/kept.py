"""Kept runs: results in a folder, so that an interrupted simulation goes on where it was."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from foretrain.errors import InputError
from foretrain.results.case import CaseResult
from foretrain.results.document import plain

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder of results, a file each.

    Attributes:
        folder: where they lie.
    """

    folder: Path

    def __post_init__(self) -> None:
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder} cannot hold results: {error.strerror}.") from error

    def get(self, key: str) -> CaseResult | None:
        """The result of a key; None if it is not kept, or was cut short while it was written."""
        from pydantic import ValidationError

        try:
            return _adapter().validate_json(self._path(key).read_bytes())
        except (FileNotFoundError, ValidationError):
            return None

    def put(self, key: str, result: CaseResult) -> None:
        """Keep a result; a reader sees all of it or nothing."""
        whole = self._path(key)
        part = whole.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(plain(result)), encoding="utf-8")
        part.replace(whole)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def _adapter() -> TypeAdapter[CaseResult]:
    from pydantic import TypeAdapter

    return TypeAdapter(CaseResult)
