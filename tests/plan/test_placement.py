"""Placement: how many members of a group share a node, a rack, the fabric."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.plan.scalar_enumerator import shares

from foretrain.plan.enumeration import ORDERS
from foretrain.plan.placement import inner_members
from foretrain.plan.plan import AXES

NODES_OF_8 = (8, 64)

WORKED = {
    "tensor fills a node": (AXES, (8, 8, 8), NODES_OF_8, ((8, 8), (1, 8), (1, 8))),
    "tensor and two replicas share a node": (
        AXES,
        (4, 16, 8),
        NODES_OF_8,
        ((4, 4), (2, 16), (1, 8)),
    ),
    "tensor crosses nodes": (
        ("pipeline", "data", "tensor"),
        (8, 8, 8),
        NODES_OF_8,
        ((1, 8), (1, 8), (8, 8)),
    ),
    "tensor is wider than a node": (AXES, (16, 8, 4), NODES_OF_8, ((8, 16), (1, 8), (1, 4))),
    "degree 6 splits 6 + 2, 4 + 4, 2 + 6 over nodes of 8": (
        AXES,
        (6, 2, 2),
        (8, 3),
        ((2, 6), (1, 2), (1, 2)),
    ),
    "degree 3 leaves its node with one member at worst": (
        AXES,
        (3, 2, 2),
        (4, 3),
        ((1, 3), (1, 2), (1, 2)),
    ),
    "three levels": (AXES, (4, 4, 4), (2, 4, 8), ((2, 4, 4), (1, 2, 4), (1, 1, 4))),
    "one level": (AXES, (2, 2, 2), (8,), ((2,), (2,), (2,))),
}


@pytest.mark.parametrize("case", WORKED)
def test_placement_is_that_of_a_worked_example(case):
    order, degrees, levels, expected = WORKED[case]
    assert inner_members(order, degrees, levels) == expected


@st.composite
def layouts(draw):
    """Some degrees in some order on a cluster that they fill."""
    degrees = tuple(draw(st.integers(1, 6)) for _ in AXES)
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
