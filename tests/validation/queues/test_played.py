"""Queues on the event kernel, by hand; theory inside the intervals of short runs."""

from random import Random

import pytest
from validation.queues.played import Away, Forked, InTurn, Shared, cycles, responses
from validation.queues.theory import CASES, tried

from foretrain.events import Events

FEWER = 60
"""Times less than in the script."""


def leaves(make, arrivals):
    """When customers leave who come at some times with the service times that are given."""
    events, times = Events(), [0.0] * len(arrivals)
    services = iter([service for _, service in arrivals])
    place = make(events, lambda _: next(services), Random(0))
    for customer, (time, _) in enumerate(arrivals):

        def done(customer=customer):
            times[customer] = events.now

        events.at(time, lambda done=done: place.arrive(done))
    events.run()
    return times


def test_one_server_takes_customers_in_turn():
    assert leaves(InTurn, [(0.0, 3.0), (1.0, 1.0), (6.0, 2.0)]) == [3.0, 4.0, 8.0]


def test_two_servers_take_two_at_a_time():
    def two(events, draw, random):
        return InTurn(events, draw, random, servers=2)

    assert leaves(two, [(0.0, 3.0), (1.0, 1.0), (1.5, 2.0)]) == [3.0, 2.0, 4.0]


def test_who_shares_a_server_slows_the_others_down():
    """The first is alone for a second, then both have half; the second leaves after two more."""
    assert leaves(Shared, [(0.0, 3.0), (1.0, 1.0)]) == pytest.approx([4.0, 3.0])


def test_nobody_waits_away():
    assert leaves(Away, [(0.0, 3.0), (1.0, 1.0)]) == [3.0, 2.0]


def test_the_last_part_counts():
    events = Events()
    parts = [Away(events, lambda _, each=each: each, Random(0)) for each in (1.0, 4.0, 2.0)]
    spent = responses(events, Forked(parts), arrivals=1.0, jobs=3, random=Random(1))
    assert spent == pytest.approx([4.0] * 3)


def test_customers_go_round():
    events = Events()
    places = [Away(events, lambda _: 1.0, Random(0)), InTurn(events, lambda _: 0.5, Random(0))]
    assert cycles(events, places, customers=2, until=4.0) == [1.5, 2.0, 3.0, 3.5]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_theory_lies_inside_the_interval_of_ten_short_runs(case):
    result = tried(case, amount=case.amount // FEWER)
    assert result.inside
    assert result.half_width <= 0.15
