"""How parameter servers on emulated nodes are measured: what is needed to predict, then cases.

A calibration sends, applies and trains with next to nothing; none of its runs is one of the cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from os import getloadavg
from statistics import fmean, median, quantiles
from typing import Any

from validation.testbed.lab import QUEUE, Lab
from validation.testbed.servers import (
    MEBI,
    NETWORKS,
    SECONDS,
    SERVERS,
    WARM_UP,
    WORKERS,
    ServersCase,
)

PROGRAM = ["-m", "validation.testbed.server_node"]
SMALL, LARGE = 1024, 8 * MEBI
"""Bytes of a message that only starts, and of one that shows the bandwidth."""
DEEP = 16 * QUEUE
"""Bytes of queues that lose nothing, whatever is under way."""
TIMES = 7
LIGHT = {"kind": "exponential", "mean": 0.02, "least": 0.01}
"""Computations between small messages, so that these rarely meet."""
LATE = 0.002
"""Seconds: a run in which one of twenty sleeps ended later than this was disturbed."""
EXTRA = 0.03
"""Share of bytes on a link that may be more or less than those of the steps."""

Found = Mapping[str, Any]


def lab(network: str, *, queue: int = DEEP) -> Lab:
    """Servers first, then as many workers as any case has."""
    links = NETWORKS[network]
    servers = dict.fromkeys(range(SERVERS), links.servers)
    return Lab(nodes=SERVERS + max(WORKERS), rate=links.workers, other_rates=servers, queue=queue)


def calibrated(network: str) -> dict[str, Any]:
    """What the links and nodes of a network do, as it is recorded."""
    ends = {"servers": [0, 1], "workers": [SERVERS, SERVERS + 1]}
    send = {"kind": "send", "size": LARGE, "times": TIMES}
    jobs = [{**send, "between": between} for between in ends.values()]
    jobs += [{"kind": "apply", "size": MEBI, "times": 9}]
    light = list(_light_jobs())
    with lab(network) as nodes:
        answers = nodes.run(PROGRAM, [*jobs, *light], timeout=300.0)
    sent = [next(filter(None, of_nodes)) for of_nodes in zip(*answers, strict=True)][: len(jobs)]
    small = [
        {
            "servers": job["servers"],
            "workers": job["workers"],
            "exchanged": _over_workers(answers, len(jobs) + at, "exchanged"),
            "late": _over_workers(answers, len(jobs) + at, "late"),
        }
        for at, job in enumerate(light)
    ]
    return {
        "network": network,
        "load": getloadavg()[0],
        "size": LARGE,
        "sent": dict(zip(ends, sent[:-1], strict=True)),
        "apply": {"size": MEBI, "seconds": sent[-1]},
        "small": small,
    }


def _light_jobs() -> Iterator[dict[str, Any]]:
    for servers in range(1, SERVERS + 1):
        for workers in WORKERS:
            yield {
                "kind": "train",
                "servers": servers,
                "workers": workers,
                "stale": None,
                "size": SMALL * servers,
                "compute": LIGHT,
                "update": 0.0,
                "seconds": 1.2,
                "seed": "light",
            }


def _over_workers(answers: Sequence[Sequence[Found]], job: int, what: str) -> float:
    """Mean of the workers' medians, in seconds."""
    found = [each[job][what] for each in answers if what in each[job]]
    return fmean(median(values) for values in found)


def measured(
    network: str, cases: Mapping[str, ServersCase], *, queue: int = DEEP
) -> list[dict[str, Any]]:
    """The runs of cases of a network, as they are recorded; a disturbed one is repeated once.

    Args:
        network: its name.
        cases: by the seed of their workers' computations.
        queue: bytes that may wait for a link.
    """
    with lab(network, queue=queue) as nodes:
        runs = _runs(nodes, cases)
        pairs = zip(cases.items(), runs, strict=True)
        again = {f"{seed} again": case for (seed, case), run in pairs if run["disturbed"]}
        repeated = iter(_runs(nodes, again) if again else [])
    return [next(repeated) | {"repeated": True} if run["disturbed"] else run for run in runs]


def _runs(nodes: Lab, cases: Mapping[str, ServersCase]) -> list[dict[str, Any]]:
    jobs = [
        {**asdict(case), "kind": "train", "seconds": SECONDS, "seed": seed}
        for seed, case in cases.items()
    ]
    answers = nodes.run(PROGRAM, jobs, timeout=60.0 + 2.0 * SECONDS * len(jobs))
    return [
        _run(case, [each[at] for each in answers], load=getloadavg()[0])
        for at, case in enumerate(cases.values())
    ]


def _run(case: ServersCase, found: Sequence[Found], *, load: float) -> dict[str, Any]:
    servers = found[: case.servers]
    workers = found[SERVERS : SERVERS + case.workers]
    late = quantiles((late for each in workers for late in each["late"]), n=20)[-1]
    steps = sum(len(each["ends"]) for each in workers)
    wire = fmean(each["received"] for each in servers) / (steps * case.size / case.servers)
    return {
        **asdict(case),
        "load": load,
        "late": round(late, 6),
        "applied": [each["applied"] for each in servers],
        "wire": round(wire, 4),
        "again": sum(each["again"] for each in found),
        "ends": [[round(1e3 * end, 1) for end in each["ends"]] for each in workers],
        "disturbed": _disturbed(late=late, wire=wire)
        + [f"{each['applied']} of {steps}" for each in servers if each["applied"] != steps],
    }


def _disturbed(*, late: float, wire: float) -> list[str]:
    """Why a run is not what it was meant to be; decided before its error was looked at."""
    return [
        *([f"woke {1e3 * late:.1f} ms late"] if late > LATE else []),
        *([f"{wire:.3f} times the bytes"] if abs(wire - 1) > EXTRA else []),
    ]


def rate(run: Found) -> float:
    """Steps per second of all workers, in whole rounds after the warm-up.

    A round is as many steps as there are workers: synchronous ones end together.
    """
    ends = sorted(end / 1e3 for each in run["ends"] for end in each)
    counted = [end for end in ends if WARM_UP < end <= SECONDS][:: run["workers"]]
    return run["workers"] * (len(counted) - 1) / (counted[-1] - counted[0])
