"""Links and cores: worked by hand, and one sum of servers against each of them."""

from functools import partial
from itertools import accumulate
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.events import Events
from foretrain.queueing.servers.links import Connection, EqualShares, FifoLink, SharedLink
from foretrain.queueing.servers.mesh import Flow, Mesh, max_min_rates
from foretrain.queueing.servers.sides import joined

arrivals = st.lists(st.tuples(st.floats(0.0, 3.0), st.floats(0.1, 5.0)), min_size=1, max_size=12)


def ends(events, send, jobs):
    """When each of some transfers has ended; jobs are times and sizes."""
    found = {}
    for number, (time, size) in enumerate(jobs):

        def begin(number=number, size=size):
            send(number, size, lambda: found.setdefault(number, events.now))

        events.at(time, begin)
    events.run()
    return [found[number] for number in range(len(jobs))]


def send_to(link, worker, size, done):
    if isinstance(link, FifoLink):
        link.send(size, done, worker=worker)
    else:
        link.send(size, done)


def test_what_a_worker_cannot_take_goes_to_the_next_in_the_queue():
    """Rates 2, 1 and nothing: the second waits for the rest of the link, the last for a turn."""
    events = Events()
    link = FifoLink(events, capacity=3.0, most=2.0)
    jobs = [(0.0, 4.0), (0.0, 4.0), (0.0, 4.0)]
    found = ends(events, partial(send_to, link), jobs)
    second = 2.0 + (4.0 - 2.0) / 2.0
    last = second + (4.0 - (second - 2.0) * 1.0) / 2.0
    assert found == [4.0 / 2.0, second, last]
    assert link.carried == 3 * 4.0


def test_messages_of_one_worker_queue_for_its_own_link():
    events = Events()
    link = FifoLink(events, capacity=9.0, most=2.0)
    jobs = [(0.0, 4.0), (0.0, 4.0)]
    found = ends(events, lambda _, size, done: link.send(size, done, worker=0), jobs)
    assert found == [2.0, 4.0]


def test_a_transfer_that_is_joined_goes_on_at_half_the_rate():
    events = Events()
    link = SharedLink(events, capacity=1.0, most=1.0)
    found = ends(events, lambda _, size, done: link.send(size, done), [(0.0, 2.0), (1.0, 2.0)])
    assert found == [1.0 + 2 * 1.0, 3.0 + 1.0]


def test_a_transfer_is_no_quicker_than_the_link_of_its_worker():
    events = Events()
    link = SharedLink(events, capacity=10.0, most=2.0)
    found = ends(events, lambda _, size, done: link.send(size, done), [(0.0, 4.0), (0.0, 6.0)])
    assert found == [4.0 / 2.0, 6.0 / 2.0]


def test_three_messages_of_a_connection_share_what_is_left_of_two():
    events = Events()
    link = SharedLink(events, capacity=1.0, most=1.0)
    connection = Connection(link, EqualShares(), window=0.0)
    found = ends(
        events,
        lambda _, size, done: connection.send(size, done, rank=0),
        [(0.0, 4.0), (0.0, 4.0), (2.0, 2.0)],
    )
    third = 2.0 + 3 * 2.0
    assert found == pytest.approx([third + 2 * (4.0 - 1.0 - 2.0)] * 2 + [third])


def test_what_is_withdrawn_tells_what_is_left():
    events = Events()
    link = SharedLink(events, capacity=1.0, most=1.0)
    first, left = link.send(4.0, events.__len__), []
    others = ends(events, lambda _, size, done: link.send(size, done), [(0.0, 4.0)])
    assert others == [8.0]
    first = link.send(4.0, events.__len__)
    link.send(4.0, events.__len__)
    events.at(10.0, lambda: left.append(link.withdraw(first)))
    events.run()
    assert left == [4.0 - (10.0 - 8.0) / 2]
    assert events.now == 10.0 + 3.0


@given(jobs=arrivals)
def test_any_order_of_transfers_keeps_a_link_busy_as_long(jobs):
    found = []
    for kind in (SharedLink, FifoLink):
        events = Events()
        link = kind(events, capacity=2.0, most=2.0)
        send = partial(send_to, link)
        found.append(max(ends(events, send, jobs)))
        assert link.carried == pytest.approx(sum(size for _, size in jobs))
    busy_until = [*accumulate(sorted(jobs), lambda end, job: max(end, job[0]) + job[1] / 2.0,
                              initial=0.0)][-1]  # fmt: skip
    assert found == pytest.approx([busy_until, busy_until])


@given(jobs=arrivals, servers=st.integers(1, 4), link=st.floats(0.2, 3.0))
def test_one_link_stands_for_those_of_all_servers(jobs, servers, link):
    """Each worker gets a part from every server, over its own link; it waits for all of them."""
    size = jobs[0][1]
    jobs = [(time, size) for time, _ in jobs]
    together = Events()
    one = SharedLink(together, capacity=servers * 1.0, most=link)
    expected = ends(together, lambda _, size, done: one.send(size, done), jobs)

    apart = Events()
    mesh = Mesh(apart, [1.0] * servers + [link] * len(jobs))

    def send(worker, size, done):
        part = joined(servers, done)
        for server in range(servers):
            mesh.send(size / servers, (server, servers + worker), part)

    assert ends(apart, send, jobs) == pytest.approx(expected, rel=1e-9)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(5, 9)), min_size=1, max_size=20),
    capacities=st.lists(st.floats(0.1, 10.0), min_size=10, max_size=10),
)
def test_nobody_can_have_more_but_from_one_that_has_less(pairs, capacities):
    flows = [Flow(1.0, pair, Events().run, now=0.0) for pair in pairs]
    rates = max_min_rates(flows, capacities)
    loads = [sum(rate for flow, rate in rates.items() if link in flow.links) for link in range(10)]
    assert all(load <= most * (1 + 1e-9) for load, most in zip(loads, capacities, strict=True))
    for flow in flows:
        assert any(
            loads[link] >= capacities[link] * (1 - 1e-9)
            and rates[flow]
            >= max(rate for other, rate in rates.items() if link in other.links) * (1 - 1e-9)
            for link in flow.links
        )


def test_a_mesh_shares_links_that_transfers_have_in_common():
    """Two leave node 0, of which one meets a third at node 5: 1/2, then what is left."""
    flows = [Flow(1.0, pair, Events().run, now=0.0) for pair in [(0, 4), (0, 5), (1, 5)]]
    rates = max_min_rates(flows, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert list(rates.values()) == [0.5, 0.5, 0.5]
    rates = max_min_rates(flows, [1.0, 1.0, 1.0, 1.0, 0.1, 3.0])
    assert list(rates.values()) == pytest.approx([0.1, 0.9, 1.0])
    rates = max_min_rates(flows, [1.0, 1.0, 1.0, 1.0, 1.0, 3.0])
    assert sorted(rates.values()) == [0.5, 0.5, 1.0]


def test_a_mesh_gives_the_same_history_each_time():
    def history():
        events, random = Events(), Random(3)
        mesh = Mesh(events, [1.0] * 12)
        jobs = [(random.random(), random.random()) for _ in range(30)]
        return ends(
            events,
            lambda worker, size, done: mesh.send(size, (worker % 6, 6 + worker % 5), done),
            jobs,
        )

    assert history() == history()
