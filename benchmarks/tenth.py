"""A random tenth of a slow benchmark, as CI runs it; all of it where that is not asked for.

    python benchmarks/closed_form_against_simulation.py --tenth         # prints its seed
    python benchmarks/closed_form_against_simulation.py --tenth 4711    # the same tenth again

What is drawn is the same; a tenth of it is then compared. So what holds for all holds for a tenth.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from random import Random, SystemRandom


def chooser(arguments: Sequence[str]) -> Callable[[], bool]:
    """What says of each next case whether it is compared; prints the seed of a tenth."""
    parser = ArgumentParser()
    parser.add_argument("--tenth", type=int, nargs="?", const=-1, metavar="SEED")
    asked = parser.parse_args(arguments).tenth
    if asked is None:
        return lambda: True
    seed = asked if asked >= 0 else SystemRandom().randrange(10**6)
    print(f"a random tenth of the cases, seed {seed}")
    random = Random(seed)
    return lambda: random.random() < 0.1
