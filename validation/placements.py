"""A step on random nodes of a torus like that of Blue Waters, and of a rack.

    python -m validation.placements                      # 1,000 placements a row
    python -m validation.placements --draws 100 --seed 1

The training is that of `validation.cntk`, synchronous, with one server, with four and with 16.
Printed are what one placement in ten stays below, the median, what one in ten exceeds, and nodes
that lie together; the exit status is 1 if those are slower than the median. Jobs beside are not
counted, so what is printed is the spread that distance alone makes.

Beyond what is judged, of 130 pairs of 1 to 32 servers and 1 to 48 workers three are slower than the
median: 24 servers with 20 workers by 0.1 %, 32 with 48 by 0.2 %, 32 with 40 by 2 %.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from time import process_time

from foretrain.plan.servers import SYNCHRONOUS, Training
from foretrain.queueing.placements import Fabric, Rack, Torus, placement_spread
from validation import cntk

BLUE_WATERS = Torus(
    sides=(24, 24, 24),
    # From memory: links along y have half as many lanes.
    bandwidths=(75e9 / 8, 37.5e9 / 8, 75e9 / 8),
    per_router=2,
)
"""From memory, as all of it: 13,824 Gemini routers of two nodes each."""

RACK = Rack(nodes=96)
"""As many nodes as one cabinet of it has: 24 blades of 4 (from memory)."""

WORKERS = (1, 2, 4, 8, 16, 32, 64)
SERVERS = (1, 4, 16)

SLACK = 1.0 + 1e-9
"""Rounding: where servers' connections limit, all placements take equally long."""


def training_with(servers: int) -> Training:
    """The training of the case, synchronous."""
    case = cntk.case_of({**cntk.inputs("fact"), **cntk.inputs("assumed")})
    assert case.training.servers
    many = replace(case.training.servers, count=servers)
    return replace(case.training, servers=many, updates=SYNCHRONOUS)


def kept(name: str, fabric: Fabric, *, servers: int, draws: int, seed: int) -> bool:
    """Print the spread for each number of workers; whether packed nodes are never slower."""
    training, kept = training_with(servers), True
    for workers in WORKERS:
        start = process_time()
        found = placement_spread(training, fabric, workers=workers, draws=draws, seed=seed)
        sound = found.packed <= SLACK * found.p50
        kept = kept and sound
        print(
            f"{name:<6}{servers:>2} servers {workers:>3} workers   p10 {found.p10:.4f} s"
            f"   p50 {found.p50:.4f} s   p90 {found.p90:.4f} s   packed {found.packed:.4f} s"
            f"   {'' if sound else 'slower than the median'} ({process_time() - start:.1f} s)"
        )
    return kept


def main(arguments: list[str]) -> bool:
    """Print both networks; whether packed nodes are never slower than the median."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    verdicts = [
        kept(name, fabric, servers=servers, draws=asked.draws, seed=asked.seed)
        for name, fabric in (("torus", BLUE_WATERS), ("rack", RACK))
        for servers in SERVERS
    ]
    return all(verdicts)


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1:]))
