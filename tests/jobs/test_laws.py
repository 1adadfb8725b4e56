"""Laws that hold of every policy of the table, whatever the jobs.

Every run checks by itself that Little's law, device-seconds and the number of jobs balance.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job, trace

from foretrain.cluster.mixed import fleet
from foretrain.events import Events
from foretrain.jobs import simulation
from foretrain.jobs.policies.table import POLICIES
from foretrain.jobs.run import run
from foretrain.measured.job import Trace
from foretrain.measured.queue_study import Conditions, Placement
from foretrain.throughput import Amdahl

DEVICES = 6
OWN_TIMES = {"las", "slurm"} | {name for name, each in POLICIES.items() if "in rounds" in each.says}
"""Policies that are told times from outside, such as the ends of levels or the length of rounds."""

EVERY = pytest.mark.parametrize("name", POLICIES)


@st.composite
def traces(draw):
    """Jobs of which many come and end together."""
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, 6), st.integers(1, 8), st.integers(1, 4), st.integers(1, 4)),
            min_size=1,
            max_size=10,
        )
    )
    return trace(
        job(
            place, arrival=float(arrival), work=float(work), devices=devices,
            ends_after=work * share / 4.0, restart=0.25,
            curve=Amdahl(serial=0.1, most=8, base=devices),
        )
        for place, (arrival, work, devices, share) in enumerate(rows)
    )  # fmt: skip


def simulated(name, jobs):
    return run(jobs, fleet(DEVICES), name)


class Reversed(Events):
    """Of what happens at one time, the last asked for comes first."""

    __slots__ = ()

    def at(self, time, action):
        self._asked -= 2
        return super().at(time, action)


@EVERY
@few(25)
@given(jobs=traces())
def test_no_job_is_lost_and_none_is_quicker_than_it_can_be(name, jobs):
    outcomes = simulated(name, jobs)
    for each, begun, ended in zip(jobs.jobs, outcomes.begun, outcomes.ended, strict=True):
        rates = [each.curve.rate(count, nodes=1, kind="", done=0.0) for count in each.curve.counts]
        assert each.arrival <= begun
        assert ended - begun >= each.ends_after / max(rates) * (1 - 1e-9)


@EVERY
@few(25)
@given(jobs=traces())
def test_the_order_of_what_happens_at_one_time_does_not_matter(name, jobs):
    forward = simulated(name, jobs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "Events", Reversed)
        backward = simulated(name, jobs)
    assert list(backward.ended) == pytest.approx(list(forward.ended), rel=1e-9)


@EVERY
@few(10)
@given(jobs=traces(), shuffled=st.randoms(use_true_random=False))
def test_the_order_in_which_a_trace_lists_its_jobs_does_not_matter(name, jobs, shuffled):
    listed = list(jobs.jobs)
    shuffled.shuffle(listed)
    again = Trace(name=jobs.name, jobs=tuple(listed))
    assert simulated(name, again).ended == simulated(name, jobs).ended


@EVERY
@few(15)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 9), st.integers(1, 20), st.sampled_from([1, 2, 4]), st.booleans()),
        min_size=1,
        max_size=10,
    ),
    placed=st.booleans(),
)
def test_a_job_that_must_not_be_interrupted_holds_its_devices_until_it_ends(name, rows, placed):
    jobs = trace(
        job(
            place, arrival=float(arrival), work=float(work), devices=devices, preemptible=not still,
            restart=0.5,
        )
        for place, (arrival, work, devices, still) in enumerate(rows)
    )  # fmt: skip
    on = Placement.PACKED if placed and not POLICIES[name].fluid else Placement.ANY
    conditions = Conditions(period=3.0, placement=on)
    outcomes = run(jobs, fleet(8, per_node=4), name, conditions=conditions)
    for place, each in enumerate(jobs.jobs):
        if not each.preemptible:
            assert outcomes.stops[place] == 0
            lasted = outcomes.ended[place] - outcomes.begun[place]
            assert outcomes.held[place] == pytest.approx(lasted)


@pytest.mark.parametrize("name", sorted(POLICIES.keys() - OWN_TIMES))
@few(15)
@given(jobs=traces(), factor=st.sampled_from([0.5, 2.0, 1024.0]))
def test_times_that_are_longer_by_a_factor_make_ends_later_by_it(name, jobs, factor):
    slower = trace(
        job(
            place, arrival=each.arrival * factor, work=each.work * factor, devices=each.devices,
            ends_after=each.ends_after * factor, restart=each.restart * factor, curve=each.curve,
        )
        for place, each in enumerate(jobs.jobs)
    )  # fmt: skip
    expected = [factor * end for end in simulated(name, jobs).ended]
    assert list(simulated(name, slower).ended) == pytest.approx(expected, rel=1e-9)
