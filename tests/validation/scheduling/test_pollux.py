"""Pollux' published results, a cell or two of each policy; the whole table is the script's."""

import pytest
from tests.examples import slow
from validation.scheduling.pollux import SYSTEMS, WORKLOADS, off, trace

LIGHT = 5
"""A workload without the models that take longest to read."""


@pytest.mark.parametrize("load", [0.5, 1.0])
def test_tiresias_gives_nearly_what_its_authors_simulator_gave(load):
    assert abs(off("tiresias", LIGHT, load)) < 0.03


def test_optimus_gives_nearly_the_same():
    assert abs(off("optimus", LIGHT, 0.5)) < 0.03


@slow
def test_pollux_without_its_genetic_search_is_within_a_tenth():
    assert abs(off("pollux 0", LIGHT, 0.5)) < 0.10


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_load_is_the_first_jobs_that_are_drawn(workload):
    half, whole = (trace(workload, load, SYSTEMS["tiresias"]) for load in (0.5, 2.0))
    assert (len(half.jobs), len(whole.jobs)) == (80, 320)
    assert {job.name for job in half.jobs} < {job.name for job in whole.jobs}
