"""Gavel's simulator: rounds of 360 s on three kinds of devices, against what it printed.

    python -m validation.scheduling.gavel

Which jobs its FIFO lets run was found by comparing: it binds all of them to the V100s at once, so
they take turns there and the other kinds stay idle. With that the mean response is equal to the
last digit, which says that the rounds are dealt out as there. The figures to compare with are in
the tables' README.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean
from time import process_time

from validation.parts.claims import Claim, table
from validation.scheduling.formats.gavel import read_gavel, read_throughputs

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.outcomes import Outcomes
from foretrain.jobs.policies.max_min import max_min_over_kinds
from foretrain.jobs.pool import CountedPool
from foretrain.jobs.rounds import Division, RoundsDispatcher, Rules, Shares
from foretrain.jobs.shared import ClusterState
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Trace

DATA = Path(__file__).parents[1] / "tables" / "scheduling" / "gavel"
QUICKEST = "v100"
FLEET = Fleet(
    nodes=tuple(Nodes(count=36, devices=1, kind=kind) for kind in (QUICKEST, "p100", "k80"))
)
RULES = Rules(period=360.0, spare=False)
MAX_MIN, FIFO = 9_312.874, 46_227.462
"""Mean response in seconds that Gavel's simulator printed."""


def turns(state: ClusterState) -> Shares:
    """All of every job's time on the V100s."""
    return {active.rank: {QUICKEST: 1.0} for active in state.jobs}


@cache
def trace(name: str) -> Trace:
    """A trace of Gavel's."""
    return read_gavel(DATA / f"{name}.trace.gz", read_throughputs(DATA / "throughputs.json.gz"))


def outcomes(name: str, divide: Division) -> Outcomes:
    """What becomes of its jobs."""
    dispatcher = RoundsDispatcher(divide, FLEET, rules=RULES)
    return Simulation(trace(name), CountedPool(FLEET), dispatcher).run()


def response(name: str, divide: Division) -> float:
    """Mean response in seconds."""
    found = outcomes(name, divide)
    return fmean(end - job.arrival for end, job in zip(found.ended, found.trace.jobs, strict=True))


def speed() -> float:
    """Jobs per CPU second of max-min fairness over three kinds, once the solver is loaded."""
    outcomes("max_min_fairness", max_min_over_kinds)
    began = process_time()
    outcomes("max_min_fairness", max_min_over_kinds)
    return len(trace("max_min_fairness").jobs) / (process_time() - began)


def claims() -> Iterator[Claim]:
    """Every figure beside its bar."""
    fifo = abs(response("minimize_makespan", turns) / FIFO - 1.0)
    yield Claim(name="100 jobs, FIFO: mean response", figure=fifo, most=0.02, write="{:.7%}".format)
    fair = abs(response("max_min_fairness", max_min_over_kinds) / MAX_MIN - 1.0)
    yield Claim(
        name="96 jobs, max-min over three kinds: mean response",
        figure=fair,
        most=0.01,
        write="{:.2%}".format,
    )
    yield Claim(
        name="max-min over three kinds: jobs per CPU second",
        figure=speed(),
        least=500.0,
        write="{:.0f}".format,
        noisy=True,
    )


def main() -> int:
    """Prints the table; 1 if a bar is missed."""
    found = list(claims())
    print("\n".join(table(found)))
    return int(any(claim.kept is False for claim in found))


if __name__ == "__main__":
    sys.exit(main())
