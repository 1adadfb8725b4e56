"""Drawn jobs beside what is published of those of Philly.

    python -m validation.scheduling.generator

A million jobs are drawn with one fixed seed. The exit status is 1 if a figure is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import perf_counter

import numpy as np
from validation.parts.claims import Claim, table

from foretrain.jobs.generator import ENDS, generate
from foretrain.jobs.mix import PHILLY
from foretrain.measured.job import Trace

JOBS = 1_000_000
SEED = 2017
DEVICES = 2_490
"""Of the cluster: jeon2019, section 2."""

MUST = 0.05
"""Relative difference at most."""

MUST_SECONDS = 60.0

RAN = {"median": 1_144.0, "mean": 13_136.0, "99th percentile": 254_884.0}
"""Seconds that the jobs of the published log ran."""

JOB_SHARES = {"finished": 0.604, "killed": 0.090, "failed": 0.305}
TIME_SHARES = {"finished": 0.321, "killed": 0.294, "failed": 0.386}
"""Of jobs and of device time by how they ended: hu2024, its table of clusters."""


def main() -> int:
    """Prints the table; 1 if a figure is missed."""
    found = list(claims())
    print("\n".join(table(found)))
    return 1 if any(claim.kept is False for claim in found) else 0


def claims() -> Iterator[Claim]:
    """Everything that is claimed."""
    begun = perf_counter()
    trace = drawn()
    seconds = perf_counter() - begun
    ran, devices, ends = columns(trace)
    came = {
        "median": float(np.median(ran)),
        "mean": float(ran.mean()),
        "99th percentile": float(np.quantile(ran, 0.99)),
    }
    for name, value in came.items():
        yield _near(f"{name} of the seconds that jobs ran", value, RAN[name])
    for place, end in enumerate(ENDS):
        share = float((ends == place).mean())
        yield _near(f"share of jobs that {_verb(end)}", share, JOB_SHARES[end])
    held = ran * devices
    for place, end in enumerate(ENDS):
        share = float(held[ends == place].sum() / held.sum())
        yield _near(f"share of device time of jobs that {_verb(end)}", share, TIME_SHARES[end])
    yield Claim(
        name="seconds to draw a million jobs",
        figure=seconds,
        most=MUST_SECONDS,
        write="{:.0f}".format,
        noisy=True,
    )


def drawn(count: int = JOBS) -> Trace:
    """Jobs like those of Philly."""
    random = np.random.default_rng(SEED)
    return generate(PHILLY, random, count=count, load=0.8, devices=DEVICES)


def columns(trace: Trace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Seconds that jobs ran, their devices, and how they ended as a place in `ENDS`."""
    ran = np.array([job.ends_after for job in trace.jobs])
    devices = np.array([job.devices for job in trace.jobs])
    return ran, devices, np.array([ENDS.index(job.end) for job in trace.jobs])


def _near(name: str, figure: float, published: float) -> Claim:
    """A figure that must be near a published one."""
    return Claim(
        name=f"{name} ({published:,.7g})",
        figure=figure,
        least=(1.0 - MUST) * published,
        most=(1.0 + MUST) * published,
        write=("{:,.0f}" if published > 1.0 else "{:.3f}").format,
    )


def _verb(end: str) -> str:
    return "were killed" if end == "killed" else end


if __name__ == "__main__":
    sys.exit(main())
