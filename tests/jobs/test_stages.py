"""What no policy may do: limits of parties, time limits and dependencies, under every policy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job, trace

from foretrain.cluster.mixed import Fleet, NodeFailures, Nodes, fleet
from foretrain.errors import InputError
from foretrain.jobs.outcomes import Observer
from foretrain.jobs.policies.table import POLICIES
from foretrain.jobs.run import run
from foretrain.measured.job import Dependency, DependsOn, End
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.queue_study import Conditions, Placement

GANGS = sorted(name for name, each in POLICIES.items() if not each.fluid)
EVERY = pytest.mark.parametrize("name", GANGS)


class Held:
    """Notes the most devices and jobs that each user had at once."""

    def __init__(self):
        self.devices, self.jobs, self.most, self.together = {}, {}, {}, {}

    def come(self, now, active):
        pass

    def end(self, now, active):
        pass

    def hold(self, now, active):
        self._change(active, 1)

    def give(self, now, active):
        self._change(active, -1)

    def _change(self, active, sign):
        user = active.job.user
        self.devices[user] = self.devices.get(user, 0) + sign * active.held.devices
        self.jobs[user] = self.jobs.get(user, 0) + sign
        self.most[user] = max(self.most.get(user, 0), self.devices[user])
        self.together[user] = max(self.together.get(user, 0), self.jobs[user])


ROWS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(1, 9), st.sampled_from([1, 2, 4]), st.booleans()),
    min_size=1,
    max_size=10,
)


@EVERY
@few(10)
@given(rows=ROWS)
def test_no_user_ever_holds_more_than_its_limit_and_every_job_ends(name, rows):
    jobs = trace(
        job(place, arrival=float(arrival), work=10.0 * work, devices=devices, user="uv"[other])
        for place, (arrival, work, devices, other) in enumerate(rows)
    )
    limit = PartyLimit(each=Party.USER, devices=4, jobs=2)
    held: Observer = Held()
    outcomes = run(jobs, fleet(8), name, conditions=Conditions(limits=(limit,)), watch=held)
    assert len(outcomes.ended) == len(rows)
    assert max(held.most.values()) <= 4
    assert max(held.together.values()) <= 2


@pytest.mark.parametrize(
    "name", ["fifo", "sjf", "srtf", "las", "easy", "slurm", "max-min", "allox"]
)
def test_whom_a_limit_keeps_stands_in_nobodys_way(name):
    users = "aab"
    jobs = trace(job(place, work=100.0, devices=4, user=user) for place, user in enumerate(users))
    limit = PartyLimit(each=Party.USER, jobs=1)
    outcomes = run(jobs, fleet(8), name, conditions=Conditions(limits=(limit,)))
    assert outcomes.begun[2] == 0.0
    assert outcomes.begun[1] >= 100.0


@EVERY
def test_a_time_limit_ends_a_job_under_every_policy(name):
    jobs = trace([job(0, work=9_000.0, estimate=3_600.0), job(1, work=100.0, estimate=3_600.0)])
    outcomes = run(jobs, fleet(1), name, conditions=Conditions(grace=60.0))
    assert outcomes.killed == {0}
    assert outcomes.ended[0] < 9_000.0


@EVERY
def test_a_job_waits_until_those_before_it_have_ended(name):
    jobs = trace(
        [
            job(0, work=400.0),
            job(1, work=10.0, after=(Dependency("j000"),)),
            job(2, work=10.0, after=(Dependency("j000", DependsOn.START),)),
        ]
    )
    outcomes = run(jobs, fleet(4), name)
    assert outcomes.begun[1] >= outcomes.ended[0]
    assert outcomes.begun[2] < outcomes.ended[0]


def chained(end):
    return trace(
        [
            job(0, work=10.0, end=end),
            job(1, after=(Dependency("j000", DependsOn.SUCCESS),)),
            job(2, after=(Dependency("j000", DependsOn.FAILURE),)),
            job(3, after=(Dependency("j001"),)),
        ]
    )


@pytest.mark.parametrize(("end", "gone"), [(End.FAILED, {1}), (End.FINISHED, {2})])
def test_what_can_never_be_is_cancelled_and_what_waits_for_its_end_goes_on(end, gone):
    outcomes = run(chained(end), fleet(4), "fifo")
    assert outcomes.cancelled == gone
    assert outcomes.begun[3] >= 10.0


def test_a_job_that_its_limit_ended_was_no_success():
    jobs = chained(End.FINISHED)
    outcomes = run(
        trace([job(0, work=10.0, estimate=4.0), *jobs.jobs[1:]]),
        fleet(4),
        "fifo",
        conditions=Conditions(grace=0.0),
    )
    assert outcomes.cancelled == {1}


def test_who_waits_for_an_array_waits_for_all_of_it():
    tasks = [job(place, work=10.0 * (place + 1), array="a") for place in range(3)]
    last = job(3, after=(Dependency("a", DependsOn.SUCCESS),))
    assert run(trace([*tasks, last]), fleet(4), "easy").begun[3] == 30.0


@pytest.mark.parametrize(
    ("after", "message"),
    [({0: "j009"}, "is no job and no array"), ({0: "j001", 1: "j000"}, "wait for each other")],
)
def test_jobs_that_would_wait_for_ever_are_refused(after, message):
    jobs = trace(
        job(place, after=(Dependency(after[place]),) if place in after else ())
        for place in range(2)
    )
    with pytest.raises(InputError, match=message):
        run(jobs, fleet(2), "fifo")


def test_nodes_stop_failing_once_the_last_job_has_ended_or_was_given_up():
    """A job that waits for the failure of one that succeeds never comes."""
    first = job(0, work=10.0)
    never = job(1, after=(Dependency(first.name, DependsOn.FAILURE),))
    failing = NodeFailures(between=50.0, repair=1.0, checkpoint=0.5)
    outcomes = run(
        trace([first, never]),
        Fleet(nodes=(Nodes(count=1, devices=1),)),
        "fifo",
        conditions=Conditions(failures=failing, placement=Placement.PACKED),
        random=np.random.default_rng(0),
    )
    assert outcomes.cancelled == {1}
    assert outcomes.ended[1] < 100.0
