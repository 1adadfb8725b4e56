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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import TypeVar

from validation.coverage import coverage
from validation.fitting.classes import is_hybrid
from validation.fitting.collectives import errors, fitted
from validation.order import apart, of_order
from validation.parts.claims import Claim
from validation.parts.cold import Judged, folds, judged, stand_ins
from validation.parts.record import Recorded, told
from validation.scores import of_intervals, of_pictures, of_texts
from validation.transfers import of_transfers

from foretrain.app.progress import engine
from foretrain.evidence.validate import validate
from foretrain.measured.run import MeasuredRun
from foretrain.study.coefficients import PRIORS
from validation import collectives, memory, single_device

RECORD = Path(__file__).parent / "recorded_accuracy.toml"
RECORDED = Recorded(path=RECORD, command="validation.accuracy", mark="accuracy")
Answer = TypeVar("Answer")


def main(arguments: Sequence[str]) -> int:
    """Prints the table; 1 if a figure has dropped."""
    return told(list(claims()), RECORDED, record="--record" in arguments)


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
    yield from of_transfers()
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
