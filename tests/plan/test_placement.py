"""Placement: how many members of a group share a node, a rack, the fabric."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plan.scalar_enumerator import shares

from foretrain.plan.enumeration import ORDERS
from foretrain.plan.plan import AXES
from foretrain.plan.table import inner_members, neighbours

NODES_OF_8 = (8, 64)

WORKED = {
    "tensor fills a node": (AXES, (8, 1, 8, 8), NODES_OF_8, ((8, 8), (1, 1), (1, 8), (1, 8))),
    "tensor and two replicas share a node": (
        AXES,
        (4, 1, 16, 8),
        NODES_OF_8,
        ((4, 4), (1, 1), (2, 16), (1, 8)),
    ),
    "tensor and context share a node": (
        AXES,
        (2, 4, 8, 8),
        NODES_OF_8,
        ((2, 2), (4, 4), (1, 8), (1, 8)),
    ),
    "tensor crosses nodes": (
        ("pipeline", "data", "context", "tensor"),
        (8, 1, 8, 8),
        NODES_OF_8,
        ((1, 8), (1, 1), (1, 8), (8, 8)),
    ),
    "tensor is wider than a node": (
        AXES,
        (16, 1, 8, 4),
        NODES_OF_8,
        ((8, 16), (1, 1), (1, 8), (1, 4)),
    ),
    "degree 6 splits 6 + 2, 4 + 4, 2 + 6 over nodes of 8": (
        AXES,
        (6, 1, 2, 2),
        (8, 3),
        ((2, 6), (1, 1), (1, 2), (1, 2)),
    ),
    "degree 3 leaves its node with one member at worst": (
        AXES,
        (3, 1, 2, 2),
        (4, 3),
        ((1, 3), (1, 1), (1, 2), (1, 2)),
    ),
    "three levels": (
        AXES,
        (4, 1, 4, 4),
        (2, 4, 8),
        ((2, 4, 4), (1, 1, 1), (1, 2, 4), (1, 1, 4)),
    ),
    "one level": (AXES, (2, 2, 2, 2), (16,), ((2,), (2,), (2,), (2,))),
}


@pytest.mark.parametrize("case", WORKED)
def test_placement_is_that_of_a_worked_example(case):
    order, degrees, levels, expected = WORKED[case]
    assert inner_members(order, degrees, levels) == expected


@st.composite
def layouts(draw):
    """Some degrees in some order on a cluster that they fill."""
    degrees = tuple(draw(st.integers(1, 4)) for _ in AXES)
    rest, levels = prod(degrees), []
    for _ in range(draw(st.integers(0, 2))):
        levels.append(
            draw(st.sampled_from([each for each in range(1, rest + 1) if not rest % each]))
        )
        rest //= levels[-1]
    return draw(st.sampled_from(ORDERS)), degrees, (*levels, rest)


@given(layouts())
def test_last_level_holds_the_whole_group(layout):
    _, degrees, _ = layout
    assert tuple(axis[-1] for axis in inner_members(*layout)) == degrees


@given(layouts())
def test_wider_level_holds_at_least_as_many_members(layout):
    for members in inner_members(*layout):
        assert members[0] >= 1
        assert list(members) == sorted(members)


@given(layouts())
def test_axis_of_degree_one_is_alone_on_every_level(layout):
    _, degrees, _ = layout
    for degree, members in zip(degrees, inner_members(*layout), strict=True):
        assert degree > 1 or set(members) == {1}


@given(layouts())
def test_innermost_axis_fills_a_node_that_it_divides(layout):
    order, degrees, levels = layout
    innermost = AXES.index(order[0])
    if levels[0] % degrees[innermost] == 0:
        assert set(inner_members(*layout)[innermost]) == {degrees[innermost]}


@given(layouts())
def test_formula_counts_the_most_scattered_group(layout):
    order, degrees, levels = layout
    counted = shares(tuple((axis, degrees[AXES.index(axis)]) for axis in order), levels)
    sizes = [prod(levels[: level + 1]) for level in range(len(levels))]
    by_hand = {(axis, size): members for axis, size, members in counted}
    for axis, members in zip(AXES, inner_members(*layout), strict=True):
        assert list(members) == [by_hand[axis, size] for size in sizes]


@pytest.mark.parametrize(
    ("inside", "degree", "stride", "expected"),
    [
        ((8, 64), 8, 1, (8, 8)),  # a shard of one node out of replicas on eight
        ((8, 64), 16, 1, (8, 16)),
        ((8, 64), 8, 8, (1, 8)),  # one of each node: those that hold the same part
        ((4, 32), 8, 2, (2, 8)),  # experts, two members each, on nodes of four
        ((6, 24), 4, 1, (2, 4)),  # four of six: 4 + 2 at best, 2 + 2 at worst
        ((2, 5, 16), 16, 1, (2, 5, 16)),  # all of them, where levels are filled unevenly
        ((2, 5, 20), 4, 1, (2, 2, 4)),
    ],
)
def test_smaller_group_lies_within_a_larger_one_as_worked_by_hand(inside, degree, stride, expected):
    found = neighbours(np.array(inside, float), float(degree), stride=float(stride))
    assert tuple(found) == expected


@given(layouts())
def test_smaller_group_as_large_as_the_larger_one_lies_where_it_does(layout):
    _, degrees, _ = layout
    for degree, members in zip(degrees, inner_members(*layout), strict=True):
        assert tuple(neighbours(np.array(members, float), float(degree))) == members


@given(layouts(), st.integers(1, 4), st.integers(1, 4))
def test_wider_level_holds_at_least_as_many_of_a_smaller_group(layout, degree, stride):
    for members in inner_members(*layout):
        found = neighbours(np.array(members, float), float(degree), stride=float(stride))
        assert list(found) == sorted(found)
