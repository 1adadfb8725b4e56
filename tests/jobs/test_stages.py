"""What no policy may do: limits of parties, time limits and dependencies, under every policy."""

from dataclasses import replace
from itertools import pairwise

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


@EVERY
def test_who_comes_after_what_it_waited_for_stands_where_it_would_without(name):
    """A requeued job waits for its own first run, which is long over: nobody passes it for that."""

    def begun(after):
        first = job(1, arrival=50.0, work=100.0, after=after)
        jobs = [job(0, work=10.0), first, job(2, arrival=50.0, work=100.0)]
        return list(run(trace(jobs), fleet(1), name).begun)

    assert begun((Dependency("j000"),)) == begun(())


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


ALONE = (Dependency("", DependsOn.SINGLETON),)


def test_of_one_user_and_label_a_singleton_waits_for_all_that_came_before():
    """By hand: the second waits for the first, the fourth for both; another label or user does not.

    The third came before the fourth and is no singleton: it starts at once, and is waited for too.
    """
    one = {"user": "u", "label": "train"}
    jobs = [
        job(0, work=10.0, **one),
        job(1, work=5.0, arrival=1.0, after=ALONE, **one),
        job(2, work=40.0, arrival=2.0, **one),
        job(3, work=5.0, arrival=3.0, after=ALONE, **one),
        job(4, work=5.0, arrival=3.0, after=ALONE, user="u", label="test"),
        job(5, work=5.0, arrival=3.0, after=ALONE, user="v", label="train"),
    ]
    begun = list(run(trace(jobs), fleet(8), "fifo").begun)
    assert begun == [0.0, 42.0, 2.0, 47.0, 3.0, 3.0]


def test_a_singleton_of_which_all_others_wait_for_it_goes_on_after_each():
    jobs = [job(place, work=10.0, user="u", label="chain", after=ALONE) for place in range(4)]
    assert list(run(trace(jobs), fleet(4), "slurm").begun) == [0.0, 10.0, 20.0, 30.0]


def test_a_singleton_that_waits_for_who_waits_for_it_is_refused():
    first = job(0, user="u", label="a", after=(Dependency("j001"),))
    jobs = [first, job(1, user="u", label="a", after=ALONE)]
    with pytest.raises(InputError, match="wait for each other"):
        run(trace(jobs), fleet(2), "fifo")


def task(array, number, place, **others):
    return replace(job(place, array=array, **others), name=f"{array}_{number}")


def test_a_task_waits_for_the_task_of_its_number():
    """By hand: tasks of 7 end at 10, 20 and 30, the second of them badly."""
    tasks = [
        task("7", number, number, work=10.0 * (number + 1),
             end=End.FAILED if number == 1 else End.FINISHED)
        for number in range(3)
    ]  # fmt: skip
    then = [
        task("8", number, 3 + number, after=(Dependency("7", DependsOn.TASK),))
        for number in range(3)
    ]
    outcomes = run(trace([*tasks, *then]), fleet(8), "fifo")
    assert outcomes.cancelled == {4}
    assert (outcomes.begun[3], outcomes.begun[5]) == (10.0, 30.0)


def test_a_task_whose_other_is_missing_is_refused():
    jobs = [task("7", 0, 0), task("8", 1, 1, after=(Dependency("7", DependsOn.TASK),))]
    with pytest.raises(InputError, match="waits for 7_1, which is no job"):
        run(trace(jobs), fleet(2), "fifo")


def test_what_waits_task_by_task_is_a_task():
    with pytest.raises(InputError, match="aftercorr is for tasks of arrays"):
        job(0, after=(Dependency("7", DependsOn.TASK),))


def holding(count):
    return Conditions(limits=(PartyLimit(license="matlab", count=count),))


@EVERY
def test_no_more_licences_are_held_than_there_are(name):
    """Three jobs of two licences each of three: one runs at a time, and who needs none passes."""
    two = {"licenses": (("matlab", 2),), "work": 100.0}
    jobs = [*(job(place, **two) for place in range(3)), job(3, work=1.0)]
    outcomes = run(trace(jobs), fleet(4), name, conditions=holding(3))
    runs = sorted(zip(outcomes.begun[:3], outcomes.ended[:3], strict=True))
    assert all(end <= begun for (_, end), (begun, _) in pairwise(runs))
    assert outcomes.begun[3] < 100.0


@pytest.mark.parametrize(
    ("held", "message"), [((("matlab", 4),), "licences than a limit"), ((("ansys", 1),), "ansys")]
)
def test_licences_that_there_never_are_refuse_a_job(held, message):
    with pytest.raises(InputError, match=message):
        run(trace([job(0, licenses=held)]), fleet(4), "fifo", conditions=holding(3))


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
