"""Workers get as much at a time as keeps talking cheap and waiting short."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchcast.errors import StreamGarbled
from batchcast.messages import Kind, Message
from batchcast.order import Order
from batchcast.worker_pool import (
    AHEAD,
    AHEAD_SHARE,
    FIRST,
    LASTS,
    MOST,
    SOON,
    STAGES,
    Child,
    Task,
    WorkerPool,
    died,
    task_of,
)


def pool_after(seconds, samples):
    """A pool that has spent so many seconds on so many samples, all of them on reading."""
    pool = WorkerPool(None, size=1)
    pool.spent(np.array([seconds, *[0.0] * (len(STAGES) - 1)]), samples)
    return pool


def test_the_first_tasks_are_small():
    assert WorkerPool(None, size=1).chunk() == FIRST


@given(each=st.floats(1e-7, 100), samples=st.integers(1, 10_000))
def test_a_task_has_a_sample_at_least_and_lasts_no_longer_than_it_should(each, samples):
    chunk = pool_after(each * samples, samples).chunk()
    assert 1 <= chunk <= MOST
    assert chunk == 1 or chunk * each <= LASTS * (1 + 1e-9)


@pytest.mark.parametrize(("each", "chunk"), [(0.002, 25), (0.03, 1), (0.0, MOST)])
def test_samples_that_take_longer_come_in_smaller_tasks(each, chunk):
    assert pool_after(each * 64, 64).chunk() == chunk


def test_processor_time_within_a_stage_is_not_counted_again():
    pool = WorkerPool(None, size=1)
    pool.spent(np.array([0.1, 0.05, 0.05, 0.2]), 100)
    assert STAGES[-1] == "cpu"
    assert pool.chunk() == 25


def task(first=0, samples=3):
    return Task(first=first, slots=np.arange(samples) + 4, ids=np.arange(samples) + 70, epoch=1)


def child_with(*tasks):
    child = Child(None, None)
    child.tasks.extend(tasks)
    return child


def told(samples, *numbers):
    return Message(Kind.DONE, 0, samples, np.array(numbers, np.int64).tobytes())


def test_the_oldest_task_is_done_first_and_what_was_spent_is_in_seconds():
    pool = WorkerPool(None, size=1)
    first, second = task(0, 3), task(3, 2)
    child = child_with(first, second)
    done, failed = pool.done(child, told(3, 10**9, 2 * 10**9, 3 * 10**9, 4 * 10**9, 0, 2))
    assert numbers_of(done) == numbers_of(first)
    assert failed.tolist() == [0, 2]
    assert pool.done(child, told(2, 10**9, 0, 0, 0))[1].tolist() == []
    assert pool.stats()["worker_seconds"] == {"read": 2, "transform": 2, "store": 3, "cpu": 4}
    assert pool.stats()["prepared"] == 5
    assert not child.tasks


@pytest.mark.parametrize(
    ("tasks", "samples", "numbers"),
    [
        ((), 3, (0,) * 4),
        ((task(),), 3, (0,) * 3),
        ((task(),), 3, (0, 0, 0, 0, 3)),
        ((task(),), 3, (0,) * 4 + (-1,)),
        ((task(),), 2, (0, 0, 0, 0, 2)),
        ((task(),), 4, (0,) * 4),
        ((task(),), 0, (0,) * 4),
        ((task(),), -1, (0,) * 4),
    ],
)
def test_who_is_done_with_what_it_was_not_given_is_garbled(tasks, samples, numbers):
    with pytest.raises(StreamGarbled):
        WorkerPool(None, size=1).done(child_with(*tasks), told(samples, *numbers))


def numbers_of(task):
    return task.first, task.slots.tolist(), task.ids.tolist()


def test_a_feeder_may_be_done_with_a_part_of_what_it_was_given():
    pool, child = WorkerPool(None, size=1), child_with(task(7, 5))
    done, _ = pool.done(child, told(2, 0, 0, 0, 0))
    assert numbers_of(done) == (7, [4, 5], [70, 71])
    assert numbers_of(child.tasks[0]) == (9, [6, 7, 8], [72, 73, 74])
    assert pool.prepared == 2


def test_a_feeder_is_given_slots_for_a_moment():
    assert WorkerPool(None, size=1).soon(8000) == 1
    assert pool_after(1.0, 10_000).soon(8000) == round(10_000 * SOON)
    assert pool_after(1.0, 10_000).soon(40) == 40 // AHEAD_SHARE


def test_work_goes_to_whoever_has_least_of_it_up_to_two_tasks_each():
    pool = WorkerPool(None, size=2)
    assert pool.idlest() is None
    pool.children = {n: child_with(*[task()] * count) for n, count in enumerate((1, 0, 2))}
    order = []
    while (child := pool.idlest()) is not None:
        child.tasks.append(task())
        order.append(next(n for n, each in pool.children.items() if each is child))
    assert order == [1, 0, 1]
    assert all(len(each.tasks) == AHEAD for each in pool.children.values())


def test_a_pool_is_busy_while_anybody_works_or_is_about_to_come():
    pool = WorkerPool(None, size=2)
    assert not pool.busy
    pool.missing = 1
    assert pool.busy
    pool.missing, pool.children = 0, {0: child_with(), 1: child_with(task())}
    assert pool.busy
    pool.children[1].tasks.clear()
    assert not pool.busy


def test_a_child_that_is_asked_for_before_there_is_a_template_is_missing():
    pool = WorkerPool(None, size=2)
    assert not pool.loads
    assert [pool.start(), pool.start()] == [None, None]
    assert pool.missing == 2


def test_the_samples_of_a_task_are_tasks_of_their_own_and_one_of_them_is_deadly():
    pieces = task(30, 3).singly(2)
    assert [(each.first, each.slots.tolist(), each.ids.tolist()) for each in pieces] == [
        (30, [4], [70]), (31, [5], [71]), (32, [6], [72])
    ]  # fmt: skip
    assert {(each.epoch, each.deaths, each.reader) for each in pieces} == {(1, 2, None)}
    assert "Sample 71 could not be prepared: 2 workers died" in str(pieces[1].deadly(2))


def test_a_feeder_is_told_the_places_of_the_numbers_that_it_gets():
    order = Order(samples=None, epochs=3, shuffle=False, seed=0)
    order.close(0, 7)
    found = task_of(order, 9, np.array([3, 4]))
    assert (found.first, found.ids.tolist(), found.epoch) == (9, [2, 3], 1)


def test_who_died_is_told_apart():
    assert "goes through the loader died" in str(died(fed=True))
    assert "tried the first samples died" in str(died(fed=False))


def test_connections_of_a_pool_are_those_of_its_children_and_of_their_zygote():
    pool = WorkerPool(None, size=1)
    pool.children = {"child": child_with()}
    assert pool.peers == ["child"]
    pool._zygote = SimpleNamespace(peer="zygote", is_ready=False)
    assert pool.peers == ["zygote", "child"]
    assert pool.loads
    assert pool.start() is None
