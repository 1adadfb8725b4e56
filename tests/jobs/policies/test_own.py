"""Policies of one's own: they decide like ours, and what they say is checked."""

import pytest

from foretrain.cluster.mixed import fleet
from foretrain.errors import ForetrainError, InputError
from foretrain.jobs.ordered import Ordering
from foretrain.jobs.policies import own
from foretrain.jobs.policies.policy import NamedPolicy
from foretrain.jobs.policies.table import named
from foretrain.jobs.run import run
from foretrain.jobs.shared import Allocation
from foretrain.measured.job import Job, Trace
from foretrain.throughput import rigid

JOBS = Trace(
    name="a few",
    jobs=tuple(
        Job(
            name=f"job-{number}",
            arrival=10.0 * number,
            work=300.0 + 70.0 * (number % 4),
            curve=rigid(1 + number % 3),
            devices=1 + number % 3,
        )
        for number in range(12)
    ),
)


@pytest.fixture
def bring(monkeypatch):
    """Gives a policy the name "mine"."""

    def brought(policy):
        monkeypatch.setattr(own, "own", lambda kind, name: policy if name == "mine" else None)

    return brought


def first_come(state):
    """Who came first gets its devices, nobody passes."""
    left, out = state.devices, {}
    for active in state.jobs:
        if active.job.devices > left:
            break
        left -= active.job.devices
        out[active.rank] = Allocation(active.job.devices)
    return out


class Remembering:
    """The same, and counts how often it was asked."""

    made = 0

    def __init__(self):
        Remembering.made += 1

    def __call__(self, state):
        return first_come(state)


def ends(policy):
    return run(JOBS, fleet(4, per_node=4), policy).ended


def test_an_order_of_ones_own_decides_like_the_tables(bring):
    bring(Ordering(key=lambda active, now: active.job.work, preempts=False, skips=True))
    assert ends("mine") == ends("sjf")


@pytest.mark.parametrize("policy", [first_come, Remembering])
def test_a_function_or_a_class_of_ones_own_decides_like_the_tables(bring, policy):
    bring(policy)
    assert ends("mine") == ends("fifo")


def test_every_run_gets_another_one_of_a_class(bring):
    bring(Remembering)
    before = Remembering.made
    ends("mine")
    ends("mine")
    assert Remembering.made >= before + 2


def test_a_whole_entry_of_the_table_is_taken_as_it_is(bring):
    entry = named("las")
    bring(entry)
    assert named("mine") is entry
    assert isinstance(entry, NamedPolicy)


def test_numbers_of_devices_will_do(bring):
    bring(lambda state: {rank: grant.devices for rank, grant in first_come(state).items()})
    assert ends("mine") == ends("fifo")


def test_a_policy_says_what_its_docstring_says(bring):
    bring(first_come)
    assert named("mine").says == "Who came first gets its devices, nobody passes"
    bring(Ordering(key=lambda active, now: 0.0))
    assert named("mine").says == "a policy of one's own"


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        (lambda state: [1], "returned a list; a mapping of ranks to devices is wanted"),
        (lambda state: {99: 1}, "gave devices to 99, which is the rank of no job that is there"),
        (lambda state: {"0": 1}, "gave devices to '0'"),
        (lambda state: {0: 7}, "gave job job-0 7 devices; it runs on 1"),
        (lambda state: {0: float("nan")}, "gave job job-0 nan devices; it runs on 1"),
        (lambda state: {0: "many"}, "gave job job-0 'many' devices; it runs on 1"),
        (Ordering(key=lambda active, now: float("nan")), "the key of job job-0 is not a number"),
    ],
)
def test_what_cannot_be_is_told_with_the_job(bring, policy, says):
    bring(policy)
    with pytest.raises(InputError, match="policy 'mine'") as told:
        ends("mine")
    assert says in str(told.value)


@pytest.mark.parametrize(
    "policy", [lambda state: {}[3], Ordering(key=lambda active, now: {}[3]), type("P", (), {})]
)
def test_what_a_policy_raises_is_told_with_its_name(bring, policy):
    bring(policy)
    with pytest.raises(ForetrainError, match="policy 'mine'"):
        ends("mine")


def test_a_thing_that_is_no_policy_is_refused_with_what_is_one(bring):
    bring(3)
    with pytest.raises(InputError, match="mine: is a int; a policy is an Ordering"):
        named("mine")


def test_an_unknown_name_is_told_with_the_way_to_write_ones_own():
    with pytest.raises(InputError, match=r"or write your own as package\.module:name"):
        named("fifi")
