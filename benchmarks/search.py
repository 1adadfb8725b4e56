"""Plans priced per processor second, and the time of one estimate.

    python benchmarks/search.py

Searches of one core, start-up apart, of every distinct legal combination of the keys that a search
leaves free: degrees of all axes, micro-batch, interleaving, sequence parallelism, how the context
axis exchanges, what is sharded among how many, recomputation, attention kernel, placement, and for
a mixture of experts the expert axis. One search frees the rest too: schedules, sends, cuts,
offloading, resharding and how many layers are recomputed. *Priced* are those that fit in memory and
reached the time formula. The least processor time of several repetitions counts, for whatever else
a machine does only adds to it. The exit status is 1 if a figure is worse than twice its limit.
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

from foretrain.files.study import read_study, study_from
from foretrain.plan.plan import Offload, Schedule, Sends
from foretrain.plan.study import Study
from foretrain.verbs.estimate import estimate
from foretrain.verbs.search import search

EXAMPLES = Path(__file__).parent.parent / "examples"
SEARCHES = 3
ESTIMATES = 200

PLANS_PER_SECOND = 1_000_000
EXPERT_PLANS_PER_SECOND = 500_000
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


def rate(name: str, study: Study, limit: float) -> bool:
    """Print what a search looks at and how long it takes; whether it is fast enough."""
    first = search(study, keep=1)
    spent = min(search(study, keep=1).seconds for _ in range(SEARCHES))
    print(f"{name}: {first.space:,} distinct legal plans, {first.priced:,} priced")
    print(f"  best         {first.best.plan}")
    print(f"  search       {spent:.2f} s (the first one {first.seconds:.2f} s)")
    print(f"  looked at    {first.space / spent:,.0f} plans per processor second")
    print(f"  priced       {first.priced / spent:,.0f} of them (limit {limit:,.0f})")
    return 2 * first.priced / spent > limit


def freed(study: Study) -> Study:
    """Every key free, also those that a search leaves alone, for some degrees."""
    space = replace(
        study.space,
        tensor=(4, 8),
        pipeline=(8,),
        micro_batch=(1, 2, 4),
        schedule=tuple(Schedule),
        sends=tuple(Sends),
        reshard=(True, False),
        offload=tuple(Offload),
        recompute_layers=(0, 24, 48, 72),
        cut=("even", "balanced"),
    )
    return replace(study, space=space)


def experts(model: str, nodes: int) -> Study:
    """A mixture of experts on nodes of eight H100."""
    return study_from(
        {
            "workload": {"model": model, "global_batch": 512, "sequence": 4096},
            "cluster": {"name": "dgx-h100", "nodes": nodes},
        },
        model,
    )


def main() -> bool:
    """Print every figure beside its limit; whether none is worse than twice its limit."""
    free = read_study(EXAMPLES / "gpt-3-175b-on-512-a100.toml")
    quick = [
        rate("GPT-3 175B on 512 A100", free, PLANS_PER_SECOND),
        rate("the same, every key free, some degrees", freed(free), PLANS_PER_SECOND),
        rate("Mixtral 8x7B on 128 H100", experts("mixtral-8x7b", 16), EXPERT_PLANS_PER_SECOND),
        rate("DeepSeek-V3 on 512 H100", experts("deepseek-v3", 64), EXPERT_PLANS_PER_SECOND),
    ]
    one = read_study(EXAMPLES / "llama-3-70b-one-plan.toml")
    closed = seconds(lambda: estimate(one, played=False), ESTIMATES)
    played = seconds(lambda: estimate(one), ESTIMATES // 4)
    print("one estimate of Llama-3-70B on 512 H100")
    print(f"  closed form  {closed * 1e3:.2f} ms (limit {CLOSED_FORM * 1e3:.0f} ms)")
    print(f"  simulated    {played * 1e3:.2f} ms (limit {SIMULATED:.0f} s)")
    return all(quick) and closed < 2 * CLOSED_FORM and played < 2 * SIMULATED


if __name__ == "__main__":
    sys.exit(not main())
