"""Links behind a switch that keeps bytes: worked by hand, and beside links that are shared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.distributions import Exponential
from foretrain.events import Events
from foretrain.plan.servers import ASYNCHRONOUS, LinkPolicy, Servers, Training, Worker
from foretrain.queueing.servers.links import SharedLink
from foretrain.queueing.servers.mesh import IntoServers, OutOfServers
from foretrain.queueing.servers.simulate import simulate

BOTH = pytest.mark.parametrize("kind", [IntoServers, OutOfServers])
arrivals = st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.1, 5.0)), min_size=1, max_size=12)


def ends(kind, jobs, *, capacity, most):
    """When each transfer has ended, and the link; jobs are times and sizes."""
    events, found = Events(), {}
    link = kind(events, capacity=capacity, most=most)
    for number, (time, size) in enumerate(jobs):

        def begin(number=number, size=size):
            link.send(size, lambda: found.setdefault(number, events.now))

        events.at(time, begin)
    events.run()
    return [found[number] for number in range(len(jobs))], link


def test_what_comes_while_a_long_transfer_waits_leaves_behind_the_bytes_that_came_before():
    found, _ = ends(IntoServers, [(0.0, 1.0), (0.5, 1.0), (1.0, 1.0)], capacity=1.0, most=1.0)
    # in the switch at 1, 1.5 and 2, when 1.5, 2.5 and 3 bytes had come, which leave one a second
    assert found == [1.5, 2.5, 3.0]


def test_shared_fairly_the_first_of_them_would_wait_for_the_last():
    found, _ = ends(SharedLink, [(0.0, 1.0), (0.5, 1.0), (1.0, 1.0)], capacity=1.0, most=1.0)
    assert found == [1.75, 2.75, 3.0]


def test_servers_are_free_for_others_while_a_slow_link_takes_what_they_sent():
    found, _ = ends(OutOfServers, [(0.0, 3.0), (1.0, 3.0)], capacity=3.0, most=1.0)
    assert found == [3.0, 1.0 + 3.0]
    crowd, _ = ends(OutOfServers, [(0.0, 3.0)] * 3 + [(1.5, 3.0)], capacity=3.0, most=1.0)
    # at 1.5 each has half to come; at 3.5 the three are through, and the last has 1.5 bytes to come
    assert crowd == pytest.approx([3.5, 3.5, 3.5, 5.0])


@BOTH
@given(jobs=arrivals)
def test_no_transfer_is_quicker_than_a_link_alone(kind, jobs):
    found, _ = ends(kind, jobs, capacity=2.0, most=1.5)
    assert all(
        end - begin >= size / 1.5 * (1 - 1e-9)
        for end, (begin, size) in zip(found, jobs, strict=True)
    )


@BOTH
@given(jobs=arrivals)
def test_wide_links_of_servers_leave_each_transfer_alone(kind, jobs):
    found, _ = ends(kind, jobs, capacity=1e9, most=2.0)
    assert found == pytest.approx([begin + size / 2.0 for begin, size in jobs], rel=1e-6)


@BOTH
@given(jobs=arrivals)
def test_the_last_byte_comes_no_later_than_over_a_link_that_is_shared(kind, jobs):
    found, link = ends(kind, jobs, capacity=2.0, most=1.0)
    shared, _ = ends(SharedLink, jobs, capacity=2.0, most=1.0)
    assert max(found) <= max(shared) * (1 + 1e-9)
    assert link.carried == pytest.approx(sum(size for _, size in jobs))


@given(jobs=arrivals)
def test_no_worker_gets_its_bytes_later_than_over_a_link_that_is_shared(jobs):
    found, _ = ends(OutOfServers, jobs, capacity=2.0, most=1.0)
    shared, _ = ends(SharedLink, jobs, capacity=2.0, most=1.0)
    assert all(a <= b * (1 + 1e-9) for a, b in zip(found, shared, strict=True))


def throughput(workers, policy):
    compute = Exponential(mean=2.0, least=1.0)
    training = Training(
        worker=Worker(compute=compute, samples=1.0, pulled=1.0, pushed=1.0, link=1.0),
        servers=Servers(link=1.0),
        updates=ASYNCHRONOUS,
    )
    return simulate(training, workers, steps=500, seed=3, policy=policy).throughput


def test_one_worker_finds_no_buffer_filled():
    assert throughput(1, LinkPolicy.BUFFERED) == pytest.approx(throughput(1, LinkPolicy.FAIR))


def test_many_workers_are_quicker_than_over_links_that_are_shared_and_no_quicker_than_these():
    assert 1.05 * throughput(5, LinkPolicy.FAIR) < throughput(5, LinkPolicy.BUFFERED) < 1.0
