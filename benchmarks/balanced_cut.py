"""The balanced cut against every cut, on random rows of layers, and how long a large one takes.

    python benchmarks/balanced_cut.py

A row has 1 to 12 layers of random times, what stands before and after them likewise. The exit
status is 1 if a slowest part differs or the large cut takes more than its limit.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import combinations, pairwise
from random import Random
from time import process_time

from foretrain.step.strategies.pipeline import balanced

ROWS = 200
SEED = 20261121
LAYERS, PARTS = 126, 64
REPETITIONS = 10
LIMIT = 10e-3
ROUNDING = 1e-11


def slowest(own: Sequence[float], bounds: Sequence[int]) -> float:
    """Seconds of the slowest part between neighbouring bounds."""
    return max(sum(own[start:end]) for start, end in pairwise(bounds))


def difference(random: Random) -> tuple[int, float]:
    """Cuts of a random row, and what the slowest part of the balanced one takes above the least."""
    own = [random.random() for _ in range(random.randint(1, 12))]
    first, last, parts = random.random(), 3 * random.random(), random.randint(1, len(own))
    cut = balanced(own, first=first, last=last, parts=parts)
    own[0] += first
    own[-1] += last
    inner = combinations(range(1, len(own)), parts - 1)
    every = [slowest(own, (0, *bounds, len(own))) for bounds in inner]
    found = slowest(own, [sum(cut[:part]) for part in range(parts + 1)])
    return len(every), found / min(every) - 1


def spent() -> float:
    """Processor seconds of the large cut."""
    start = process_time()
    balanced([0.1] * LAYERS, first=0.05, last=0.3, parts=PARTS)
    return process_time() - start


def main() -> bool:
    """Print both figures beside their limits; whether they keep them."""
    random = Random(SEED)
    rows = [difference(random) for _ in range(ROWS)]
    equal = sum(above <= ROUNDING for _, above in rows)
    cuts = sum(number for number, _ in rows)
    print(f"slowest part as quick as of all {cuts:,} cuts: {equal} of {ROWS} random rows")
    seconds = min(spent() for _ in range(REPETITIONS))
    print(f"{LAYERS} layers in {PARTS} parts: {seconds * 1e3:.1f} ms (limit {LIMIT * 1e3:.0f} ms)")
    return equal == ROWS and seconds <= LIMIT


if __name__ == "__main__":
    sys.exit(not main())
