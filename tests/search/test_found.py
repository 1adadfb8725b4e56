"""What a search has found: what is known of the rest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.small import cluster

from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.search.candidate import Candidate, Priced
from foretrain.search.found import Incumbents, corners


def candidate(value):
    return Candidate(plan=Plan(), cluster=cluster(2, 8), value=value, step_time=value, memory=1e9)


def test_gap_is_unknown_without_a_bound_or_a_plan():
    assert Incumbents(keep=1, best=[candidate(2.0)]).gap is None
    assert Incumbents(keep=1, bound=1.0).gap is None


@pytest.mark.parametrize(
    ("bound", "gap"), [(1.5, 0.25), (2.0, 0.0), (3.0, 0.0), (float("inf"), 0.0)]
)
def test_gap_is_what_the_bound_leaves_open(bound, gap):
    assert Incumbents(keep=1, best=[candidate(2.0)], bound=bound).gap == gap


def test_gap_is_that_of_the_best_plan_which_is_not_refused_after_all():
    first, second = candidate(2.0), candidate(4.0)
    found = Incumbents(keep=2, best=[first, second], bound=1.0, space=9, priced=2)
    found.revoke(first, "deadline")
    assert (found.best, found.gap) == ([second], 0.75)
    assert (found.priced, found.rejected) == (1, {"deadline": 1})


PLANS = [
    Plan(tensor=tensor, pipeline=pipeline, data=8 // (tensor * pipeline), micro_batch=samples)
    for tensor in (1, 2)
    for pipeline in (1, 2)
    for samples in (1, 2, 4)
]
# Few values, so that ties are common.
rows = st.lists(
    st.tuples(st.sampled_from(PLANS), st.integers(1, 4), st.integers(1, 3), st.integers(1, 3)),
    min_size=1,
    max_size=12,
)
tables = st.lists(rows, min_size=1, max_size=5)


def priced(rows):
    plans, *columns = zip(*rows, strict=True)
    value, seconds, memory = (np.array(column, float) for column in columns)
    return Priced(
        cluster=cluster(2, 8),
        plans=table_of(plans),
        value=value,
        step_time=seconds,
        memory=memory,
    )


def filled(tables, keep):
    found = Incumbents(keep=keep)
    for each in map(priced, tables):
        found.survey(each.plans, np.ones(len(each.plans), int))
        found.add(each)
    return found


def candidates(tables):
    return [each.candidate(row) for each in map(priced, tables) for row in range(len(each.plans))]


@given(tables=tables, keep=st.integers(1, 8))
def test_best_plans_are_the_first_by_rank_of_all_that_came(tables, keep):
    found, every = filled(tables, keep), candidates(tables)
    ranks = [each.rank for each in found.best]
    assert ranks == sorted(each.rank for each in every)[:keep]
    assert found.worst == (found.best[-1].value if len(every) >= keep else np.inf)
    assert found.space == found.priced == found.settled == len(every)


@given(tables=tables, keep=st.integers(1, 8), data=st.data())
def test_order_of_arrival_does_not_matter(tables, keep, data):
    other = filled(data.draw(st.permutations(tables)), keep)
    assert [each.rank for each in other.best] == [each.rank for each in filled(tables, keep).best]


@given(tables=tables, keep=st.integers(1, 8), bounds=rows)
def test_only_what_is_worse_than_all_best_plans_is_hopeless(tables, keep, bounds):
    found, some = filled(tables, keep), priced(bounds)
    hopeless = found.hopeless(some, np.arange(len(bounds)))
    np.testing.assert_array_equal(hopeless, some.value > found.worst)


@given(tables=tables)
def test_every_corner_has_its_plans_and_the_best_of_them(tables):
    found, every = filled(tables, 1), candidates(tables)
    for (tensor, pipeline), corner in found.corners.items():
        here = [e for e in every if (e.plan.tensor, e.plan.pipeline) == (tensor, pipeline)]
        assert corner.plans == len(here)
        assert corner.best.value == min(each.value for each in here)
        assert corner.bound == np.inf
    assert sum(corner.plans for corner in found.corners.values()) == len(every)


@given(rows=rows, many=st.integers(1, 9))
def test_what_is_excluded_is_counted_and_bounds_its_corner(rows, many):
    found, some = Incumbents(keep=1), priced(rows)
    each = np.full(len(rows), many)
    found.survey(some.plans, each)
    found.exclude(some, np.arange(len(rows)), each)
    assert found.excluded == found.settled == found.space == many * len(rows)
    for degrees, here in corners(some.plans, np.arange(len(rows))).items():
        assert found.corners[degrees].bound == some.value[here].min()


def test_first_room_that_is_too_small_is_the_reason():
    found = Incumbents(keep=1)
    rows = found.fitting(
        np.array([1.0, 5.0, 9.0]), {"device": 8.0, "limit": 4.0}, many=np.array([10, 20, 30])
    )
    assert rows.tolist() == [0]
    assert found.rejected == {"device": 30, "limit": 20}
