"""Start-up: what grows with nodes, what shrinks, and what file systems allow."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.cluster.cluster import Storage
from foretrain.errors import InputError
from foretrain.plan.servers import Access, StartUp
from foretrain.queueing.served import start_time
from foretrain.workload.workload import Data

DATA = Data(samples=1000, sample_bytes=1e6)
STORAGE = Storage(read=1e8, write=1e8, total_read=4e8)
START = StartUp(
    storage=STORAGE,
    files=1000,
    opening=1e-2,
    total_opens=400,
    launch=3.0,
    node_launch=0.5,
    link=5e8,
    latency=1e-3,
    local=2e9,
)
nodes_of_a_job = st.integers(1, 200)


def test_eight_nodes_that_read_all_of_it_as_worked_by_hand():
    found = start_time(START, DATA, nodes=8.0)
    assert found.launch == 3.0 + 8 * 0.5
    assert found.metadata == max(1000 * 1e-2, 8 * 1000 / 400)
    assert found.reading == max(1e9 / 1e8, 8 * 1e9 / 4e8)
    assert found.total == 7.0 + 20.0 + 20.0


def test_eight_nodes_that_read_a_part_each_as_worked_by_hand():
    found = start_time(replace(START, access=Access.SHARDED), DATA, nodes=8.0)
    assert found.metadata == max(125 * 1e-2, 1000 / 400)
    assert found.reading == max(1.25e8 / 1e8, 1e9 / 4e8)


def test_a_broadcast_is_read_once_and_passed_on_meanwhile():
    found = start_time(replace(START, access=Access.BROADCAST), DATA, nodes=8.0)
    assert found.reading == pytest.approx(10.0 + 3 * 1e-3)
    slow = start_time(replace(START, access=Access.BROADCAST, link=5e7), DATA, nodes=8.0)
    assert slow.reading == pytest.approx(20.0 + 3 * 1e-3)


def test_what_nodes_have_already_is_read_at_home():
    found = start_time(replace(START, access=Access.CACHED), DATA, nodes=8.0)
    assert (found.metadata, found.reading) == (0.0, 0.5)


def test_nodes_that_read_one_after_another_wait_about_half_as_long():
    # Four are served at full speed: eight end after 10 s and after 20 s.
    staggered = replace(START, access=Access.STAGGERED)
    assert start_time(staggered, DATA, nodes=8.0).reading == 15.0
    assert start_time(staggered, DATA, nodes=9.0).reading == (4 * 10 + 4 * 20 + 30) / 9
    assert start_time(staggered, DATA, nodes=9.0, barrier=True).reading == 30.0


@pytest.mark.parametrize("access", Access)
@given(nodes=nodes_of_a_job)
def test_one_node_takes_as_long_however_the_data_is_shared(access, nodes):
    alone = start_time(replace(START, access=access), DATA, nodes=1.0)
    many = start_time(replace(START, access=access), DATA, nodes=float(nodes))
    if access is not Access.CACHED:
        assert alone.reading == 10.0
    assert many.launch - alone.launch == pytest.approx((nodes - 1) * START.node_launch)


@pytest.mark.parametrize("access", Access)
@given(nodes=nodes_of_a_job)
def test_no_other_way_is_slower_than_that_all_read_all(access, nodes):
    all_read = start_time(START, DATA, nodes=float(nodes))
    found = start_time(
        replace(START, access=access, link=1e12, latency=0.0), DATA, nodes=float(nodes)
    )
    assert found.total <= all_read.total * (1 + 1e-12)


@pytest.mark.parametrize("access", Access)
def test_a_row_of_nodes_equals_each_number_alone(access):
    nodes = np.arange(1.0, 40.0)
    row = start_time(replace(START, access=access), DATA, nodes=nodes).total
    alone = [start_time(replace(START, access=access), DATA, nodes=float(n)).total for n in nodes]
    np.testing.assert_array_equal(row, alone)


@given(nodes=nodes_of_a_job, factor=st.floats(1, 100))
def test_a_quicker_file_system_never_hurts(nodes, factor):
    quick = replace(START, storage=Storage(read=factor * 1e8, write=1e8, total_read=factor * 4e8))
    slow, found = (start_time(each, DATA, nodes=float(nodes)).reading for each in (START, quick))
    assert found == pytest.approx(slow / factor)


def test_a_file_system_without_a_limit_of_its_own_serves_any_number_at_full_speed():
    free = replace(START, storage=Storage(read=1e8, write=1e8))
    assert start_time(free, DATA, nodes=1e6).reading == 10.0
    staggered = replace(free, access=Access.STAGGERED)
    assert start_time(staggered, DATA, nodes=1e6).reading == 10.0


def test_a_broadcast_over_no_link_is_refused():
    with pytest.raises(InputError, match="must be given where access is"):
        start_time(replace(START, access=Access.BROADCAST, link=None), DATA, nodes=2.0)
