"""How far off predictions are of software, and of devices, that no coefficient was fitted to.

    python -m validation.software            # prints every figure; fails on a drop below the record
    python -m validation.software --record   # writes recorded_software.toml and the page's table

A run of a trainer that we know says little of one that we do not. So every row of the tables is
predicted twice: by the set that was fitted without its family of software, and by the one without
its generation of devices (`folds/software`, `folds/generation`; `python -m validation.calibrate`
makes them). The exit status is 1 if a figure is worse than the recorded one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean, median

import numpy as np
from validation.fitting.classes import is_hybrid, is_of_experts
from validation.fitting.decisions import decisions, order, regrets
from validation.fitting.lessons import held_out, interval_score, learned, lessons_of, observed
from validation.fitting.scores import Scored, Spread, grouped, spread
from validation.order import apart, ninetieth, predicted
from validation.parts.claims import Claim
from validation.parts.cold import Judged, folds, judged
from validation.parts.families import family_of, generation_of, model_of, precision_of
from validation.parts.record import Recorded, told
from validation.widths import taught

from foretrain.app.progress import engine
from foretrain.evidence.validate import Engine, Status
from foretrain.measured.coverage import blanks
from foretrain.measured.run import MeasuredRun
from foretrain.study.coefficients import PRIORS

TEXTS = ("llm_training", "more/llm_training")
PICTURES = ("cnn_training", "more/cnn_training", "single_device", "more/single_device")
LEAST = 20
"""Scored rows without which a family, or a generation, is reported and not averaged."""
CELL = 10
"""Scored rows without which a cell of software, generation and precision is not judged."""
JUDGED_GENERATIONS = ("volta", "ampere", "hopper", "blackwell")
SMALL = "vtrain-single"

Key = Callable[[MeasuredRun], str]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The rows of some tables, with a group of each left out.

    Attributes:
        scored: those that count.
        coverage: share of the rows with model, device, count and batch that are predicted.
    """

    scored: tuple[Scored, ...]
    coverage: float


RECORDED = Recorded(
    path=Path(__file__).parent / "recorded_software.toml",
    command="validation.software",
    mark="software",
    page=Path(__file__).parents[1] / "docs" / "background" / "software-left-out.md",
)


def main(arguments: Sequence[str]) -> int:
    """Prints every figure; 1 if one has dropped."""
    with engine(os.cpu_count() or 1) as pool:
        texts = kept_out(TEXTS, "software", family_of, pool=pool)
        older = kept_out(TEXTS, "generation", generation_of, pool=pool)
        models = kept_out(("llm_training",), "model", named(model_of), pool=pool)
        recipes = kept_out(("llm_training",), "precision", named(precision_of), pool=pool)
        cold = kept_out(TEXTS, "", None, pool=pool)
        pictures = kept_out(PICTURES, "software", family_of, pool=pool)
        older_pictures = kept_out(PICTURES, "generation", generation_of, pool=pool)
    for title, found, key in (
        ("LLM, software left out", texts, family_of),
        ("LLM, generation left out", older, generation_of),
        ("pictures, software left out", pictures, family_of),
        ("pictures, generation left out", older_pictures, generation_of),
    ):
        print("\n".join([f"{title}: rows, mean, median, bias", *lines(found.scored, key)]))
    print("\n".join(["cells with bias beyond 12 %", *cells_beyond(texts.scored, 0.12)]))
    tenths = by_host_share(texts.scored)
    print("rows by tenth of host share:", *(len(its) for its in tenths.values()))
    print(
        "\n".join(["cells of pictures with bias beyond 10 %", *cells_beyond(pictures.scored, 0.1)])
    )
    claims = [
        *of_texts(texts),
        *of_generations(older.scored),
        *of_hosts(texts.scored),
        *of_small(cold.scored),
        *of_intervals(cold.scored, texts.scored, older.scored),
        *of_plans(texts.scored),
        *of_experts(models.scored, recipes.scored),
        *of_pictures(pictures, older_pictures),
    ]
    return told(claims, RECORDED, record="--record" in arguments)


def kept_out(tables: Sequence[str], kind: str, group: Key | None, *, pool: Engine) -> Kept:
    """Rows of some tables, each predicted by the set without its group."""
    sets = folds(kind)
    found = [judged(name, sets, engine=pool, group=group) for name in tables]
    return Kept(
        scored=tuple(chain.from_iterable(it.scored for it in found)), coverage=covered(found)
    )


def is_sparse(run: MeasuredRun) -> bool:
    """Whether a model is a mixture of experts, with state-space layers or without."""
    return is_of_experts(run) or is_hybrid(run)


def covered(found: Iterable[Judged]) -> float:
    """Share of the rows that state what a prediction cannot do without which are predicted."""
    told = [
        row.status is not Status.NOT_PREDICTED
        for it in found
        for run, row in zip(it.runs, it.rows, strict=True)
        if not blanks(run)
    ]
    return fmean(told)


def lines(rows: Sequence[Scored], key: Key) -> Iterator[str]:
    """Errors of each group, those with few rows too."""
    for name, its in sorted(grouped(rows, lambda row: key(row.run)).items()):
        found = errors(its)
        few = "" if len(its) >= LEAST else "  (few)"
        yield (
            f"  {name:24} {found.rows:5} {found.mean:7.1%} {found.median:7.1%} "
            f"{bias(its):+7.1%}{few}"
        )


def errors(rows: Iterable[Scored]) -> Spread:
    """Mean and median of the absolute errors."""
    return spread([abs(row.error) for row in rows])


def bias(rows: Iterable[Scored]) -> float:
    """What predictions are off in the median."""
    return median(row.error for row in rows)


def averaged(rows: Sequence[Scored], key: Key, names: Sequence[str] = ()) -> list[Spread]:
    """Errors of every group with enough rows, of those named if any are."""
    found = grouped(rows, lambda row: key(row.run))
    return [
        errors(its)
        for name, its in sorted(found.items())
        if len(its) >= LEAST and (not names or name in names)
    ]


def of_texts(texts: Kept) -> Iterator[Claim]:
    """Language models, software left out."""
    found = averaged(texts.scored, family_of)
    mean = fmean(each.mean for each in found)
    worst = max(each.mean for each in found)
    middle = fmean(each.median for each in found)
    yield Claim(name="LLM, software left out: mean over families", figure=mean, most=0.15)
    yield Claim(name="LLM, software left out: median over families", figure=middle, most=0.11)
    yield Claim(name="LLM, software left out: worst family's mean", figure=worst, most=0.25)
    yield Claim(name="LLM: coverage", figure=texts.coverage, least=0.97)


def of_generations(rows: Sequence[Scored]) -> Iterator[Claim]:
    """Language models, generation of devices left out."""
    found = averaged(rows, generation_of, JUDGED_GENERATIONS)
    mean, middle = fmean(each.mean for each in found), fmean(each.median for each in found)
    yield Claim(name="LLM, generation left out: mean", figure=mean, most=0.18)
    yield Claim(name="LLM, generation left out: median", figure=middle, most=0.12)


def of_hosts(rows: Sequence[Scored]) -> Iterator[Claim]:
    """Bias by the share of a step that its host needs, and by cell."""
    for tenth, its in by_host_share(rows).items():
        yield Claim(
            name=f"bias, host share {tenth / 10:.1f}",
            figure=bias(its),
            most=0.08,
            least=-0.08,
        )
    yield Claim(
        name="LLM: cells with >= 10 rows within 12 %", figure=cells_within(rows, 0.12), least=0.9
    )


def by_host_share(rows: Sequence[Scored]) -> dict[int, list[Scored]]:
    """Rows by the tenth of their passes that their host needs."""
    tenths: dict[int, list[Scored]] = {}
    for row in rows:
        if row.situation is not None:
            tenths.setdefault(min(int(10 * row.situation.host_bound), 9), []).append(row)
    return dict(sorted(tenths.items()))


def cell_of(run: MeasuredRun) -> str:
    """Software, generation and precision."""
    return f"{family_of(run)}, {generation_of(run)}, {run.precision or 'not stated'}"


def cells(rows: Sequence[Scored]) -> dict[str, list[Scored]]:
    """The rows of every cell with enough of them."""
    found = grouped(rows, lambda row: cell_of(row.run))
    return {name: its for name, its in sorted(found.items()) if len(its) >= CELL}


def cells_within(rows: Sequence[Scored], most: float) -> float:
    """Share of the cells whose bias is small."""
    return fmean(abs(bias(its)) <= most for its in cells(rows).values())


def cells_beyond(rows: Sequence[Scored], most: float) -> Iterator[str]:
    """The cells whose bias is not."""
    for name, its in cells(rows).items():
        if abs(bias(its)) > most:
            yield f"  {name:60} {len(its):4} {bias(its):+7.1%}"


def of_intervals(
    cold: Sequence[Scored], software: Sequence[Scored], generation: Sequence[Scored]
) -> Iterator[Claim]:
    """Intervals of rows whose software nobody has seen, learned without it."""
    lessons = lessons_of(
        taught(cold),
        PRIORS.coefficients.uncertainty,
        besides=[(taught(software), software_of), (taught(generation), kind_of_device)],
    )
    held = held_out(lessons, observed(software, group=software_of))
    families = grouped(held, lambda it: it.observed.publisher)
    inside = [fmean(it.inside for it in its) for its in families.values() if len(its) >= LEAST]
    found = interval_score(held)
    many = len(inside)
    yield Claim(
        name=f"intervals, software left out: families of {many} with 60 % inside",
        figure=float(sum(share >= 0.6 for share in inside)) / many,
        least=7 / 8,
    )
    yield Claim(
        name="intervals, software left out: inside, pooled",
        figure=found.coverage,
        least=0.75,
        most=0.87,
    )
    yield Claim(
        name="intervals, software left out: score over one width for all",
        figure=found.score / found.constant,
        most=1.0,
    )
    learned_widths = learned(lessons)
    yield Claim(
        name="intervals: widening where the software is not known",
        figure=learned_widths.software,
        write="{:.2f}".format,
    )


def software_of(run: MeasuredRun) -> str:
    """The group of a run's family."""
    return f"software/{family_of(run)}"


def kind_of_device(run: MeasuredRun) -> str:
    """The group of a run's generation."""
    return f"generation/{generation_of(run)}"


def of_small(rows: Sequence[Scored]) -> Iterator[Claim]:
    """The 720 plans of small GPTs, without anything of their publisher."""
    its = [row for row in rows if row.run.source_id == SMALL]
    groups = decisions(its)
    yield Claim(name="small GPTs, publisher left out: mean", figure=errors(its).mean, most=0.20)
    yield Claim(name="small GPTs: pairs in order", figure=order(groups, predicted), least=0.88)
    yield Claim(name="small GPTs: mean regret", figure=fmean(regrets(groups, predicted)), most=0.06)


def of_plans(rows: Sequence[Scored]) -> Iterator[Claim]:
    """Choices among plans, software left out."""
    groups = apart(rows)[0]
    lost = regrets(groups, predicted)
    yield Claim(name="plans: pairs in order", figure=order(groups, predicted), least=0.90)
    yield Claim(name="plans: mean regret", figure=fmean(lost), most=0.02)
    yield Claim(name="plans: 90th percentile of regret", figure=ninetieth(lost), most=0.08)


def named(group: Key) -> Key:
    """A group without the folder of its set."""
    return lambda run: group(run).partition("/")[2]


def of_experts(models: Sequence[Scored], recipes: Sequence[Scored]) -> Iterator[Claim]:
    """Mixtures of experts, all of one publisher: each model left out, then each precision."""
    its = [row for row in models if is_sparse(row.run)]
    found = errors(its)
    yield Claim(name="experts, model left out: mean", figure=found.mean, most=0.20)
    yield Claim(name="experts, model left out: median", figure=found.median, most=0.14)
    its = [row for row in recipes if is_sparse(row.run)]
    found = errors(its)
    yield Claim(name="experts, precision left out: mean", figure=found.mean, most=0.20)
    yield Claim(name="experts, precision left out: median", figure=found.median, most=0.14)
    for recipe, rows_of in sorted(grouped(its, lambda row: row.run.precision).items()):
        if len(rows_of) >= CELL:
            yield Claim(
                name=f"experts: bias of {recipe}",
                figure=float(np.mean([row.error for row in rows_of])),
                most=0.15,
                least=-0.15,
            )


def of_pictures(software: Kept, generation: Kept) -> Iterator[Claim]:
    """Networks of pictures and single devices."""
    for name, rows, key in (
        ("software", software.scored, family_of),
        ("generation", generation.scored, generation_of),
    ):
        found = averaged(rows, key)
        mean, middle = fmean(it.mean for it in found), fmean(it.median for it in found)
        yield Claim(name=f"pictures, {name} left out: mean", figure=mean, most=0.14)
        yield Claim(name=f"pictures, {name} left out: median", figure=middle, most=0.10)
    yield Claim(
        name="pictures: cells with >= 10 rows within 10 %",
        figure=cells_within(software.scored, 0.10),
        least=0.9,
    )
    yield Claim(name="pictures: coverage", figure=software.coverage, least=0.95)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
