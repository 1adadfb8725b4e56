"""Nodes: any number that can, fills the levels evenly; any other is refused with its neighbours."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.cluster.cluster import spread
from foretrain.errors import InputError

sizes = st.lists(st.integers(1, 40), max_size=3)


@given(nodes=st.integers(1, 5000), most=sizes)
def test_spread_nodes_multiply_to_their_number_and_overfill_no_group(nodes, most):
    try:
        members = spread(nodes, most)
    except InputError:
        return
    assert prod(members) == nodes
    assert all(found <= size for found, size in zip(members[:-1], most, strict=True))


@given(groups=st.integers(1, 50), most=sizes)
def test_full_groups_stay_full(groups, most):
    assert spread(groups * prod(most), most) == (*most, groups)


@given(nodes=st.integers(1, 5000))
def test_two_levels_take_any_number_of_nodes(nodes):
    assert spread(nodes, []) == (nodes,)


@pytest.mark.parametrize(
    ("nodes", "members"),
    [(1, (1, 1, 1)), (17, (17, 1, 1)), (32, (16, 2, 1)), (34, (17, 2, 1)), (1088, (17, 2, 32))],
)
def test_nodes_of_abci_fill_leaves_of_17_and_racks_of_34(nodes, members):
    assert spread(nodes, [17, 2]) == members


def test_uneven_number_is_refused_with_the_nearest_even_ones():
    with pytest.raises(InputError, match=r"^19 nodes do not spread evenly.* Take 18 or 20\.$"):
        spread(19, [18])
