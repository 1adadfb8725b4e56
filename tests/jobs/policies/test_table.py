"""The table of policies: every one runs every job, and the docs name them all."""

from dataclasses import replace
from pathlib import Path

import pytest

from foretrain.cluster.mixed import Fleet, Nodes, fleet
from foretrain.errors import InputError
from foretrain.jobs.policies.table import POLICIES, named
from foretrain.jobs.run import run
from foretrain.measured.job import Job, Trace
from foretrain.throughput import Amdahl

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "policies.md"

JOBS = Trace(
    name="a few",
    jobs=tuple(
        Job(
            name=f"job-{number}",
            arrival=40.0 * number,
            work=300.0 + 70.0 * (number % 4),
            curve=Amdahl(serial=0.05, most=8, base=1 + number % 3),
            devices=1 + number % 3,
            estimate=500.0,
        )
        for number in range(9)
    ),
)


@pytest.mark.parametrize("name", POLICIES)
def test_every_job_ends_under_every_policy(name):
    outcomes = run(JOBS, fleet(4, per_node=2), name)
    assert all(end > job.arrival for job, end in zip(JOBS.jobs, outcomes.ended, strict=True))


@pytest.mark.parametrize("name", POLICIES)
def test_the_docs_say_what_a_policy_does(name):
    *first, last = [*named(name).knows] or ["nothing"]
    knows = f"{', '.join(first)} and {last}" if first else last
    assert f"| `{name}` | {named(name).says} | {knows} |" in PAGE.read_text()


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_ends_all_jobs_on_two_kinds_or_says_that_it_wants_one(name):
    kinds = Fleet(nodes=(Nodes(count=1, devices=4, kind="a"), Nodes(count=2, devices=2, kind="b")))
    if named(name).one_kind:
        with pytest.raises(InputError, match="divides one kind of device; the fleet has a, b"):
            run(JOBS, kinds, name)
    else:
        assert min(run(JOBS, kinds, name).ended) > 0


@pytest.mark.parametrize("name", POLICIES)
def test_no_policy_interrupts_a_job_that_asks_for_it(name):
    still = Trace(name="still", jobs=tuple(replace(job, preemptible=False) for job in JOBS.jobs))
    assert sum(run(still, fleet(4, per_node=2), name).stops) == 0
