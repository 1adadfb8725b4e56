"""One table of everything that is claimed about the simulation of a cluster.

    python -m validation.cluster            # everything, ten minutes on two cores; fails on a drop
    python -m validation.cluster --quick    # what takes less than a minute each, for every change
    python -m validation.cluster --record   # writes recorded_cluster.toml and the table of the docs

Every figure is computed anew by a script of `validation/scheduling`, which also runs alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from validation.parts.claims import Claim
from validation.parts.record import Recorded, told

from foretrain.app.progress import engine
from validation.scheduling import (
    early_termination,
    gavel,
    generator,
    join,
    pollux,
    replay,
    shockwave,
    sia,
    theory,
    tiresias,
)

RECORDED = Recorded(
    path=Path(__file__).parent / "recorded_cluster.toml",
    command="validation.cluster",
    mark="cluster",
    page=Path(__file__).parents[1] / "docs" / "background" / "cluster-accuracy.md",
)

Claims = Callable[[], Iterator[Claim]]

QUICK: Mapping[str, Claims] = {
    "tiresias": tiresias.claims,
    "gavel": gavel.claims,
    "shockwave": shockwave.claims,
    "sia": sia.claims,
    "generator": generator.claims,
    "join": join.claims,
}
SLOW: Mapping[str, Claims] = {
    "early_termination": early_termination.claimed,
    "theory": theory.claims,
    "pollux": pollux.claims,
    "replay": replay.claims,
}


def main(arguments: Sequence[str]) -> int:
    """Prints the table; 1 if a figure has dropped."""
    quick = "--quick" in arguments
    names = [*QUICK] if quick else [*SLOW, *QUICK]
    with engine(os.cpu_count() or 1) as spread:
        found = [claim for claims in spread(claimed, names) for claim in claims]
    return told(found, RECORDED, record="--record" in arguments, whole=not quick)


def claimed(name: str) -> list[Claim]:
    """What a script claims, under its name."""
    every = {**QUICK, **SLOW}
    return [replace(claim, name=f"{name}: {claim.name}") for claim in every[name]()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
