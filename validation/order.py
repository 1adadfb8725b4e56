"""Whether predictions put plans in the right order, and what a wrong choice costs.

    python -m validation.order

A group of runs differs in nothing but the plan; repeats are merged. Predictions are cold: no
coefficient was fitted to a run of the publisher. Sources whose repeats scatter by 10 % or more
stand apart, for no model can order what does not repeat itself.

Batches of networks on images are told apart: there the batch is all that differs, and the largest
one is the best in nearly all groups.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from statistics import fmean, quantiles

from validation.fitting.decisions import (
    RULES,
    Choice,
    Decision,
    Preference,
    decisions,
    order,
    regrets,
    repeat_scatter,
)
from validation.fitting.lessons import UNSTEADY
from validation.fitting.scores import Scored, grouped
from validation.parts.claims import Claim, table
from validation.parts.cold import folds, judged

from foretrain.app.progress import engine


def main() -> int:
    """Prints every group and the claims; 1 if a bar is missed."""
    with engine(os.cpu_count() or 1) as spread:
        texts = judged("llm_training", folds(), engine=spread).scored
        pictures = judged("cnn_training", folds(), engine=spread).scored
    for name, rows in (("language models", texts), ("images", pictures)):
        tidy, others = apart(rows)
        print("\n".join([f"{name}: groups, order, mean regret, 90th percentile", *lines(tidy)]))
        if others:
            print("\n".join(["  and of sources whose repeats scatter:", *_line("", others)]))
    claims = list(of_order(apart(texts)[0]))
    print("\n".join(table(claims)))
    return 1 if any(claim.kept is False for claim in claims) else 0


def apart(rows: Sequence[Scored]) -> tuple[list[Decision], list[Decision]]:
    """The groups of sources that repeat themselves, and those of the others."""
    scatter = repeat_scatter(rows)
    found = decisions(rows)
    steady = [it for it in found if scatter.get(it.source_id, 0.0) < UNSTEADY]
    return steady, [it for it in found if it not in steady]


def predicted(choice: Choice) -> float:
    """What a prediction goes by."""
    return choice.predicted


def lines(groups: Sequence[Decision]) -> Iterator[str]:
    """What the predictions and every rule do, and the predictions source by source."""
    yield from _line("predicted", groups)
    for name, rule in RULES.items():
        yield from _line(name, groups, rule)
    for source, its in grouped(groups, lambda it: it.source_id).items():
        yield from _line(f"predicted, {source}", its)


def _line(name: str, groups: Sequence[Decision], prefer: Preference = predicted) -> Iterator[str]:
    right, lost = order(groups, prefer), regrets(groups, prefer)
    if lost and right is not None:
        yield f"  {name:28} {len(groups):4} {right:7.1%} {fmean(lost):7.1%} {ninetieth(lost):7.1%}"


def ninetieth(values: Sequence[float]) -> float:
    """The 90th percentile, by linear interpolation."""
    return quantiles(values, n=10, method="inclusive")[-1] if len(values) > 1 else values[0]


def of_order(groups: Sequence[Decision]) -> Iterator[Claim]:
    """What is claimed of the groups of language models."""
    lost = regrets(groups, predicted)
    rules = {name: fmean(regrets(groups, rule)) for name, rule in RULES.items()} if groups else {}
    best = min(rules.values(), default=None)
    yield Claim(name="plans: pairs in the right order", figure=order(groups, predicted), least=0.9)
    yield Claim(name="plans: mean regret", figure=fmean(lost) if lost else None, most=0.025)
    yield Claim(
        name="plans: 90th percentile of regret",
        figure=ninetieth(lost) if lost else None,
        most=0.1,
    )
    yield Claim(
        name="plans: mean regret over that of the best fixed rule",
        figure=fmean(lost) / best if lost and best else None,
        most=1.0,
    )


if __name__ == "__main__":
    sys.exit(main())
