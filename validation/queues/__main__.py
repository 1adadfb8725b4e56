"""Queues: formulas against simulations of ours and of others.

    python -m validation.queues                # theory with ten fixed seeds; 20 random networks
    python -m validation.queues --tenth        # two random networks, of a seed that is printed
    python -m validation.queues --seed 4711    # the same networks again

Networks are played on our event kernel, on SimPy and on Ciw, which the extra `test` brings.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from random import Random, SystemRandom

from validation.parts.claims import Claim, table

from validation.queues import networks, theory


def main() -> int:
    """Print a line per network and per claim; 1 if one is missed."""
    parser = ArgumentParser(prog="python -m validation.queues")
    parser.add_argument("--tenth", action="store_true")
    parser.add_argument("--seed", type=int)
    asked = parser.parse_args()
    missed = False
    if not asked.tenth:
        missed |= _told(list(theory.claims()))
    seed = SystemRandom().randrange(10**6) if asked.seed is None else asked.seed
    print(f"random networks of seed {seed}: cycles/s by mean-value analysis, and by", end=" ")
    print(", ".join(networks.ENGINES))
    random, theories, runs = Random(seed), [], []
    for _ in range(2 if asked.tenth else networks.NETWORKS):
        network = networks.drawn(random)
        theories.append(networks.theory(network))
        runs.append(networks.played(network, seed=random.randrange(10**6)))
        others = " ".join(f"{one.mean / theories[-1] - 1.0:+.2%}" for one in runs[-1].values())
        print(f"{theories[-1]:8.4f} {others}  {network}", flush=True)
    missed |= _told(list(networks.judged(theories, runs)))
    return int(missed)


def _told(claims: list[Claim]) -> bool:
    print("\n".join(table(claims)), flush=True)
    return any(claim.kept is False for claim in claims)


if __name__ == "__main__":
    sys.exit(main())
