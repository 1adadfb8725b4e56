"""Checkpoints: files that are whole or not there, whatever happens while they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

from foretrain.errors import InputError, shortened
from foretrain.study.documents import from_json
from foretrain.study.reading import check_file, exists, read_text
from foretrain.study.writing import write_text, write_whole

MANIFEST: Final = "run.json"
SUFFIX: Final = ".pt"
MOST_BYTES: Final = 16 * 2**20
"""Of the manifest, which names each member at most twice."""


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
            if exists(manifest):
                raise InputError(
                    f"{self.path} holds a run. Go on with it by --resume, or name another folder."
                )
            try:
                self.path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"{self.path} cannot hold a run: {error.strerror}.") from error
            return {}
        if not exists(manifest):
            raise InputError(f"{self.path} holds no run to resume. Start one without --resume.")
        kept = self._facts()
        if kept["question"] != question:
            raise InputError(
                f"{self.path} holds a run of another study, or this one was changed since."
                " Resume it with the study as it was, or name another folder."
            )
        return kept

    def _facts(self) -> dict[str, Any]:
        """What was kept of how far the run is."""
        manifest = self.path / MANIFEST
        kept = from_json(read_text(manifest, most=MOST_BYTES), str(manifest))
        sound = {"question": str, "name": str, "ended": list, "compared": int}
        wrong = [
            key for key, value in kept.items() if not isinstance(value, sound.get(key, object))
        ]
        if wrong or "question" not in kept:
            told = ", ".join(wrong) or "question"
            raise InputError(
                f"{manifest} is damaged: see {told}. Start the run again in another folder."
            )
        return kept

    def add(self, facts: Mapping[str, Any]) -> None:
        """Keep how far the run is, besides what was kept before."""
        manifest = self.path / MANIFEST
        before = self._facts() if exists(manifest) else {}
        write_text(manifest, json.dumps({**before, **facts}, indent=2))

    def save(self, member: str, state: Mapping[str, Any]) -> None:
        """Keep the state of a member, in place of its last one."""
        write_whole(self.path / f"{member}{SUFFIX}", partial(_dump, dict(state)))

    def load(self, member: str) -> dict[str, Any] | None:
        """The state of a member; None where there is none yet.

        Raises:
            InputError: the file is not one of ours.
        """
        import torch

        path = self.path / f"{member}{SUFFIX}"
        if not exists(path):
            return None
        check_file(path)
        try:
            state: object = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except Exception as error:  # PyTorch raises whatever a damaged file makes it stumble over
            raise InputError(
                f"{path} is no state of a member: {shortened(str(error), most=200)}"
            ) from error
        # States of older runs tell more.
        tally = state.get("tally") if isinstance(state, dict) else None
        if (
            not isinstance(state, dict)
            or not isinstance(tally, dict)
            or not isinstance(tally.get("epoch"), int)
        ):
            raise InputError(f"{path} is no state of a member: it does not say how far that is.")
        return state

    def progress(self, member: str) -> dict[str, Any] | None:
        """How far a member had come at its last state; its weights stay on disk."""
        state = self.load(member)
        return dict(state["tally"]) if state else None


def _dump(state: dict[str, Any], file: IO[bytes]) -> None:
    """Write a state as PyTorch does, which hides from its caller why a file takes no more."""
    import torch

    try:
        torch.save(state, file)
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):
            raise error.__context__ from error
        raise
