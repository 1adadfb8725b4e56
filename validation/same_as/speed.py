"""Whether this tree searches as quickly as another commit did, in turns.

    python -m validation.same_as.speed 6dfc0fc            # five turns of each study
    python -m validation.same_as.speed 6dfc0fc --turns 9

Both trees search the same studies, one after the other and in turns, so that what else the machine
does falls on both. A turn is the processor time that the search says it took; the quickest of each
tree count. The exit status is 1 where this tree reaches less than 0.95 of the plans per second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
STUDIES = (
    "llama-3-70b-on-512-h100.toml",
    "gpt-3-175b-on-512-a100.toml",
    "mixtral-8x7b.toml",
    "cheapest-nodes.toml",
)
LEAST = 0.95


def seconds(tree: Path, study: Path) -> float:
    """Processor seconds of a search with the foretrain of a tree."""
    command = [sys.executable, "-c", "from foretrain.app.main import run; run()"]
    place = {"PYTHONPATH": str(tree / "src")}
    if not (tree / "src/foretrain/app/main.py").exists():
        command[2] = "from foretrain.cli.main import run; run()"
    done = subprocess.run(
        [*command, "search", str(study), "--json"],
        env={**os.environ, **place},
        capture_output=True,
        check=True,
    )
    found: float = json.loads(done.stdout)["seconds"]
    return found


def main(arguments: Sequence[str]) -> int:
    """Print the ratio of plans per second, study by study; 1 if their mean is too low."""
    parser = ArgumentParser(prog="python -m validation.same_as.speed")
    parser.add_argument("commit")
    parser.add_argument("--turns", type=int, default=5)
    asked = parser.parse_args(arguments)
    with TemporaryDirectory() as name:
        before = Path(name)
        git = ["git", "-C", str(ROOT), "archive", asked.commit]
        archive = subprocess.run(git, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(before)], input=archive, check=True)
        ratios = []
        for study in STUDIES:
            path = before / "examples" / study
            turns = [(seconds(before, path), seconds(ROOT, path)) for _ in range(asked.turns)]
            was, now = map(min, zip(*turns, strict=True))
            ratios.append(was / now)
            print(f"{study}: {was:.3f} s before, {now:.3f} s now, {was / now:.3f}x", flush=True)
    mean = prod(ratios) ** (1 / len(ratios))
    print(f"plans per second: {mean:.3f}x those of {asked.commit} (at least {LEAST})")
    return int(mean < LEAST)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
