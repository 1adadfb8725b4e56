"""What is measured on emulated nodes: operations alone, decoding alone, then pipelines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import getloadavg
from typing import Any

from validation.parts.processors import this_machine
from validation.testbed.lab import Lab

RATE = 500e6 / 8
"""Bytes per second on each link. Four of them stay well below what two cores can move."""
BATCH = 64
SAMPLE = 65536
"""Bytes of a paced sample, so that a block has 4 MiB."""
BLOCKS = 20
"""Rounds of an epoch."""
EPOCHS = 3
"""That count; one before them does not, as the nodes' heaps still grow in it."""
SETTLED = 0.45
"""Share of an epoch after which all queues are full."""
LARGE, SMALL = BATCH * SAMPLE, 1024
"""Bytes of a message of which the factor is measured, and of one that only starts."""
ROW = 8
"""Operations without a pause between them."""
PROGRAM = ["-m", "validation.testbed.node"]
QUICK = {"kind": "paced", "sample_bytes": SAMPLE, "seconds": 0.0003}
SLOW = QUICK | {"seconds": 0.002}
REAL = {"kind": "real", "side": 1280, "crop": 148}
"""Data: decoded in less time than a link needs, in more, and by a processor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A pipeline that is measured.

    Attributes:
        nodes: how many.
        mode: how they share.
        preprocessors: how many decode.
        queue: between stages.
        data: what they decode.
    """

    nodes: int
    mode: str
    preprocessors: int
    queue: int
    data: Mapping[str, Any]

    def job(self) -> dict[str, Any]:
        """As a node is told."""
        chosen = {"preprocessors": self.preprocessors} if "broadcast" in self.mode else {}
        samples = BLOCKS * self.preprocessors * BATCH
        return {
            "kind": "pipeline",
            "mode": self.mode,
            "queue": self.queue,
            "batch_size": BATCH,
            "epochs": 1 + EPOCHS,
            "data": {**self.data, "samples": samples},
            **chosen,
        }


def cases(nodes: int) -> Iterator[Case]:
    """The pipelines that so many nodes run."""
    shapes = [("all-shared", nodes, 0), ("all-shared", nodes, 2)]
    shapes += [("single-broadcast", p, q) for p in sorted({1, nodes - 1}) for q in (0, 2)]
    shapes += [("multi-broadcast", p, 2) for p in sorted({2, nodes})]
    for data in (QUICK, SLOW):
        for mode, preprocessors, queue in shapes:
            yield Case(nodes=nodes, mode=mode, preprocessors=preprocessors, queue=queue, data=data)
    if nodes == 2:  # as many as this machine has cores, for those that really decode
        for queue in (0, 2):
            yield Case(nodes=2, mode="all-shared", preprocessors=2, queue=queue, data=REAL)


def measured(nodes: int) -> dict[str, Any]:
    """Everything that so many nodes measure, as it is recorded."""
    wanted = list(cases(nodes))
    jobs = [*_operations(nodes), *_decoding(nodes), *(case.job() for case in wanted)]
    jobs += _decoding(nodes)  # once more: a machine may be slower for minutes
    before = getloadavg()[0]
    with Lab(nodes=nodes, rate=RATE) as lab:
        answers = lab.run(PROGRAM, jobs, timeout=900.0)
    done = list(zip(jobs, zip(*answers, strict=True), strict=True))
    ran = [found for job, found in done if job["kind"] == "pipeline"]
    return {
        "nodes": nodes,
        "load": [before, getloadavg()[0]],
        "operations": [
            {
                **job,
                "seconds": _seconds(found),
                "root": found[0]["seconds"],
                "cores": found[0]["busy"] / job["members"],
            }
            for job, found in done
            if job["kind"] in {"gather", "broadcast"}
        ],
        "decoding": [
            {
                "data": job["data"],
                "seconds": _seconds(found),
                "cores": found[0]["busy"] / nodes,
            }
            for job, found in done
            if job["kind"] == "decode"
        ],
        "cases": [
            {**asdict(case), "rates": _rates(found, case)}
            for case, found in zip(wanted, ran, strict=True)
        ],
    }


def about() -> dict[str, Any]:
    """Machine, versions and date of a record."""
    return {**this_machine(), "rate": RATE, "batch": BATCH}


def _operations(nodes: int) -> Iterator[dict[str, Any]]:
    for members in range(2, nodes + 1):
        for kind in ("gather", "broadcast"):
            told = {"kind": kind, "members": members}
            yield {**told, "size": SMALL, "times": 9, "row": 1}
            yield {**told, "size": LARGE, "times": 9, "row": 1}
            yield {**told, "size": LARGE, "times": 3, "row": ROW}


def _decoding(nodes: int) -> Iterator[dict[str, Any]]:
    data = [QUICK, SLOW, REAL] if nodes == 2 else [QUICK, SLOW]
    for each in data:
        chosen = {**each, "samples": 16 * BATCH}
        yield {"kind": "decode", "blocks": 16, "batch_size": BATCH, "data": chosen}


def _seconds(found: Sequence[Mapping[str, Any]]) -> list[float]:
    """Of each repetition or block, until the last member had it."""
    seconds = [each["seconds"] for each in found if each["seconds"]]
    return [max(times) for times in zip(*seconds, strict=True)]


def _rates(found: Sequence[Sequence[Sequence[Sequence[float]]]], case: Case) -> list[float]:
    """Samples per second of each epoch that counts, a mean over nodes, queues having filled."""
    of_epochs = zip(*(epochs[1:] for epochs in found), strict=True)
    return [
        sum(_rate(arrivals, case.preprocessors) for arrivals in nodes) / len(nodes)
        for nodes in of_epochs
    ]


def _rate(arrivals: Sequence[Sequence[float]], together: int) -> float:
    """Between the last blocks of two rounds."""
    rounds = len(arrivals) // together
    begin, had = arrivals[round(SETTLED * rounds) * together - 1]
    end, total = arrivals[rounds * together - 1]
    return (total - had) / (end - begin)


def as_text(record: object) -> str:
    """A record as it is kept: one line for each case."""
    return json.dumps(record, indent=1)
