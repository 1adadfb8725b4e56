"""One mutant: made of its number, tried within limits, judged by what came of it."""

from __future__ import annotations

import os
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from shutil import rmtree
from types import FrameType
from typing import Final

from validation.fuzz.doors import Door, Seed
from validation.fuzz.mutations import mutated

from foretrain.errors import ForetrainError

SECONDS: Final = 20
BYTES: Final = 2 * 2**30
MOST_TOLD: Final = 250_000
"""Characters of a message: fifty problems of at most a few thousand each."""

NO_FILE: Final = 0.01
"""Share of mutants that are no file, such as a folder or a device."""


class TookTooLongError(BaseException):
    """Nothing that catches errors may catch this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a mutant.

    Attributes:
        door: whose it is.
        number: of the mutant.
        kind: "read", "refused" or "failed".
        told: the message, or how it failed.
        seconds: of CPU.
        peak: bytes that the process held at most so far.
    """

    door: str
    number: int
    kind: str
    told: str
    seconds: float
    peak: int


def content_of(door: Door, number: int, seed: int) -> tuple[Seed, bytes | None, Random]:
    """The sound file, what became of it, and the chance that goes on; None of what is no file."""
    random = Random(f"{seed}:{door.name}:{number}")
    sound = random.choice(door.seeds)
    if random.random() < NO_FILE:
        return sound, None, random
    return sound, mutated(random, sound.text.encode(), sound.form), random


def tried(door: Door, number: int, *, seed: int, folder: Path) -> Outcome:
    """Send a mutant through its door.

    Args:
        door: where.
        number: of the mutant.
        seed: of all of them.
        folder: to work in; emptied before.
    """
    sound, content, random = content_of(door, number, seed)
    rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in sound.beside.items():
        (folder / name).write_text(text, "utf-8")
    path = folder / sound.name
    if content is None:
        path = _no_file(random, path)
    else:
        path.write_bytes(content)
    began = time.process_time()
    kind, told = _judged(door, path)
    return Outcome(
        door=door.name,
        number=number,
        kind=kind,
        told=told,
        seconds=time.process_time() - began,
        peak=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    )


def _judged(door: Door, path: Path) -> tuple[str, str]:
    try:
        with _limited(), warnings.catch_warnings():
            warnings.simplefilter("error")
            door.use(path)
    except ForetrainError as error:
        told = str(error)
        if len(told) > MOST_TOLD or not told:
            return "failed", f"a message of {len(told):,} characters: {told[:200]}"
        return "refused", told
    except TookTooLongError:
        return "failed", f"took more than {SECONDS} s of CPU\n{traceback.format_exc()[-3000:]}"
    except BaseException:
        return "failed", traceback.format_exc()[-5000:]
    return "read", ""


@contextmanager
def _limited() -> Iterator[None]:
    """At most so many seconds of CPU."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TookTooLongError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def limit_memory() -> None:
    """At most so many bytes beside what the libraries have mapped already."""
    mapped = 4096 * int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (mapped + BYTES, mapped + BYTES))


def _no_file(random: Random, path: Path) -> Path:
    """A path that leads to no file."""
    which = random.choice(("folder", "pipe", "device", "loop", "broken", "long", "zero"))
    if which == "folder":
        path.unlink(missing_ok=True)
        path.mkdir()
    elif which == "pipe":
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    elif which in {"device", "loop", "broken"}:
        path.unlink(missing_ok=True)
        path.symlink_to({"device": "/dev/zero", "loop": path, "broken": "nowhere"}[which])
    elif which == "long":
        return path.with_name("n" * 300 + path.suffix)
    else:
        return path.parent / f"a\0b{path.suffix}"
    return path
