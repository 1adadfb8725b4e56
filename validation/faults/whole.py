"""All faults of one version in one run: those at random, those with a name, and long stops.

    python -m validation.faults.whole                      # 300 and more: an hour or so
    python -m validation.faults.whole --runs 20 --times 1  # a part of them

What went wrong is told at once, how far it is every ten runs; the last line counts.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

from validation.faults.named import SCENARIOS, right, stopped
from validation.faults.table import detail, outcome, row

LONG = 60.0
"""Seconds for which each role is stopped, once."""


def main(arguments: list[str]) -> int:
    """Plays them all; 1 if one went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200, help="at random")
    parser.add_argument("--seed", type=int, default=0, help="of the first of these")
    parser.add_argument("--times", type=int, default=5, help="each with a name")
    parser.add_argument("--stop", type=float, default=LONG, help="seconds of the long stops")
    asked = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    outcomes, well = [], 0
    for seed in range(asked.seed, asked.seed + asked.runs):
        outcomes.append(one := outcome(seed))
        well += one.is_right
        if not one.is_right:
            print(detail(one), flush=True)
        if len(outcomes) % 10 == 0:
            print(f"at random: {well} of {len(outcomes)}", flush=True)
    if outcomes:
        print(row(outcomes), flush=True)
    played, right_named = 0, 0
    named = {**SCENARIOS, "stopped for 2 s": partial(stopped, 2.0)}
    for name, scenario in named.items():
        good = sum(right(scenario, 2.0) for _ in range(asked.times))
        played, right_named = played + asked.times, right_named + good
        print(f"{name}: {good} of {asked.times}", flush=True)
    good = right(partial(stopped, asked.stop), asked.stop)
    print(f"stopped for {asked.stop:g} s: {int(good)} of 1", flush=True)
    played, right_named = played + 1 + len(outcomes), right_named + good + well
    print(f"{right_named} of {played}", flush=True)
    return int(right_named < played)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
