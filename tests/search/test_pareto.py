"""Trade-offs of two: what nothing beats, whatever the ties."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foretrain.search.found import unbeaten

# Few values, so that ties in one respect and in both are common.
points = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=40)


def rows_of(points):
    time, memory = np.array(points, float).reshape(-1, 2).T
    return unbeaten(time, memory).tolist()


def beats(one, other):
    return one != other and one[0] <= other[0] and one[1] <= other[1]


@given(points)
def test_rows_are_those_that_nothing_beats_equals_included(points):
    rows = [
        row for row, point in enumerate(points) if not any(beats(other, point) for other in points)
    ]
    assert sorted(rows_of(points)) == rows


@given(points)
def test_rows_go_from_fastest_to_smallest(points):
    found = [points[row] for row in rows_of(points)]
    assert found == sorted(found)
    assert [memory for _, memory in found] == sorted((m for _, m in found), reverse=True)


@given(points)
def test_what_nothing_beats_is_all_there_is_of_itself(points):
    found = [points[row] for row in rows_of(points)]
    assert rows_of(found) == list(range(len(found)))
