"""Placements: the ways of messages, and what a job makes of the nodes that it gets."""

import re
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.distributions import Constant
from foretrain.errors import InputError
from foretrain.plan.servers import ASYNCHRONOUS, Servers, Training, Worker
from foretrain.queueing.placements import ABSENT, Rack, Torus, placed_step, placement_spread

TORUS = Torus(sides=(4, 3, 5), bandwidths=(2e9, 1e9, 3e9), per_router=2)
TRAINING = Training(
    worker=Worker(compute=Constant(1.0), samples=10, pulled=2e9, pushed=1e9, link=1e9),
    servers=Servers(count=2, link=4e9, latency=0.01, update=0.2),
)

nodes_of_the_torus = st.integers(0, TORUS.nodes - 1)


def walked(torus: Torus, source: int, target: int) -> set[int]:
    """Links on the way, step by step: along each side in turn, the shorter way around."""
    here = list(np.unravel_index(source // torus.per_router, torus.sides))
    there = np.unravel_index(target // torus.per_router, torus.sides)
    passed = set()
    for side, length in enumerate(torus.sides):
        while here[side] != there[side]:
            down = (there[side] - here[side]) % length > length / 2
            router = int(np.ravel_multi_index(tuple(here), torus.sides))
            passed.add((router * len(torus.sides) + side) * 2 + down)
            here[side] = (here[side] + (-1 if down else 1)) % length
    return passed


@given(source=nodes_of_the_torus, target=nodes_of_the_torus)
def test_messages_take_the_way_that_is_walked_step_by_step(source, target):
    (path,) = TORUS.paths(np.array([source]), np.array([target]))
    links = [link for link in path.tolist() if link != ABSENT]
    assert len(links) == len(set(links))
    assert set(links) == walked(TORUS, source, target)


def test_links_along_each_side_have_its_bandwidth():
    (path,) = TORUS.paths(np.array([0]), np.array([TORUS.nodes - 1]))
    passed = TORUS.capacities(path)
    assert passed[path != ABSENT].tolist() == [2e9, 1e9, 3e9]
    assert np.isinf(passed[path == ABSENT]).all()


def test_three_workers_and_two_servers_on_a_rack_as_worked_by_hand():
    # Each worker receives 2 GB at 1 GB/s and sends 1 GB; servers' links of 4 GB/s are not full.
    step = placed_step(TRAINING, Rack(nodes=9), placement=np.array([0, 1, 2, 3, 4]))
    assert step == pytest.approx(1.0 + 0.02 + 0.1 + 2.0 + 1.0)
    slow = replace(TRAINING, servers=replace(TRAINING.servers, link=1e9))
    # Now half of all that three workers move passes each server's link.
    step = placed_step(slow, Rack(nodes=9), placement=np.array([0, 1, 2, 3, 4]))
    assert step == pytest.approx(1.12 + 3 * 3.0 / 2)


def test_two_workers_behind_one_link_as_worked_by_hand():
    ring = Torus(sides=(6,), bandwidths=(1e9,))
    quick = replace(
        TRAINING,
        worker=replace(TRAINING.worker, link=9e9),
        servers=replace(TRAINING.servers, count=1, link=9e9),
    )
    # The server is at 3: messages of 1 and 2 both pass the link between 2 and 3.
    step = placed_step(quick, ring, placement=np.array([1, 2, 3]))
    assert step == pytest.approx(1.0 + 0.02 + 0.2 + 2 * 3.0)
    # One on either side, they have a link each.
    apart = placed_step(quick, ring, placement=np.array([2, 4, 3]))
    assert apart == pytest.approx(1.22 + 3.0)


def test_who_waits_for_nobody_goes_at_the_pace_of_the_mean_worker():
    ring = Torus(sides=(6,), bandwidths=(1e9,))
    free = replace(
        TRAINING,
        worker=replace(TRAINING.worker, link=9e9),
        servers=replace(TRAINING.servers, count=1, link=9e9),
        updates=ASYNCHRONOUS,
    )
    step = placed_step(free, ring, placement=np.array([1, 2, 4, 3]))
    assert step == pytest.approx(3 / (2 / (1.22 + 6.0) + 1 / (1.22 + 3.0)))


@given(
    placement=st.lists(nodes_of_the_torus, min_size=4, max_size=12, unique=True),
    shift=st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 4)),
)
def test_a_placement_takes_as_long_wherever_in_the_torus_it_begins(placement, shift):
    routers = np.array(np.unravel_index(np.array(placement) // 2, TORUS.sides))
    moved = (routers + np.array(shift)[:, None]) % np.array(TORUS.sides)[:, None]
    elsewhere = np.ravel_multi_index(tuple(moved), TORUS.sides) * 2 + np.array(placement) % 2
    step = placed_step(TRAINING, TORUS, placement=np.array(placement))
    assert placed_step(TRAINING, TORUS, placement=elsewhere) == pytest.approx(step)


@given(placement=st.lists(nodes_of_the_torus, min_size=4, max_size=12, unique=True))
def test_no_placement_is_quicker_than_a_rack_and_wider_links_come_near_it(placement):
    nodes = np.array(placement)
    rack = placed_step(TRAINING, Rack(nodes=TORUS.nodes), placement=nodes)
    step = placed_step(TRAINING, TORUS, placement=nodes)
    wide = replace(TORUS, bandwidths=tuple(1e4 * width for width in TORUS.bandwidths))
    assert step >= rack
    assert placed_step(TRAINING, wide, placement=nodes) == pytest.approx(rack)


@given(factor=st.floats(0.1, 10))
def test_a_job_that_is_so_many_times_quicker_in_all_takes_so_much_less_time(factor):
    quick = replace(
        TRAINING,
        worker=replace(
            TRAINING.worker, compute=Constant(1.0 / factor), link=factor * TRAINING.worker.link
        ),
        servers=replace(
            TRAINING.servers,
            link=factor * TRAINING.servers.link,
            latency=TRAINING.servers.latency / factor,
            update=TRAINING.servers.update / factor,
        ),
    )
    torus = replace(TORUS, bandwidths=tuple(factor * width for width in TORUS.bandwidths))
    placement = np.array([3, 50, 77, 110, 8])
    step = placed_step(TRAINING, TORUS, placement=placement)
    assert placed_step(quick, torus, placement=placement) == pytest.approx(step / factor)


def test_packed_nodes_lie_in_a_box_and_are_as_many_as_asked_for():
    for workers, servers in ((1, 1), (5, 2), (50, 10)):
        for nodes in islice(TORUS.packed(workers, servers), 9):
            assert len(nodes) == len(set(nodes.tolist())) == workers + servers
    routers = np.unravel_index(next(TORUS.packed(3, 1)) // 2, TORUS.sides)
    assert max(len(set(side.tolist())) for side in routers) <= 4


def test_every_row_of_a_packed_box_has_its_share_of_servers_in_some_placement():
    cube = Torus(sides=(4, 4, 4), bandwidths=(1e9, 1e9, 1e9))

    def uneven(nodes):
        serving = np.zeros(cube.sides)
        serving[np.unravel_index(nodes[32:], cube.sides)] = 1.0
        return max(abs(serving.mean(axis=side) - 0.5).max() for side in range(3))

    assert min(uneven(nodes) for nodes in cube.packed(32, 32)) == 0.0


def test_packed_nodes_of_a_torus_like_blue_waters_do_as_well_as_a_rack():
    # In the order of nodes all servers would stand in every second plane, behind one link of each
    # worker at the rim, which is narrower than its own connection.
    torus = Torus(sides=(24, 24, 24), bandwidths=(9.4e9, 4.7e9, 9.4e9), per_router=2)
    near = Worker(compute=Constant(0.1), samples=1, pulled=1e9, pushed=1e9, link=9.6e9)
    for workers, count in ((16, 16), (12, 8)):
        training = Training(worker=near, servers=Servers(count=count, link=9.6e9))
        rack = placed_step(training, Rack(nodes=32), placement=np.arange(workers + count))
        found = placement_spread(training, torus, workers=workers, draws=1).packed
        assert found == pytest.approx(rack)


def test_spread_is_in_order_and_packed_nodes_are_no_slower_than_the_median():
    torus = Torus(sides=(8, 8, 8), bandwidths=(1e9, 5e8, 1e9), per_router=2)
    for workers in (1, 3, 10):
        found = placement_spread(TRAINING, torus, workers=workers, draws=60, seed=workers)
        assert found.p10 <= found.p50 <= found.p90
        assert found.packed <= found.p50 * (1 + 1e-9)


def test_on_a_rack_all_placements_are_alike():
    found = placement_spread(TRAINING, Rack(nodes=40), workers=9, draws=20)
    assert found.p10 == found.p50 == found.p90 == pytest.approx(found.packed)


def test_equal_seeds_draw_equal_placements():
    one, again, other = (
        placement_spread(TRAINING, TORUS, workers=6, draws=10, seed=seed) for seed in (1, 1, 2)
    )
    assert one == again != other


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Rack(nodes=0), "Rack.nodes must be at least 1, got 0"),
        (lambda: Torus(sides=(), bandwidths=()), "Torus.sides must be at least 1 router each"),
        (lambda: Torus(sides=(2, 2), bandwidths=(1.0,)), "Torus.bandwidths must be 2 numbers"),
        (lambda: Torus(sides=(2,), bandwidths=(0.0,)), "Torus.bandwidths must be 1 numbers"),
        (lambda: Torus(sides=(2,), bandwidths=(1.0,), per_router=0), "at least 1 node, got 0"),
        (
            lambda: placement_spread(TRAINING, Rack(nodes=5), workers=4),
            "nodes of a job must number from 1 to 5, got 6",
        ),
        (
            lambda: placement_spread(TRAINING, Rack(nodes=5), workers=0),
            "workers and draws must be at least 1, got 0 and 1000",
        ),
    ],
)
def test_what_cannot_be_is_refused(make, told):
    with pytest.raises(InputError, match=re.escape(told)):
        make()
