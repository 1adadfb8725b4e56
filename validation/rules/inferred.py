"""Hidden sites whose rules are inferred from their logs alone, by the command's own door.

    python -m validation.rules.inferred               # 20 sites, drawn afresh; prints its seed
    python -m validation.rules.inferred --seed 4711   # the same again
    python -m validation.rules.inferred --sites 3
    python -m validation.rules.inferred --wide        # of sites with more that is unusual

Each site leaves a log as `sacct` prints it. A study names the log and says `infer = true`: nodes,
partitions, weights, shares, backfill and limits are found. The median waiting under them must be
within a tenth of the logged one on every site. Then the sections that the answer writes are asked
about another log of the same site, which nothing was inferred from: how far its median is off is
told, and no bar is set, for the little that weights differ adds up where a queue is long.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random, SystemRandom
from statistics import median
from typing import NamedTuple

from validation.parts.claims import Claim, table
from validation.rules.sites import HiddenSite, requests, site, starts, wider, written

from foretrain.jobs.simulate import simulate
from foretrain.study.queue_study import read_queue_study

SITES = 20
OFF = 0.1
"""Relative error of the median waiting that is put up with."""

STUDY = """
[jobs]
trace = "{log}"
policy = "slurm"

[simulation]
policies = ["slurm"]
"""


class Found(NamedTuple):
    """What came of a site.

    Attributes:
        off: relative error of the median waiting of the log that rules were inferred from.
        fresh: likewise of another log of the same site.
        told: in words.
    """

    off: float
    fresh: float
    told: str


def found(random: Random, folder: Path, *, wide: bool = False) -> Found:
    """A site, its log, and what its inferred rules make of this log and of another one."""
    hidden = wider(random, site(random)) if wide else site(random)
    logged = _log(random, hidden, folder / "sacct.txt")
    study = folder / "site.toml"
    study.write_text(STUDY.format(log="sacct.txt") + "\n[site]\ninfer = true\n", "utf-8")
    answer = simulate(read_queue_study(study))
    inferred = answer.inferred
    assert inferred is not None, "a study that infers has inferred rules"
    waits = answer.policies["slurm"].median_waiting
    then = _log(random, hidden, folder / "fresh.txt")
    study.write_text(STUDY.format(log="fresh.txt") + "\n" + inferred.written, "utf-8")
    later = simulate(read_queue_study(study)).policies["slurm"].median_waiting
    told = (
        f"{logged:8.0f} s logged, {waits:8.0f} s inferred; afresh {then:8.0f} s,"
        f" {later:8.0f} s; apart {inferred.apart:.3f}"
    )
    return Found(_off(waits, logged), _off(later, then), told)


def _off(found: float, logged: float) -> float:
    if found == logged:
        return 0.0
    return abs(found / logged - 1.0) if logged else 1.0


def _log(random: Random, hidden: HiddenSite, path: Path) -> float:
    """Write a log of a site; its median waiting."""
    jobs = requests(random, hidden, random.randint(150, 400))
    begun = starts(hidden, jobs)
    path.write_text(written(hidden, jobs, begun), "utf-8")
    return median(start - job.arrival for start, (job, _) in zip(begun, jobs, strict=True))


def claims(seed: int, sites: int, *, wide: bool = False) -> Sequence[Claim]:
    """Of how many sites the median waiting is near, under rules that their logs told."""
    results = []
    for place in range(sites):
        with tempfile.TemporaryDirectory() as folder:
            result = found(Random(f"{seed} inferred {place}"), Path(folder), wide=wide)
        print(f"site {place:2}: {result.told}", flush=True)
        results.append(result)
    near = sum(each.off <= OFF for each in results)
    return [
        Claim(
            name=f"of {sites} logs, median waiting within 10 % under rules inferred from them",
            figure=float(near),
            least=float(sites),
            write="{:.0f}".format,
        ),
        Claim(
            name="median over sites of how far the median waiting of another log is off",
            figure=median(each.fresh for each in results),
            write="{:.1%}".format,
        ),
    ]


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 where a log is not explained."""
    parser = argparse.ArgumentParser(prog="python -m validation.rules.inferred")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(10**6))
    parser.add_argument("--sites", type=int, default=SITES)
    parser.add_argument("--wide", action="store_true")
    asked = parser.parse_args(arguments)
    print(f"seed {asked.seed}")
    results = claims(asked.seed, asked.sites, wide=asked.wide)
    print("\n".join(table(results)))
    return int(any(claim.kept is False for claim in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
