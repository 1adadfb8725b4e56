"""A switch is exact; what the other shapes leave of a device's bandwidth is counted on drawings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.collective_groups import inside, wire

from foretrain.cluster.device import Topology
from foretrain.step.collectives.group import group
from foretrain.step.collectives.line import APPROXIMATIONS, SHAPES, Extent
from foretrain.step.collectives.network import Network

kinds = pytest.mark.parametrize("kind", Topology)


def shape(kind, units, members=8, dimensions=3):
    """Shares and hops of one group."""
    found = SHAPES[kind](np.array([float(units)]), Extent(members, dimensions))
    return tuple(float(value[0]) for value in (found.around, found.pairs, found.all, found.hops))


def test_switch_leaves_everything():
    assert shape(Topology.SWITCH, 8) == (1.0, 1.0, 1.0, 1.0)


def test_ring_of_sixteen_leaves_a_quarter_when_all_send_to_all():
    # A message goes four of sixteen links on average, half of the links each way.
    assert shape(Topology.RING, 16) == (1.0, 0.25, 0.25, 8.0)


def test_partners_in_a_ring_of_six_have_the_half_that_leads_their_way():
    # A third of six links around on average, of twelve halves: 4/6 when all send to all.
    assert shape(Topology.RING, 6) == pytest.approx((1.0, 1 / 2, 4 / 6, 3.0))


def test_two_members_of_a_ring_have_all_of_each_other():
    assert shape(Topology.RING, 2) == (1.0, 1.0, 1.0, 1.0)


def test_torus_of_four_by_four_by_four_is_limited_by_its_bisection():
    # 64 members, half of them on either side: 32 x 1/2 of what they send crosses 2 x 16 links
    # each way, 1/6 of a member's bandwidth each: 32/6 over 16.
    assert shape(Topology.TORUS, 64)[2] == pytest.approx(32 / 6 / 16)
    assert shape(Topology.TORUS, 64)[3] == 3 * 2


def test_partners_in_a_torus_have_one_of_six_links_until_its_bisection_is_less():
    assert shape(Topology.TORUS, 64)[1] == pytest.approx(1 / 6)
    # 16 x 16 x 16: half of 4,096 send over 2 x 256 links of a sixth: 85 of 2,048 x 1/2.
    assert shape(Topology.TORUS, 4096)[1] == pytest.approx(2 * 256 / 6 / (2048 / 2))


@pytest.mark.parametrize(("units", "dimensions"), [(2, 1), (3, 2), (4, 2), (8, 3), (64, 3)])
def test_small_part_of_a_torus_has_rings_in_fewer_dimensions(units, dimensions):
    assert shape(Topology.TORUS, units)[0] == pytest.approx(dimensions / 3)


def test_side_of_a_torus_is_the_cube_root_rounded_up():
    sides = [int(shape(Topology.TORUS, units)[3]) // 3 * 2 for units in (8, 9, 64, 65, 216, 4096)]
    assert sides == [2, 2, 4, 4, 6, 16]


def test_torus_of_sixteen_by_sixteen_has_longer_ways_than_a_cube():
    # 256 members, 128 on either side: half of what they send crosses 2 x 16 links of a quarter.
    around, pairs, everything, hops = shape(Topology.TORUS, 256, dimensions=2)
    assert everything == pytest.approx(2 * 16 / 4 / (128 / 2)) == 0.125
    assert (around, pairs, hops) == (1.0, 0.125, 16.0)
    cube = shape(Topology.TORUS, 256)
    assert cube[2] == pytest.approx(0.19, abs=0.001)
    assert cube[3] == 9.0


def test_sides_of_a_torus_do_not_hang_on_rounding():
    for dimensions in (2, 3, 4, 6):
        for side in (2, 3, 5, 7):
            found = [
                shape(Topology.TORUS, side**dimensions + more, dimensions=dimensions)[3]
                for more in (0, 1)
            ]
            assert found == [dimensions * (side // 2), dimensions * ((side + 1) // 2)]


def test_mesh_leaves_the_links_to_outsiders_idle():
    assert shape(Topology.MESH, 8) == (1.0, 1 / 7, 1.0, 1.0)
    assert shape(Topology.MESH, 2) == (1 / 7, 1 / 7, 1 / 7, 1.0)


def test_eight_in_a_cube_mesh_have_six_rings_and_a_quad_has_four():
    assert shape(Topology.CUBE_MESH, 8)[0] == 1.0
    assert shape(Topology.CUBE_MESH, 4)[0] == 4 / 6
    assert shape(Topology.CUBE_MESH, 2)[0] == 1 / 6


def test_partners_in_a_cube_mesh_have_a_single_link_or_pcie():
    assert [shape(Topology.CUBE_MESH, units)[1] for units in (2, 4, 8)] == [1 / 6] * 3
    # Five to seven find no ring of links: PCIe, half of a link of 25 GB/s.
    assert [shape(Topology.CUBE_MESH, units)[1] for units in (5, 6, 7)] == [1 / 12] * 3
    assert [shape(Topology.CUBE_MESH, units)[3] for units in (4, 5)] == [1.0, 2.0]


def test_quads_of_a_cube_mesh_hold_two_rings_each_way():
    # Links of a quad in the DGX-1; each ring takes one link of four pairs, in both directions.
    links = {(0, 1): 1, (0, 2): 1, (0, 3): 2, (1, 2): 2, (1, 3): 1, (2, 3): 2}
    for ring in ((0, 3, 2, 1), (0, 2, 1, 3)):
        for pair in zip(ring, ring[1:] + ring[:1], strict=True):
            links[tuple(sorted(pair))] -= 1
    assert min(links.values()) == 0
    assert sum(links.values()) == 1


def test_root_of_a_tree_carries_what_half_sends_to_half():
    assert shape(Topology.TREE, 16) == (1.0, 0.25, 0.25, 4.0)


def test_routes_in_a_dragonfly_are_twice_as_long_and_half_as_wide():
    assert shape(Topology.DRAGONFLY, 64) == (1.0, 0.5, 0.5, 2.0)


@kinds
@given(units=st.integers(1, 4096), members=st.integers(1, 4096))
def test_no_shape_leaves_more_than_a_switch_or_nothing(kind, units, members):
    around, pairs, everything, hops = shape(kind, units, max(units, members))
    assert 0 < around <= 1
    assert 0 < pairs <= 1
    assert 0 < everything <= 1
    assert hops >= 1


@kinds
@given(units=st.lists(st.integers(1, 4096), min_size=1, max_size=9))
def test_row_of_a_table_equals_the_group_alone(kind, units):
    table = SHAPES[kind](np.array(units, float), Extent(64))
    for row, count in enumerate(units):
        found = (table.around[row], table.pairs[row], table.all[row], table.hops[row])
        assert found == shape(kind, count, 64)


def test_every_shape_but_the_switch_says_how_it_is_approximated():
    assert set(SHAPES) == set(Topology)
    assert set(Topology) - set(APPROXIMATIONS) == {Topology.SWITCH}


def test_group_meets_the_shape_of_each_level():
    mesh = replace(wire(0.25, 7.0), kind=Topology.MESH, members=8)
    (level,) = group(inside(2), Network(wires=(mesh,), start=0.0)).stretches
    assert (level.around[0], level.pairs[0], level.all[0]) == (1.0, 1.0, 1.0)


def test_two_members_of_a_tree_are_one_hop_apart():
    assert shape(Topology.TREE, 2)[3] == 1.0
