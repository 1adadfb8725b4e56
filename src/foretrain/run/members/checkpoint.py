"""Checkpoints: files that are whole or not there, whatever happens while they are written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import IO, Any, Final

from foretrain.errors import InputError

MANIFEST: Final = "run.json"
SUFFIX: Final = ".pt"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where a run keeps what survives a reboot: a state of each member, and how far the run is.

    Attributes:
        path: the folder.
    """

    path: Path

    def claim(self, question: str, *, resume: bool) -> dict[str, Any]:
        """What an earlier run of the same study has kept; nothing for a new one.

        Args:
            question: fingerprint of the study.
            resume: whether to go on with it.

        Raises:
            InputError: a run is there and is not to be resumed, none is there, or another study's.
        """
        manifest = self.path / MANIFEST
        if not resume:
            if manifest.exists():
                raise InputError(
                    f"{self.path} holds a run. Go on with it by --resume, or name another folder."
                )
            self.path.mkdir(parents=True, exist_ok=True)
            return {}
        if not manifest.exists():
            raise InputError(f"{self.path} holds no run to resume. Start one without --resume.")
        kept: dict[str, Any] = json.loads(manifest.read_text(encoding="utf-8"))
        if kept["question"] != question:
            raise InputError(
                f"{self.path} holds a run of another study, or this one was changed since."
                " Resume it with the study as it was, or name another folder."
            )
        return kept

    def add(self, facts: Mapping[str, Any]) -> None:
        """Keep how far the run is, besides what was kept before."""
        manifest = self.path / MANIFEST
        before = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
        text = json.dumps({**before, **facts}, indent=2)
        write_whole(manifest, lambda file: file.write(text.encode()))

    def save(self, member: str, state: Mapping[str, Any]) -> None:
        """Keep the state of a member, in place of its last one."""
        import torch

        write_whole(self.path / f"{member}{SUFFIX}", lambda file: torch.save(dict(state), file))

    def load(self, member: str) -> dict[str, Any] | None:
        """The state of a member; None where there is none yet.

        Raises:
            InputError: the file is not one of ours.
        """
        import torch

        path = self.path / f"{member}{SUFFIX}"
        if not path.exists():
            return None
        try:
            state: dict[str, Any] = torch.load(
                path, map_location="cpu", weights_only=True, mmap=True
            )
        except (RuntimeError, OSError, ValueError, UnpicklingError) as error:
            raise InputError(f"{path} is no state of a member: {error}") from error
        return state

    def progress(self, member: str) -> dict[str, Any] | None:
        """How far a member had come at its last state; its weights stay on disk."""
        state = self.load(member)
        return dict(state["tally"]) if state else None


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """A file that others see as it was or as it is now, never in between; also after a reboot."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
