"""The JSON of every command is the document of the Python function of that name.

    python -m validation.same_answers            # every study of examples/ and docs/
    python -m validation.same_answers --tenth    # a random tenth of them

Each study is asked by the command line in a process of its own, and here by the public function.
What a processor took is the one thing that may differ. The exit status is 1 if an answer differs.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.tenth import chooser

import foretrain
from foretrain.answers import entry_of
from foretrain.errors import ForetrainError
from foretrain.show.document import document, of_study, provenance

ROOT = Path(__file__).parents[1]
TITLED = re.compile(r'^ *```toml title="([^"]+)"\n(.*?)^ *```$', re.DOTALL | re.MULTILINE)

CLOCKS = frozenset({"seconds", "jobs_per_second"})
"""Keys of what the machine took to answer."""

STEP = 2.5
"""Seconds that a step of each study is said to have taken."""

Document = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One question, twice.

    Attributes:
        arguments: of the command line.
        answer: the document by the Python function.
    """

    arguments: tuple[str, ...]
    answer: Callable[[], Document]


OPTIONS: Sequence[Mapping[str, object]] = (
    {},
    {"keep": 3, "robust": True},
    {"keep": 2, "why_not": ["tp2", "recompute=full"]},
)
"""With which a study is searched."""


def asked(path: Path, *, options: Sequence[Mapping[str, object]] = OPTIONS) -> Iterator[Asked]:
    """What a file may be asked; a search once with each of some options."""
    sections = tomllib.loads(path.read_text())
    if "jobs" in sections:
        yield Asked(arguments=("simulate", str(path)), answer=partial(_simulated, path))
    elif "workload" in sections:
        yield Asked(arguments=("estimate", str(path)), answer=partial(_estimated, path))
        timed = ("calibrate", str(path), "--step-time", f"{STEP} s", "--anyway")
        yield Asked(arguments=timed, answer=partial(_calibrated, path))
        yield from (_search(path, each) for each in options)


def _search(path: Path, options: Mapping[str, object]) -> Asked:
    """A search with some options of the Python function, which the command has too."""
    flags: list[str] = []
    for name, value in options.items():
        for each in value if isinstance(value, list) else [value]:
            flags += [f"--{name.replace('_', '-')}", *([] if each is True else [str(each)])]
    return Asked(
        arguments=("search", str(path), *flags), answer=partial(_searched, path, dict(options))
    )


def _searched(path: Path, options: Mapping[str, object]) -> Document:
    study = foretrain.read_study(path)
    answer = foretrain.search(study, **options)
    return document(entry_of(answer).name, answer, of_study(study))


def _estimated(path: Path) -> Document:
    study = foretrain.read_study(path)
    answer = foretrain.estimate(study)
    return document(entry_of(answer).name, answer, of_study(study))


def _calibrated(path: Path) -> Document:
    study = foretrain.read_study(path)
    answer = foretrain.calibrate(
        study, step_time=STEP, anyway=True, called=str(path), date=date.today().isoformat()
    )
    return document(entry_of(answer).name, answer, of_study(study))


def _fitted(path: Path) -> Document:
    runs = foretrain.read_measurements(path)
    answer = foretrain.calibrate(runs, anyway=True, called=str(path), date=date.today().isoformat())
    return document(entry_of(answer).name, answer, provenance(runs))


def _validated(path: Path) -> Document:
    runs = foretrain.read_measurements(path)
    answer = foretrain.validate(runs)
    return document(entry_of(answer).name, answer, provenance(runs))


def of_table(path: Path) -> Iterator[Asked]:
    """What a table of measured runs may be asked."""
    fitted = ("calibrate", str(path), "--anyway")
    yield Asked(arguments=fitted, answer=partial(_fitted, path))
    yield Asked(arguments=("validate", str(path)), answer=partial(_validated, path))


def _simulated(path: Path) -> Document:
    study = foretrain.read_queue_study(path)
    answer = foretrain.simulate(study)
    return document(entry_of(answer).name, answer, provenance(study))


def by_command(arguments: tuple[str, ...]) -> Document | str:
    """What the command prints: its document, or the message of an error."""
    command = [sys.executable, "-m", "foretrain", *arguments, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def by_function(answer: Callable[[], Document]) -> Document | str:
    """What the function answers, as JSON has it, or the message of its error."""
    try:
        found: Document = json.loads(json.dumps(answer()))
    except ForetrainError as error:
        return str(error)
    return found


def same(command: Document | str, function: Document | str) -> bool:
    """Whether two answers are one; of errors, whether both are and every line is in the other.

    The command says which file it read before what the verb says.
    """
    if isinstance(command, str) and isinstance(function, str):
        return all(line.lstrip("- ") in command for line in function.splitlines())
    return timeless(command) == timeless(function)


def timeless(value: object) -> object:
    """A document without what the machine took."""
    if isinstance(value, Mapping):
        return {key: timeless(item) for key, item in value.items() if key not in CLOCKS}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def tables(folder: Path, *, root: Path = ROOT) -> list[Path]:
    """The head of each table that a fit learns from or that is only held against."""
    found = []
    for name in ("llm_training", "cnn_training", "memory", "collectives"):
        path = folder / "heads" / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        lines = (root / f"validation/tables/{name}.csv").read_text().splitlines()[:7]
        path.write_text("\n".join(lines))
        found.append(path)
    return found


def lay(folder: Path, *, root: Path = ROOT) -> list[Path]:
    """Put every study of the examples and of the pages of a tree into a folder."""
    shutil.copytree(root / "examples", folder / "examples")
    shutil.copytree(root / "validation/tables", folder / "validation/tables")
    found = sorted(folder.glob("examples/**/*.toml"))
    for page in sorted(root.glob("docs/**/*.md")):
        for title, text in TITLED.findall(page.read_text()):
            path = folder / page.stem / title
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
            found.append(path)
    return found


def main() -> bool:
    """Compare all answers; whether none differs."""
    chosen = chooser(sys.argv[1:])
    different = compared = 0
    with TemporaryDirectory() as folder:
        questions = [each for path in lay(Path(folder)) for each in asked(path)]
        questions += [each for path in tables(Path(folder)) for each in of_table(path)]
        for question in filter(lambda _: chosen(), questions):
            alike = same(by_command(question.arguments), by_function(question.answer))
            told = " ".join(question.arguments).replace(f"{folder}/", "")
            print(f"{'same' if alike else 'DIFFERENT':<10} {told}", flush=True)
            compared, different = compared + 1, different + (not alike)
    print(f"{compared} answers compared, {different} differ (must be 0)")
    return not different


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
