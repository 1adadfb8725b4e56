"""The Pareto front: what nothing beats, whatever the ties."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foretrain.search.pareto import front

# Few values, so that ties in one respect and in both are common.
points = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40)


def front_of(points):
    time, memory = np.array(points, float).reshape(-1, 2).T
    return front(time, memory).tolist()


def beats(one, other):
    return one != other and one[0] <= other[0] and one[1] <= other[1]


@given(points)
def test_front_is_what_nothing_beats(points):
    unbeaten = {point for point in points if not any(beats(other, point) for other in points)}
    assert {points[row] for row in front_of(points)} == unbeaten


@given(points)
def test_front_goes_from_fastest_to_smallest(points):
    found = [points[row] for row in front_of(points)]
    assert found == sorted(set(found))
    assert [memory for _, memory in found] == sorted((m for _, m in found), reverse=True)


@given(points)
def test_of_equals_the_first_stays(points):
    assert all(points.index(points[row]) == row for row in front_of(points))


@given(points)
def test_front_is_its_own_front(points):
    found = [points[row] for row in front_of(points)]
    assert front_of(found) == list(range(len(found)))
