"""Plans priced per processor second, and the time of one estimate.

    python benchmarks/search.py

A search of GPT-3 175B on 512 A100 with a global batch of 1536, one core, start-up apart. Every plan
of the space is a distinct legal combination of degrees, micro-batch, interleaving, sequence
parallelism, sharding, recomputation, attention kernel and placement; *priced* are those that fit in
memory and reached the time formula. The least processor time of several repetitions counts, for
whatever else a machine does only adds to it. The exit status is 1 if a figure is worse than twice
its limit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import process_time

# One core: NumPy's linear algebra, which nothing here uses, would start threads at import.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from foretrain.files.study import read_study
from foretrain.plan.study import Study
from foretrain.verbs.estimate import estimate
from foretrain.verbs.search import search
from foretrain.workload.operator import Attention

EXAMPLES = Path(__file__).parent.parent / "examples"
SEARCHES = 25
ESTIMATES = 200

PLANS_PER_SECOND = 1_000_000
CLOSED_FORM = 2e-3
SIMULATED = 1.0


def seconds(question: Callable[[], object], times: int) -> float:
    """Processor seconds of one answer, the least of several."""
    least = float("inf")
    for _ in range(times):
        start = process_time()
        question()
        least = min(least, process_time() - start)
    return least


def rate(study: Study) -> float:
    """Print what a search looks at and how long it takes; plans priced per processor second."""
    first = search(study, keep=1)
    spent = min(search(study, keep=1).seconds for _ in range(SEARCHES))
    fixed = "everything free" if study.space.attention is None else "flash attention fixed"
    print(f"{fixed}: {first.space:,} distinct legal plans, {first.priced:,} priced")
    print(f"  best         {first.best.plan}")
    print(f"  search       {spent * 1e3:.1f} ms (the first one {first.seconds * 1e3:.1f} ms)")
    print(f"  priced       {first.priced / spent:,.0f} plans per processor second")
    return first.priced / spent


def main() -> bool:
    """Print every figure beside its limit; whether none is worse than twice its limit."""
    free = read_study(EXAMPLES / "gpt-3-175b-on-512-a100.toml")
    flash = replace(free, space=replace(free.space, attention=(Attention.FLASH,)))
    rates = [rate(free), rate(flash)]
    print(f"  limit        {PLANS_PER_SECOND:,} plans per processor second")
    one = read_study(EXAMPLES / "llama-3-70b-one-plan.toml")
    closed = seconds(lambda: estimate(one, played=False), ESTIMATES)
    played = seconds(lambda: estimate(one), ESTIMATES // 4)
    print("one estimate of Llama-3-70B on 512 H100")
    print(f"  closed form  {closed * 1e3:.2f} ms (limit {CLOSED_FORM * 1e3:.0f} ms)")
    print(f"  simulated    {played * 1e3:.2f} ms (limit {SIMULATED:.0f} s)")
    return 2 * min(rates) > PLANS_PER_SECOND and closed < 2 * CLOSED_FORM and played < 2 * SIMULATED


if __name__ == "__main__":
    sys.exit(not main())
