"""The command: see the package."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from random import SystemRandom
from typing import Final

from validation.fuzz.doors import doors
from validation.fuzz.trial import Outcome, content_of, tried
from validation.fuzz.workers import outcomes

MUTANTS: Final = 10_000


def main(arguments: Sequence[str]) -> int:
    """Run the mutants that are asked for; 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m validation.fuzz")
    parser.add_argument("--mutants", type=int, default=MUTANTS)
    parser.add_argument("--tenth", type=int, nargs="?", const=-1, metavar="SEED")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", metavar="DOOR", help="mutants of this door alone")
    parser.add_argument("--replay", metavar="DOOR:NUMBER")
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args(arguments)
    seed = given.seed
    if given.tenth is not None:
        seed = given.tenth if given.tenth >= 0 else SystemRandom().randrange(10**6)
        print(f"a random tenth, seed {seed}")
    if given.replay:
        return _replay(given.replay, seed)
    mutants = given.mutants // 10 if given.tenth is not None else given.mutants
    names = [
        door.name
        for turn in range(max(door.share for door in doors()))
        for door in doors()
        if turn < door.share and given.only in {None, door.name}
    ]
    asked = [(names[number % len(names)], number) for number in range(mutants)]
    found = list(outcomes(asked, seed=seed, workers=given.workers))
    return _report(found, seed)


def _replay(which: str, seed: int) -> int:
    """One mutant again: what its file holds, and what comes of it."""
    name, _, number = which.partition(":")
    door = {each.name: each for each in doors()}[name]
    _, content, _ = content_of(door, int(number), seed)
    print("no file" if content is None else content[:20_000].decode("utf-8", "backslashreplace"))
    with tempfile.TemporaryDirectory() as folder:
        found = tried(door, int(number), seed=seed, folder=Path(folder) / "there")
    print(f"{found.kind} in {found.seconds:.2f} s: {found.told}")
    return found.kind == "failed"


def _report(found: Sequence[Outcome], seed: int) -> int:
    """A line per door, then what failed."""
    by_door: dict[str, list[Outcome]] = defaultdict(list)
    for each in found:
        by_door[each.door].append(each)
    print(
        f"{'door':24}{'mutants':>8}{'read':>7}{'refused':>9}{'failed':>8}{'slowest':>10}{'CPU':>8}"
    )
    for door, mine in sorted(by_door.items()):
        kinds = Counter(each.kind for each in mine)
        slowest, all_of_it = max(e.seconds for e in mine), sum(e.seconds for e in mine)
        print(
            f"{door:24}{len(mine):8}{kinds['read']:7}{kinds['refused']:9}{kinds['failed']:8}"
            f"{slowest:8.2f} s{all_of_it:6.1f} s"
        )
    failed = [each for each in found if each.kind == "failed"]
    for each in failed:
        print(f"\nfailed: --replay {each.door}:{each.number} --seed {seed}\n{each.told}")
    slowest = max(found, key=lambda each: each.seconds)
    print(
        f"\n{len(found):,} mutants, {len(failed)} failed; slowest {slowest.seconds:.2f} s"
        f" ({slowest.door}:{slowest.number}); at most {max(e.peak for e in found) / 2**20:.0f} MiB"
    )
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
