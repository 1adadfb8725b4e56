"""One table of everything that is claimed about the simulation of a cluster.

    python -m validation.cluster            # everything: some ten minutes; fails on a drop
    python -m validation.cluster --quick    # what takes less than a minute each, for every change
    python -m validation.cluster --record   # writes recorded_cluster.toml and the README's table

Every figure is computed anew by a script of `validation/scheduling`, which also runs alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from validation.claims import Claim
from validation.record import Recorded, told

from validation.scheduling import (
    early_termination,
    gavel,
    generator,
    join,
    pollux,
    replay,
    shockwave,
    theory,
    tiresias,
)

RECORDED = Recorded(
    path=Path(__file__).parent / "recorded_cluster.toml",
    command="validation.cluster",
    mark="cluster",
)

Claims = Callable[[], Iterator[Claim]]

QUICK: Mapping[str, Claims] = {
    "tiresias": tiresias.claims,
    "gavel": gavel.claims,
    "shockwave": shockwave.claims,
    "generator": generator.claims,
    "join": join.claims,
}
SLOW: Mapping[str, Claims] = {
    "theory": theory.claims,
    "pollux": pollux.claims,
    "early_termination": early_termination.claimed,
    "replay": replay.claims,
}


def main(arguments: Sequence[str]) -> int:
    """Prints the table; 1 if a figure has dropped."""
    quick = "--quick" in arguments
    scripts = QUICK if quick else {**QUICK, **SLOW}
    found = [claim for claims in scripts.values() for claim in claims()]
    return told(found, RECORDED, record="--record" in arguments, whole=not quick)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
