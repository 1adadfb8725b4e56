"""Which tests run which lines, and how long each takes: a plugin of pytest, and what it found.

COVERING=FOLDER python -m pytest -p validation.mutants.covering -n 2
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from time import perf_counter

import pytest
from coverage import Coverage, CoverageData

SOURCE = Path(__file__).parents[2] / "src"


class Recorder:
    """Notes, in one process of pytest, the lines and the seconds of every test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seconds: dict[str, float] = {}
        self.coverage = Coverage(
            data_file=str(folder / "lines"), data_suffix=True, source=[str(SOURCE)]
        )
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Let what runs from here on be this test's."""
        began = perf_counter()
        self.coverage.switch_context(item.nodeid)
        found = yield
        self.coverage.switch_context("")
        self.seconds[item.nodeid] = perf_counter() - began
        return found

    def pytest_unconfigure(self) -> None:
        """Keep what was noted."""
        self.coverage.stop()
        self.coverage.save()
        (self.folder / f"seconds.{os.getpid()}").write_text(json.dumps(self.seconds), "utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Record in the processes that run tests."""
    folder = os.environ.get("COVERING")
    runs = hasattr(config, "workerinput") or not config.getoption("numprocesses", None)
    if folder and runs:
        config.pluginmanager.register(Recorder(Path(folder)))


@dataclass(frozen=True, slots=True)
class Covering:
    """What was recorded.

    Attributes:
        lines: tests that run each line of each file; a file is named from `src` on.
        seconds: of each test.
    """

    lines: Mapping[str, Mapping[int, list[str]]]
    seconds: Mapping[str, float]

    def tests(self, file: Path, line: int) -> list[str]:
        """Tests that run a line: those that mirror its folder, then others, the quickest first.

        Lines that are run by processes of their own alone are not seen; for those it is the tests
        that mirror the file's folder.
        """
        found = self.lines.get(str(file.relative_to(SOURCE)), {}).get(line, [])
        mirror = str(Path("tests", *file.relative_to(SOURCE).parts[1:-1]))
        tests = set(filter(None, found)) or {
            test for test in self.seconds if test.startswith(mirror)
        }
        return sorted(
            tests, key=lambda test: (not test.startswith(mirror), self.seconds.get(test, 0.0))
        )

    def within(self, seconds: float, tests: Sequence[str]) -> list[str]:
        """The first of some tests, as many as end within so many seconds, at least one."""
        ends = accumulate(self.seconds.get(test, 0.0) for test in tests)
        return [test for test, end in zip(tests, ends, strict=True) if end <= seconds] or [
            *tests[:1]
        ]


def recorded(folder: Path) -> Covering:
    """What the plugin left in a folder."""
    data = CoverageData(basename=str(folder / "all"))
    for part in folder.glob("lines.*"):
        one = CoverageData(basename=str(part))
        one.read()
        data.update(one)
    lines = {
        str(Path(file).relative_to(SOURCE)): data.contexts_by_lineno(file)
        for file in data.measured_files()
    }
    seconds = {}
    for part in folder.glob("seconds.*"):
        seconds.update(json.loads(part.read_text("utf-8")))
    return Covering(lines, seconds)
