"""One table of everything that is claimed about accuracy, and what has come out so far.

    python -m validation.accuracy            # prints the table; fails on a drop below the record
    python -m validation.accuracy --record   # writes recorded_accuracy.toml and the README's table

Every figure is computed anew by the script that it belongs to: `scores`, `order`, `coverage`,
`memory`, `collectives`, `single_device`. A figure drops if it is worse than the recorded one by
more than rounding. A test holds the README's table and the record together.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import TypeVar

from validation.claims import Claim, table
from validation.cold import Judged, folds, judged, stand_ins
from validation.coverage import coverage
from validation.order import apart, of_order
from validation.scores import of_intervals, of_pictures, of_texts

from foretrain.calibrate.classes import is_hybrid
from foretrain.calibrate.collectives import errors, fitted
from foretrain.files.coefficients import PRIORS
from foretrain.measured.run import MeasuredRun
from foretrain.verbs.engine import engine
from foretrain.verbs.validate import validate
from validation import collectives, memory, single_device

RECORD = Path(__file__).parent / "recorded_accuracy.toml"
README = Path(__file__).parents[1] / "README.md"
AROUND = ("<!-- accuracy: python -m validation.accuracy --record -->", "<!-- end of accuracy -->")
"""What stands before and after the table in the README."""
Answer = TypeVar("Answer")

ROUNDING = 0.001
"""Difference of two figures that other versions of NumPy may make."""


def main(arguments: Sequence[str]) -> int:
    """Prints the table; 1 if a figure has dropped."""
    found = list(claims())
    if "--record" in arguments:
        RECORD.write_text(as_toml(found), "utf-8")
        README.write_text(shown_in(README.read_text("utf-8"), recorded(RECORD)), "utf-8")
    print("\n".join(table(found)))
    lost = list(drops(found, recorded(RECORD)))
    print("\n".join(lost) or "nothing has dropped below what is recorded")
    return 1 if lost else 0


def claims() -> Iterator[Claim]:
    """Everything that is claimed."""
    with engine(os.cpu_count() or 1) as spread:
        sets = folds()
        texts = judged("llm_training", sets, engine=spread)
        pictures = judged("cnn_training", sets, engine=spread)
    for name in stand_ins([texts, pictures], sets):
        print(f"NOT COLD: no set was fitted without {name}", file=sys.stderr)
    yield from _of_coverage(texts, pictures)
    yield from of_texts(texts)
    yield from of_pictures(pictures)
    yield from _of_single_device()
    yield from _of_collectives()
    yield from _of_memory()
    yield from of_intervals(texts)
    yield from of_order(apart(texts.scored)[0])
    yield _of_speed(texts.runs)


def _of_coverage(texts: Judged, pictures: Judged) -> Iterator[Claim]:
    pairs = list(zip(texts.runs, texts.rows, strict=True))
    plain = [pair for pair in pairs if not is_hybrid(pair[0])]
    yield Claim(name="coverage: LLM", figure=coverage(plain).share, least=0.95)
    hybrids = [pair for pair in pairs if is_hybrid(pair[0])]
    yield Claim(name="coverage: LLM, hybrids", figure=coverage(hybrids).share)
    shown = list(zip(pictures.runs, pictures.rows, strict=True))
    yield Claim(name="coverage: CNN", figure=coverage(shown).share, least=0.95)


def _of_single_device() -> Iterator[Claim]:
    found = _silently(single_device.of_families)
    name = "single device, a family left out"
    yield Claim(name="coverage: single device", figure=found.share, least=0.9)
    yield Claim(name=f"{name}: median", figure=found.median, most=0.12)
    yield Claim(name=f"{name}: mean", figure=found.mean, most=0.18)


def _of_collectives() -> Iterator[Claim]:
    for check in collectives.checks(tuple(collectives.timed())):
        terms = fitted(check.fit, PRIORS.known, collectives.BEFORE)
        known = collectives.BEFORE.changed({name: it.value for name, it in terms.items()})
        off = fmean(abs(float(error)) for error in errors(check.held, known))
        yield Claim(name=f"all-reduce, {check.title}", figure=off, most=check.bar)


def _of_speed(runs: Sequence[MeasuredRun]) -> Claim:
    """How long the verb takes with two processes, every step played."""
    begun = perf_counter()
    with engine(2) as spread:
        validate(runs, engine=spread)
    return Claim(
        name="validate on all LLM rows",
        figure=perf_counter() - begun,
        most=60.0,
        write="{:.0f} s".format,
        noisy=True,
    )


def _of_memory() -> Iterator[Claim]:
    efficient, whole = _silently(memory.scores)
    yield Claim(name="memory, parameter-efficient: mean", figure=efficient.mean, most=memory.MEAN)
    name = "memory, parameter-efficient: 95th percentile of under-prediction"
    yield Claim(name=name, figure=efficient.under, most=memory.UNDER)
    yield Claim(name="memory, full training: mean", figure=whole.mean)


def _silently(ask: Callable[[], Answer]) -> Answer:
    """What a script answers, without what it prints on the way."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return ask()


def as_toml(found: Sequence[Claim]) -> str:
    """What came out, with the bars, for the table of the README."""
    lines = ["# What came out of `python -m validation.accuracy --record`.", ""]
    for claim in found:
        figure = f"{claim.figure:.6g}" if claim.figure is not None else '"none"'
        lines += [f'["{claim.name}"]', f"figure = {figure}", f'bar = "{claim.bar}"']
        lines += [f'shown = "{claim.shown}"', f'verdict = "{claim.verdict}"', ""]
    return "\n".join(lines)


def recorded(path: Path) -> Mapping[str, Mapping[str, object]]:
    """What came out before; nothing if nothing is recorded."""
    return tomllib.loads(path.read_text("utf-8")) if path.exists() else {}


def drops(found: Sequence[Claim], before: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Figures that are worse than recorded, and claims that nobody makes any more."""
    for claim in found:
        then = before.get(claim.name, {}).get("figure")
        if isinstance(then, float | int) and _dropped(claim, float(then)):
            yield f"DROPPED: {claim.name}: {claim.shown}, recorded {claim.write(float(then))}"
    names = {claim.name for claim in found}
    yield from (f"GONE: {name}" for name in before if name not in names)


def _dropped(claim: Claim, then: float) -> bool:
    """Whether a figure with a bar is farther from what is wanted than it was."""
    if claim.most is None and claim.least is None:
        return False
    if claim.noisy or claim.figure is None:
        return not claim.kept
    if claim.most is not None and claim.least is not None:
        return claim.kept is False and _outside(claim, then) + ROUNDING < _outside(
            claim, claim.figure
        )
    worse = then - claim.figure if claim.least is not None else claim.figure - then
    return worse > ROUNDING


def _outside(claim: Claim, figure: float) -> float:
    """How far a figure lies outside of a bar with two ends."""
    return max(0.0, (claim.least or 0.0) - figure, figure - (claim.most or figure))


def shown_in(text: str, before: Mapping[str, Mapping[str, object]]) -> str:
    """A text with the recorded table between the two marks."""
    head, _, rest = text.partition(AROUND[0])
    tail = rest.partition(AROUND[1])[2]
    return f"{head}{AROUND[0]}\n{markdown(before)}\n{AROUND[1]}{tail}"


def markdown(before: Mapping[str, Mapping[str, object]]) -> str:
    """The recorded figures that have a bar, as the README shows them."""
    lines = ["| what | must | is | |", "|---|---|---|---|"]
    lines += [
        f"| {name} | {row['bar']} | {row['shown']} | {row['verdict']} |"
        for name, row in before.items()
        if row["verdict"]
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
