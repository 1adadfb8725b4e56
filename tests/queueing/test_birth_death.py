"""One station by birth and death: laws, hand-worked chains, and mean-value analysis as a case."""

from itertools import pairwise
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.queueing.birth_death import (
    machine_repair,
    repair_throughput,
    shared_pace,
    station_load,
)
from foretrain.queueing.closed import ClosedNetwork, mean_values
from foretrain.queueing.fork_join import exponential_response

seconds = st.floats(1e-3, 1e3)
counts = st.integers(1, 60)
paces = st.lists(st.floats(0.05, 1.0), max_size=6).map(
    lambda shares: (1.0, *(number * share for number, share in enumerate(shares, start=2)))
)


@given(customers=counts, think=seconds, service=seconds)
def test_a_station_of_one_pace_is_that_of_mean_value_analysis(customers, think, service):
    found = station_load(customers, think=think, service=service)
    network = ClosedNetwork(think=think, demands={"server": service})
    exact = mean_values(network, customers)
    assert found.throughput == pytest.approx(exact.throughput[-1], rel=1e-9)
    assert found.queue == pytest.approx(exact.queues["server"][-1], rel=1e-9)


@given(customers=counts, think=seconds, service=seconds, pace=paces)
def test_customers_think_or_are_there_and_chances_add_up(customers, think, service, pace):
    found = station_load(customers, think=think, service=service, pace=pace)
    assert found.chances.sum() == pytest.approx(1.0, rel=1e-12)
    assert found.throughput * think + found.queue == pytest.approx(customers, rel=1e-9)
    assert found.response == pytest.approx(found.queue / found.throughput)


@given(customers=counts, think=seconds, service=seconds, pace=paces)
def test_one_station_by_convolution_is_the_chain(customers, think, service, pace):
    found = station_load(customers, think=think, service=service, pace=pace)
    network = ClosedNetwork(think=think, demands={"link": service}, paces={"link": pace})
    convolved = mean_values(network, customers)
    assert convolved.throughput[-1] == pytest.approx(found.throughput, rel=1e-9)
    assert convolved.queues["link"][-1] == pytest.approx(found.queue, rel=1e-9)


@given(customers=counts, think=seconds, service=seconds)
def test_a_station_that_serves_all_at_once_keeps_nobody_waiting(customers, think, service):
    found = station_load(customers, think=think, service=service, pace=shared_pace(customers))
    assert found.response == pytest.approx(service, rel=1e-9)
    assert found.throughput == pytest.approx(customers / (think + service), rel=1e-9)


@given(customers=counts, think=seconds, service=seconds, most=st.floats(1.0, 20.0))
def test_serving_more_at_once_never_hurts(customers, think, service, most):
    less, more = (
        station_load(customers, think=think, service=service, pace=shared_pace(each)).throughput
        for each in (most, most + 0.5)
    )
    assert more >= less * (1.0 - 1e-12)


@given(customers=counts, service=seconds, pace=paces)
def test_customers_who_do_not_think_are_all_there(customers, service, pace):
    found = station_load(customers, think=0.0, service=service, pace=pace)
    assert found.queue == customers
    rate = pace[min(customers, len(pace)) - 1] / service
    assert found.throughput == pytest.approx(rate, rel=1e-12)


@given(think=seconds, service=seconds, customers=counts, factor=st.floats(1e-3, 1e3))
def test_times_that_are_longer_by_a_factor_divide_a_stations_throughput_by_it(
    think, service, customers, factor
):
    base = station_load(customers, think=think, service=service, pace=(1.0, 1.7))
    longer = station_load(
        customers, think=factor * think, service=factor * service, pace=(1.0, 1.7)
    )
    assert longer.throughput * factor == pytest.approx(base.throughput, rel=1e-9)


def test_two_customers_and_a_link_that_slows_down_by_hand():
    """Think 1 s, service 1 s; with both there the link passes half: weights 1, 2, 4."""
    found = station_load(2, think=1.0, service=1.0, pace=(1.0, 0.5))
    np.testing.assert_allclose(found.chances, [1 / 7, 2 / 7, 4 / 7], rtol=1e-12)
    assert found.throughput == pytest.approx(2 / 7 + 0.5 * 4 / 7)


def test_where_goodput_falls_with_flows_more_workers_may_do_less():
    pace = (1.0, 1.0, 0.8, 0.6, 0.4)
    few, many = (
        station_load(count, think=1.0, service=0.5, pace=pace).throughput for count in (3, 30)
    )
    assert many < 0.7 * few


@pytest.mark.parametrize(("machines", "repairers"), [(1, 1), (4, 1), (6, 2), (10, 3), (5, 8)])
def test_machine_repair_is_the_textbooks_sum(machines, repairers):
    """The finite population of c repairers by the sum of its definition, term by term."""
    load = 0.4
    terms = [
        comb(machines, down) * load**down
        if down <= repairers
        else comb(machines, down)
        * load**down
        * factorial(down)
        / (factorial(repairers) * repairers ** (down - repairers))
        for down in range(machines + 1)
    ]
    found = machine_repair(machines, running=5.0, repair=2.0, repairers=repairers)
    np.testing.assert_allclose(found.chances, np.array(terms) / sum(terms), rtol=1e-9)


@pytest.mark.parametrize("repairers", [1, 3])
def test_machines_without_number_that_break_rarely_are_poisson_arrivals(repairers):
    many = 200_000
    found = machine_repair(many, running=many / (0.7 * repairers), repair=1.0, repairers=repairers)
    open_queue = exponential_response(0.7 * repairers, mean=1.0, servers=repairers)
    assert found.response == pytest.approx(open_queue, rel=1e-4)


@given(customers=counts, think=seconds, service=seconds)
def test_one_repairer_of_exponential_times_is_the_chain(customers, think, service):
    chain = machine_repair(customers, running=think, repair=service).throughput
    found = repair_throughput(customers, think=think, service=service)
    assert found == pytest.approx(chain, rel=1e-9)


@given(customers=counts, think=seconds, service=seconds)
def test_repairs_of_equal_length_are_quickest_and_nearly_equal_ones_nearly(
    customers, think, service
):
    variations = (0.0, 1e-9, 0.5, 1.0, 4.0)
    found = [
        repair_throughput(customers, think=think, service=service, variation=each)
        for each in variations
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-6)
    assert all(later <= sooner * (1 + 1e-6) for sooner, later in pairwise(found))


def test_two_machines_and_equal_repairs_by_hand():
    """With think 1 and service 1 the other breaks down meanwhile with chance 1 - 1/e.

    Cycles of the server: idle for half a second, then a geometric number of repairs of mean e.
    """
    found = repair_throughput(2, think=1.0, service=1.0, variation=0.0)
    assert found == pytest.approx(np.e / (np.e + 0.5), rel=1e-12)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda: shared_pace(0.5), "at least 1 customer at a time, got 0.5"),
        (lambda: shared_pace(float("inf")), "got inf"),
        (lambda: station_load(0, think=1.0, service=1.0), "customers must be at least 1, got 0"),
        (lambda: station_load(2, think=-1.0, service=1.0), "got -1.0 and 1.0"),
        (lambda: station_load(2, think=1.0, service=1.0, pace=()), "must begin with 1"),
        (lambda: station_load(2, think=1.0, service=1.0, pace=(1, 3)), "at most 2, got 3"),
        (lambda: station_load(2, think=1.0, service=1.0, pace=(1, 0)), "above 0"),
        (lambda: repair_throughput(0, think=1.0, service=1.0), "at least 1, got 0"),
        (lambda: repair_throughput(2, think=0.0, service=1.0), "think must be above 0 s"),
        (lambda: repair_throughput(2, think=1.0, service=1.0, variation=-1), "got -1"),
    ],
)
def test_a_station_that_cannot_be_is_refused(wrong, told):
    with pytest.raises(InputError, match=told):
        wrong()
