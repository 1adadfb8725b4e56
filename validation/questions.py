"""Fifteen ordinary questions, and whether what a search proposes is safe, different and proven.

    python -m validation.questions

Five models on three clusters, by the default search. The exit status is 1 if a plan that is
proposed fits with less than 95 %, if two of one question are of one class, if the first is not
proven or no trainer can run it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations
from time import process_time

from foretrain.errors import NoPlanFits
from foretrain.plan.study import SAFE, Study
from foretrain.search.certainty import distance
from foretrain.search.result import SearchResult
from foretrain.search.search import search
from foretrain.study.coefficients import DEFAULT
from foretrain.study.study import study_from
from foretrain.units import BYTES, SECONDS

MODELS = ("llama-3-8b", "qwen2.5-32b", "llama-3-70b", "mixtral-8x7b", "gpt-3-175b")
CLUSTERS: dict[str, dict[str, object]] = {
    "4 DGX H100": {"name": "dgx-h100", "nodes": 4},
    "8 DGX A100": {"name": "dgx-a100", "nodes": 8},
    "8 nodes of 4 A40": {
        "name": "pcie-8x-a40",
        "nodes": 8,
        "levels": [
            {
                "name": "node",
                "members": 4,
                "link": {
                    "technology": "pcie",
                    "kind": "tree",
                    "latency": "5.7 us",
                    "bandwidth": "31.5 GB/s",
                },
            },
            {
                "name": "fabric",
                "link": {
                    "technology": "ethernet",
                    "kind": "switch",
                    "latency": "14 us",
                    "bandwidth": "25 Gb/s",
                    "capacity": "25 Gb/s",
                },
            },
        ],
    },
}


def questions() -> Iterator[tuple[str, Study]]:
    """Every question with its name."""
    for model in MODELS:
        for name, cluster in CLUSTERS.items():
            workload = {
                "model": model,
                "global_batch": 256,
                "sequence": 4096,
                "precision": "bf16",
                "optimizer": "adamw",
            }
            yield f"{model} on {name}", study_from({"workload": workload, "cluster": cluster}, name)


def main() -> int:
    """Prints what is proposed; 1 if something is wrong with it."""
    wrong = []
    for name, study in questions():
        start = process_time()
        try:
            answer = search(study)
        except NoPlanFits as error:
            print(f"{name}: no plan is safe ({process_time() - start:.2f} s)\n{error}\n")
            if "What would fit" not in str(error):
                wrong.append(f"{name}: nothing is said that would fit")
            continue
        assert isinstance(answer, SearchResult)
        print(f"{name} ({process_time() - start:.2f} s)")
        print("\n".join(lines(answer)))
        wrong += [f"{name}: {text}" for text in faults(answer)]
    print("\n".join(wrong) or "every plan that is proposed is safe, different, proven, runnable")
    return 1 if wrong else 0


def lines(answer: SearchResult) -> Iterator[str]:
    """What is proposed, a line each."""
    for it in answer.plans:
        told = it.estimate
        yield (
            f"  {it.name}: {it.plan}: {SECONDS.write(told.step_time)}, {it.more:+.1%}, "
            f"{BYTES.write(told.memory.total)}, fits {told.memory.probability_fits:.1%}, "
            f"best {it.probability_best:.0%}, folded {it.folded}, {len(it.trainers)} trainers"
        )
    if answer.safety:
        risky = answer.safety.riskier
        yield (
            f"  safety costs {answer.safety.gain:.1%}: {risky.plan} fits with "
            f"{risky.estimate.memory.probability_fits:.0%}"
        )


def faults(answer: SearchResult) -> Iterator[str]:
    """What is wrong with what is proposed."""
    if not answer.proven_optimal:
        yield "is not proven"
    for it in answer.plans:
        if it.estimate.memory.probability_fits < SAFE:
            yield f"{it.plan} fits with {it.estimate.memory.probability_fits:.1%}"
        if not it.trainers:
            yield f"{it.plan} can be run by no trainer"
    for one, other in combinations(answer.plans, 2):
        apart = distance(DEFAULT.plan_errors, one.plan, other.plan)
        if abs(one.more - other.more) / (1.0 + min(one.more, other.more)) <= apart:
            yield f"{one.plan} and {other.plan} are of one class"


if __name__ == "__main__":
    sys.exit(main())
