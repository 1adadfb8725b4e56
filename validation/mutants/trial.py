"""One mistake on trial: the tests that run its line, in a copy of the tree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from enum import Enum
from math import inf
from pathlib import Path
from shutil import copytree, ignore_patterns
from tempfile import gettempdir
from typing import Final

from validation.mutants.covering import Covering
from validation.mutants.mutations import Mutant

ROOT: Final = Path(__file__).parents[2]

LEFT_OUT: Final = ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "site", ".mutants")

PATIENCE: Final = 60.0
"""Seconds that tests may take beyond five times what they took before: pytest has to start, and the
machine may be busy. Whoever makes them slower than that has made them hang, and is noticed."""


class Outcome(Enum):
    """What became of a mistake."""

    KILLED = "killed"
    LIVES = "LIVES"
    UNSEEN = "NO TEST RUNS IT"
    EQUIVALENT = "equivalent"


def tried(mutant: Mutant, covering: Covering, *, within: float = inf) -> Outcome:
    """Whether a test fails that runs the line, of as many as end within so many seconds."""
    tests = covering.within(within, covering.tests(mutant.file, mutant.line))
    if not tests:
        return Outcome.UNSEEN
    tree = _tree()
    place = tree / mutant.file.relative_to(ROOT)
    right = place.read_bytes()
    try:
        _write(place, mutant.applied().encode())
        fails = _fails(tree, tests, 5 * sum(covering.seconds.get(test, 0.0) for test in tests))
    finally:
        _write(place, right)
    return Outcome.KILLED if fails else Outcome.LIVES


def _tree() -> Path:
    """This process's copy of the tree."""
    tree = Path(gettempdir()) / f"mutants-{os.getuid()}-{os.getpid()}"
    if not tree.exists():
        copytree(ROOT, tree, ignore=LEFT_OUT, symlinks=True)
    return tree


def _write(place: Path, content: bytes) -> None:
    """Change a file, and let Python forget what it compiled: two changes may share a second."""
    place.write_bytes(content)
    for compiled in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
        compiled.unlink(missing_ok=True)


def _fails(tree: Path, tests: list[str], seconds: float) -> bool:
    listed = tree / "listed-tests"
    listed.write_text("\n".join(tests), "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-qx", "-n0", "-pno:cacheprovider", f"@{listed}"],
        cwd=tree,
        env={**os.environ, "CI": "1", "PYTHONPATH": f"{tree / 'src'}:{tree}"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(seconds + PATIENCE) != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
