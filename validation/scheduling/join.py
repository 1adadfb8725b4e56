"""The join: from model files and a cluster to plans, curves, queue and an explained page.

    python -m validation.scheduling.join

Asks two examples as a user would, each in a fresh process, and looks at what comes out: two models,
and the same two with an ensemble of eight as one more job, whose shared input is chosen too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from validation.parts.claims import Claim, table

EXAMPLES = Path(__file__).parents[2] / "examples"

MOST = 60.0
"""Seconds, start-up included."""

ON_THE_PAGE = ("the best plan", "Response times", "What follows", "Jobs that wait")
FED = ("how 8 members are fed", "asynchronous all-shared", "private loaders", "why not")

MEMBERS = 8


def claims() -> Iterator[Claim]:
    """How long it takes, and whether every part is there."""
    answer, drawn, seconds = asked("queue.toml")
    yield _quick("two models to an explained page", seconds)
    whole = len(answer["curves"]) == 2 and _whole(answer, drawn)
    yield Claim(name="every part is there", figure=float(whole), least=1.0)
    answer, drawn, seconds = asked("queue-with-ensemble.toml")
    yield _quick("two models and an ensemble of eight to an explained page", seconds)
    whole = len(answer["curves"]) == 3 and _whole(answer, drawn) and _fed(answer, drawn)
    yield Claim(name="every part is there, the chosen input too", figure=float(whole), least=1.0)


def asked(example: str) -> tuple[dict[str, Any], str, float]:
    """The document, the page and the seconds of a study."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "queue.html"
        command = ["-m", "foretrain", "simulate", EXAMPLES / example, "--json", "--html", page]
        begun = perf_counter()
        told = subprocess.run(
            [sys.executable, *command], check=True, capture_output=True, text=True
        ).stdout
        seconds = perf_counter() - begun
        return json.loads(told), page.read_text(encoding="utf-8"), seconds


def _quick(name: str, seconds: float) -> Claim:
    return Claim(name=name, figure=seconds, most=MOST, write="{:.0f} s".format, noisy=True)


def _whole(answer: dict[str, Any], drawn: str) -> bool:
    """Whether there are curves, policies and what a page shows of them."""
    curves = all(len(curve["points"]) >= 5 for curve in answer["curves"])
    return curves and len(answer["policies"]) == 3 and all(text in drawn for text in ON_THE_PAGE)


def _fed(answer: dict[str, Any], drawn: str) -> bool:
    """Whether every number of devices has an input that was chosen among others, with reasons."""
    ensemble = answer["curves"][-1]
    found = [point["input"] for point in ensemble["points"]]
    reasons = all(way["why"] for fed in found for way in fed["others"])
    paces = all(
        point["rate"] <= min(fed["demand"], fed["best"]["rate"])
        for point, fed in zip(ensemble["points"], found, strict=True)
    )
    return (
        ensemble["members"] == MEMBERS and paces and reasons and all(text in drawn for text in FED)
    )


def main() -> int:
    """Print a line per claim; 1 if one is missed."""
    found = list(claims())
    print("\n".join(table(found)))
    return int(any(claim.kept is False for claim in found))


if __name__ == "__main__":
    sys.exit(main())
