"""Whether this tree answers what another commit answered, before the code was moved.

    python -m validation.same_as 6dfc0fc                # examples, pages, 200 random studies
    python -m validation.same_as 6dfc0fc --random 2000 --seed 4711
    python -m validation.same_as 6dfc0fc --tenth        # a random tenth of all of it

Both trees answer the same questions, the examples and pages of the earlier one: JSON must be equal,
but for the keys of `RENAMED` and `ADDED`, for what was mended since (`MENDED`) and for what a
processor took; error messages must be equal to the letter. The exit status is 1 if one differs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random, SystemRandom
from tempfile import TemporaryDirectory
from typing import Any

from validation.same_answers import lay, tables, timeless
from validation.same_as.studies import studies

ROOT = Path(__file__).parents[2]
ANSWERING = Path(__file__).with_name("answering.py")

Answered = Mapping[str, object]
"""How a question was answered: exit code, stdout and stderr."""

RENAMED: Mapping[str, str] = {}
"""Keys that were renamed since, old to new."""

ADDED = frozenset({
    "groups", "halo", "shared_pictures",
    "links.staged", "links.staged_start", "links.staged_sum", "pictures.unshrunk",
})  # fmt: skip
"""Keys that documents have since: how two kinds of devices share a plan, and devices a picture."""

MENDED: Mapping[str, Callable[[Any, Any], bool]] = {
    # Of adapters on a model that ties its matrices, nothing was written out.
    "checkpoint_bytes": lambda was, now: was == 0.0 < now,
    # Differences of two sums: of one device, which exchanges with nobody, their rounding was left.
    "parameters": lambda was, now: abs(was - now) < 1e-15,
    # Models are data with their sizes and sources, all of which the catalogue shows.
    "figures": lambda was, now: all(each in now for each in was),
    # A checksum of the whole question, whose nouns have more fields since.
    "inputs": lambda was, now: len(was) == len(now),
    # Coefficients that are priced with since, of pictures that devices share, bring their sources.
    "sources": lambda was, now: all(each in now for each in was),
}
"""Figures that were wrong or not told before, and how they may differ since."""

SAID_SINCE: Sequence[str] = (", catalogue",)
"""What messages list besides, now that it is known."""

SAID_NOW: Mapping[str, str] = {
    "tensor divides the channels of its convolutions": "tensor divides 1",
}
"""What messages say instead, new to old: channels of convolutions may be divided since."""

OF_EACH: Sequence[Sequence[str]] = (
    ("estimate",),
    ("search",),
    ("search", "--keep", "3", "--robust"),
    ("search", "--keep", "2", "--why-not", "tp2", "--why-not", "recompute=full"),
)
OF_TABLES: Sequence[Sequence[str]] = (("validate",), ("calibrate", "--anyway"))


def main(arguments: Sequence[str]) -> int:
    """Ask both trees; 1 if an answer differs."""
    parser = ArgumentParser(prog="python -m validation.same_as")
    parser.add_argument("commit")
    parser.add_argument("--random", type=int, default=200, help="random studies")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--tenth", action="store_true")
    asked = parser.parse_args(arguments)
    print(f"{asked.random} random studies, seed {asked.seed}", flush=True)
    random = Random(asked.seed)
    with TemporaryDirectory() as name:
        folder = Path(name)
        before = folder / "before"
        git = ["git", "-C", str(ROOT), "archive", asked.commit]
        archive = subprocess.run(git, capture_output=True, check=True).stdout
        before.mkdir()
        subprocess.run(["tar", "-x", "-C", str(before)], input=archive, check=True)
        questions = list(_questions(folder, before, studies(asked.random, random)))
        if asked.tenth:
            questions = random.sample(questions, len(questions) // 10)
        running = [_ask(tree, questions, folder) for tree in (before, ROOT)]
        old, new = (_answers(process, place) for process, place in running)
        different = [
            (question, *pair)
            for question, *pair in zip(questions, old, new, strict=True)
            if not _alike(*(_plain(each, folder) for each in pair))
        ]
    for question, was, now in different:
        print(f"DIFFERENT {' '.join(question).replace(name + '/', '')}")
        print(*(f"  {each}" for each in _first_difference(was, now, folder)), sep="\n")
    answers = sum(each["code"] == 0 for each in new)
    print(f"{len(questions)} questions ({answers} answered, the others refused):", end=" ")
    print(f"{len(different)} differ from {asked.commit} (must be 0)")
    return bool(different)


def _questions(folder: Path, tree: Path, texts: Iterable[str]) -> Iterator[list[str]]:
    found = lay(folder, root=tree)
    for number, text in enumerate(texts):
        path = folder / f"random-{number}.toml"
        path.write_text(text)
        found.append(path)
    for path in found:
        text = path.read_text()
        if "[[members]]" in text or "[ensemble]" in text:
            continue  # their answers are measurements
        asked = [("simulate",)] if "[jobs]" in text else OF_EACH
        if "image = " in text:  # tp2 was no plan for pictures
            asked = [each for each in asked if "tp2" not in each]
        yield from ([*each, str(path), "--json"] for each in asked)
    for path in tables(folder, root=tree):
        yield from ([*each, str(path), "--json"] for each in OF_TABLES)
    yield from ([name, "--json"] for name in ("catalogue",))


def _ask(
    tree: Path, questions: Sequence[Sequence[str]], folder: Path
) -> tuple[subprocess.Popen[bytes], Path]:
    told, answers = folder / "questions.json", folder / f"answers-{tree.name}.json"
    told.write_text(json.dumps(questions))
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "NO_COLOR": "1", "COLUMNS": "100"}
    command = [sys.executable, *map(str, (ANSWERING, tree, told, answers, folder))]
    return subprocess.Popen(command, env=environment), answers


def _answers(process: subprocess.Popen[bytes], place: Path) -> list[Mapping[str, object]]:
    if process.wait() != 0:
        raise SystemExit(f"answering ended with status {process.returncode}")
    found: list[Mapping[str, object]] = json.loads(place.read_text())
    return found


def _plain(answer: Mapping[str, object], folder: Path) -> object:
    """An answer as it is compared: JSON as values with the new keys, else its text."""
    out = str(answer["out"])
    if answer["code"] != 0:
        told = str(answer["err"])
        for said in SAID_SINCE:
            told = told.replace(said, "")
        for now, was in SAID_NOW.items():
            told = told.replace(now, was)
        return answer["code"], told
    return _renamed(timeless(json.loads(out.replace(str(folder), ""))))


def _alike(was: object, now: object, key: str = "") -> bool:
    """Whether two answers are equal but for what was mended."""
    if was == now or (key in MENDED and MENDED[key](was, now)):
        return True
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        return now.keys() - was.keys() <= ADDED and all(
            name in now and _alike(item, now[name], name) for name, item in was.items()
        )
    if isinstance(was, list) and isinstance(now, list):
        return len(was) == len(now) and all(map(_alike, was, now))
    return False


def _renamed(value: object) -> object:
    if isinstance(value, Mapping):
        return {RENAMED.get(key, key): _renamed(item) for key, item in value.items()}
    return [_renamed(item) for item in value] if isinstance(value, list) else value


def _first_difference(was: Answered, now: Answered, folder: Path) -> Iterator[str]:
    """Where two answers part: the first value that is another, or the first letter."""
    if was["code"] == now["code"] == 0:
        parts = next(_different(_plain(was, folder), _plain(now, folder), ""), ("", "", ""))
        yield f"{parts[0]}: was {str(parts[1])[:100]!r}, is {str(parts[2])[:100]!r}"
        return
    for name, each, other in (("was", was, now), ("is", now, was)):
        text, beside = (str(it["err"] or it["out"]) for it in (each, other))
        place = next(
            (at for at, pair in enumerate(zip(text, beside, strict=False)) if pair[0] != pair[1]), 0
        )
        yield f"{name}: {each['code']} ...{text[max(0, place - 60) : place + 100]!r}"


def _different(was: object, now: object, path: str) -> Iterator[tuple[str, object, object]]:
    """Places of two documents that are not alike, and what stands there."""
    if _alike(was, now, path.rpartition(".")[2]):
        return
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for name in sorted(was.keys() | now.keys()):
            if name in was or name not in ADDED:
                yield from _different(was.get(name), now.get(name), f"{path}.{name}")
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for place, pair in enumerate(zip(was, now, strict=True)):
            yield from _different(*pair, f"{path}[{place}]")
    else:
        yield path, was, now


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
