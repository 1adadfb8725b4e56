"""Draws the workloads of Pollux from the jobs of the Philly cluster, at every load.

    python -m validation.scheduling.pollux_draw philly_jobs.csv.gz workload-{1..8}.csv

Its authors published 160 jobs of each of eight workloads, and results for 80 to 320. From their
generator (from memory, and found by trying until all 1,280 published jobs came out exactly): jobs
of at least a minute and less than 1,000 device-hours that came between 2 and 10 o'clock are
permuted; the first n make a load. Their device-hours name the model. The seed is the workload's
number. Writes `workloads.csv.gz` if all published jobs are among the drawn ones, and fails if not.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from io import StringIO
from pathlib import Path
from random import Random

import numpy as np

DRAWN = 320
BEGIN, HOURS = 2, 8
HOUR, DAY = 3600, 86400
SEEDS = 2**32

ASKED = {
    "cifar10": ((6, 2048), (8, 2048), (12, 4096), (16, 4096)),
    "ncf": ((1, 32768),),
    "deepspeech2": ((6, 320), (8, 320), (12, 640)),
    "bert": ((6, 384), (8, 384), (12, 384), (16, 384)),
    "yolov3": ((4, 64),),
    "imagenet": ((24, 3200), (32, 6400), (48, 6400)),
}
"""Devices and total batch that users ask for; those of the published jobs."""

Drawn = tuple[int, str, int, int]
"""Seconds, model, devices and batch."""


def eligible(philly: Path) -> list[tuple[int, float]]:
    """Seconds since the window began and device-hours of each job that may be drawn."""
    found = []
    with gzip.open(philly, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            at = datetime.fromisoformat(row["timestamp"])
            second = at.hour * HOUR + at.minute * 60 + at.second - BEGIN * HOUR
            hours = float(row["gpu_time"]) / HOUR
            if float(row["duration"]) >= 60 and hours < 1000 and 0 <= second < HOURS * HOUR:
                found.append((second, hours))
    return found


def drawn(jobs: Sequence[tuple[int, float]], workload: int) -> Iterator[Drawn]:
    """The jobs of a workload in the order in which they are drawn."""
    draw, other = Random(workload), Random(workload + 3)
    permuted = np.random.RandomState(draw.randint(0, SEEDS))
    for place in permuted.choice(len(jobs), size=DRAWN, replace=False):
        second, hours = jobs[place]
        if hours < 1:
            model = draw.choice(["cifar10", "ncf"])
        else:
            model = "deepspeech2" if hours < 10 else "yolov3" if hours < 100 else "imagenet"
        asked = draw.choice(ASKED[model])
        if model == "deepspeech2" and other.randint(0, 1):
            model = "bert"
            asked = other.choice(ASKED[model])
        yield second, model, *asked


def published(path: Path) -> list[Drawn]:
    """The jobs of a published workload."""
    with path.open(encoding="utf-8") as file:
        return [
            (int(row["time"]), row["application"], int(row["num_replicas"]), int(row["batch_size"]))
            for row in csv.DictReader(file)
        ]


def main(arguments: Sequence[str]) -> int:
    """Writes the workloads; 1 if they are not the published ones."""
    philly, *known = map(Path, arguments)
    jobs, text = eligible(philly), StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["workload", "name", "time", "application", "num_replicas", "batch_size"])
    for workload, path in enumerate(known, start=1):
        mine, theirs = list(drawn(jobs, workload)), published(path)
        if sorted(mine[: len(theirs)]) != sorted(theirs):
            print(f"workload {workload} is not the published one")
            return 1
        writer.writerows(
            (workload, f"{workload}-{place:03}", *job) for place, job in enumerate(mine)
        )
    Path("workloads.csv.gz").write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    print(f"{len(known)} workloads, all published jobs among them")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
