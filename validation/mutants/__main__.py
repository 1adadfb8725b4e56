"""Whether the tests notice mistakes: random ones are made in the source, one at a time.

    python -m validation.mutants --cover                 # first: which tests run which lines
    python -m validation.mutants --count 200             # then: so many mistakes, from all areas
    python -m validation.mutants --count 200 --seed 4711 # the same ones again
    python -m validation.mutants --only jobs             # of one area alone
    python -m validation.mutants --within 60             # no more than a minute of tests for each

A mistake is killed when a test that `make test` runs fails; only tests that run its line can. Those
that live are listed in `survivors.toml`, each with the reason why no test can tell it from the
right source (it is equivalent then, and does not count) or why none does.

Needs the packages of the extra `test`, PyTorch, and `coverage`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import inf
from pathlib import Path
from random import Random, SystemRandom
from shutil import rmtree

from validation.mutants.areas import AREAS, files_of
from validation.mutants.covering import Covering, recorded
from validation.mutants.mutations import Mutant, mutants
from validation.mutants.survivors import Survivor, survivors
from validation.mutants.trial import ROOT, Outcome, tried

FOLDER = Path(os.environ.get("COVERING", ROOT / ".mutants"))
BAR = 0.9


def main(arguments: Sequence[str]) -> int:
    """Make mistakes, tell who lived; 1 if too many did."""
    parser = argparse.ArgumentParser(prog="python -m validation.mutants")
    parser.add_argument("--cover", action="store_true", help="record which tests run which lines")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--only", choices=sorted(AREAS))
    parser.add_argument(
        "--within",
        type=float,
        default=inf,
        help="seconds of tests for each; what lives may be killed by the rest of the tests",
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    asked = parser.parse_args(arguments)
    if asked.cover:
        return cover(asked.workers)
    print(f"{asked.count} mistakes, seed {asked.seed}", flush=True)
    areas = [asked.only] if asked.only else sorted(AREAS)
    drawn = dict(sample(areas, asked.count, Random(asked.seed)))
    known = survivors()
    covering = recorded(FOLDER)
    told = {}
    with ProcessPoolExecutor(asked.workers) as pool:
        trial = partial(_tried, covering, known, within=asked.within)
        for one, outcome in zip(drawn, pool.map(trial, drawn), strict=True):
            told[one] = outcome
            if outcome is not Outcome.KILLED:
                print(f"{outcome.value}: {drawn[one]}: {one.file.name}:{one.line} {one.name}")
                sys.stdout.flush()
    return table(drawn, told)


def cover(workers: int) -> int:
    """Record which tests run which lines; takes about twice as long as the tests."""
    rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    plugin = ["-p", "validation.mutants.covering", "-n", str(workers), "--dist", "worksteal"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugin],
        cwd=ROOT,
        env={**os.environ, "COVERING": str(FOLDER), "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        check=False,
    ).returncode


def sample(areas: Sequence[str], count: int, random: Random) -> Iterator[tuple[Mutant, str]]:
    """So many mistakes, as many from every area, each with its area."""
    for number, area in enumerate(areas):
        all_of_area = [each for file in files_of(area) for each in mutants(file)]
        share = (count + number) // len(areas)
        yield from ((each, area) for each in random.sample(all_of_area, share))


def _tried(
    covering: Covering, known: Mapping[str, Survivor], mutant: Mutant, *, within: float
) -> Outcome:
    listed = known.get(mutant.name)
    if listed is not None and listed.equivalent:
        return Outcome.EQUIVALENT
    return tried(mutant, covering, within=within)


def table(areas: Mapping[Mutant, str], told: Mapping[Mutant, Outcome]) -> int:
    """Print who lived, by area; 1 if it is more than a tenth of those that are not equivalent."""
    print(f"\n{'area':14}{'killed':>8}{'lived':>8}{'equivalent':>12}")
    for area in (*sorted(set(areas.values())), "all"):
        some = [told[one] for one, its in areas.items() if area in {its, "all"}]
        killed = some.count(Outcome.KILLED)
        equivalent = some.count(Outcome.EQUIVALENT)
        print(f"{area:14}{killed:8}{len(some) - killed - equivalent:8}{equivalent:12}")
    share = killed / (len(some) - equivalent)
    print(f"{share:.1%} of those that are not equivalent were killed; must be {BAR:.0%}")
    return share < BAR


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
