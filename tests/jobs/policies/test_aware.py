"""The policy that knows of early ends is the best one on one server: brute force."""

from itertools import permutations, product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.cluster.mixed import fleet
from foretrain.jobs.active import CountedPool
from foretrain.jobs.mix import Hazard, Survival
from foretrain.jobs.ordered import OrderedDispatcher
from foretrain.jobs.policies.elastic import aware, aware_efficient
from foretrain.jobs.policies.orders import srtf
from foretrain.jobs.shared import SharedDispatcher
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import End, Job, Trace
from foretrain.throughput import Amdahl, rigid

CHECKPOINTS = (0.25, 0.75)
"""Shares of a job's work after which it may be killed."""


def hazards(chances):
    """Chances of surviving both checkpoints, by the length of the job."""
    bounds = tuple(sorted(chances))
    survivals = [Survival(CHECKPOINTS, (chances[each][0], prod(chances[each]))) for each in bounds]
    hazard = Hazard(failing=Survival(), bounds=bounds[1:], leaving=tuple(survivals))
    return lambda devices: hazard


def expected(order, chances):
    """Mean of the sum of the responses of successful jobs, on one server, in an order."""
    total = waited = 0.0
    for length in order:
        first, second = chances[length]
        spent = length * (0.25 + first * 0.5 + first * second * 0.25)
        total += first * second * (waited + length)
        waited += spent
    return total


def simulated(chances, order):
    """The same, by simulating every fate of every job."""
    total = 0.0
    for fates in product((0, 1, 2), repeat=len(chances)):
        jobs, chance = [], 1.0
        for (length, (first, second)), fate in zip(chances.items(), fates, strict=True):
            chance *= (1 - first, first * (1 - second), first * second)[fate]
            jobs.append(
                Job(
                    name=f"j{length}", arrival=0.0, work=length, curve=rigid(1), devices=1,
                    end=End.FINISHED if fate == 2 else End.KILLED,
                    ends_after=length * (*CHECKPOINTS, 1.0)[fate],
                )
            )  # fmt: skip
        trace = Trace(name="fates", jobs=tuple(jobs))
        outcomes = Simulation(trace, CountedPool(fleet(1)), OrderedDispatcher(order)).run()
        total += chance * sum(
            end
            for end, job in zip(outcomes.ended, trace.jobs, strict=True)
            if job.end is End.FINISHED
        )
    return total


chance = st.floats(0.1, 1.0)


@few(30)
@given(
    chances=st.dictionaries(
        st.integers(1, 50).map(float), st.tuples(chance, chance), min_size=1, max_size=4
    )
)
def test_no_order_of_jobs_with_checkpoints_beats_it(chances):
    best = min(expected(order, chances) for order in permutations(chances))
    found = simulated(chances, aware(hazards(chances), preempts=False))
    assert found == pytest.approx(best, rel=1e-9)


def test_a_long_job_that_will_probably_fail_waits_for_a_longer_one_that_will_not():
    chances = {10.0: (0.2, 0.5), 20.0: (1.0, 1.0)}
    assert simulated(chances, aware(hazards(chances))) == pytest.approx(
        expected((20.0, 10.0), chances)
    )
    assert simulated(chances, srtf()) == pytest.approx(expected((10.0, 20.0), chances))


def test_the_order_goes_on_within_wide_jobs():
    curve = Amdahl(serial=0.0, most=4)
    jobs = tuple(
        Job(name=f"j{work}", arrival=0.0, work=work, curve=curve, devices=1) for work in (8.0, 16.0)
    )
    policy = aware_efficient(lambda devices: Hazard(failing=Survival()), threshold=0.5)
    space = fleet(4)
    dispatcher = SharedDispatcher(policy, space)
    outcomes = Simulation(Trace(name="two", jobs=jobs), CountedPool(space), dispatcher).run()
    assert dict(zip((job.name for job in outcomes.trace.jobs), outcomes.ended, strict=True)) == {
        "j8.0": 2.0,
        "j16.0": 6.0,
    }
