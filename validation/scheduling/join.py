"""The join: from two model files and a cluster to plans, curves, queue and an explained page.

    python -m validation.scheduling.join

Asks `examples/queue.toml` as a user would, in a fresh process, and looks at what comes out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from validation.claims import Claim, table

STUDY = Path(__file__).parents[2] / "examples" / "queue.toml"

MOST = 60.0
"""Seconds, start-up included."""


def claims() -> Iterator[Claim]:
    """How long it takes, and whether every part is there."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "queue.html"
        begun = perf_counter()
        told = subprocess.run(
            [sys.executable, "-m", "foretrain", "simulate", STUDY, "--json", "--html", page],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        seconds = perf_counter() - begun
        answer, drawn = json.loads(told), page.read_text(encoding="utf-8")
    whole = (
        len(answer["curves"]) == 2
        and all(len(curve["points"]) >= 5 for curve in answer["curves"])
        and len(answer["policies"]) == 3
        and all(text in drawn for text in ("the best plan", "Response times", "What follows"))
    )
    yield Claim(
        name="two models to an explained page",
        figure=seconds,
        most=MOST,
        write="{:.0f} s".format,
        noisy=True,
    )
    yield Claim(name="every part is there", figure=float(whole), least=1.0)


def main() -> int:
    """Print a line per claim; 1 if one is missed."""
    found = list(claims())
    print("\n".join(table(found)))
    return int(any(claim.kept is False for claim in found))


if __name__ == "__main__":
    sys.exit(main())
