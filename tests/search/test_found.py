"""What a search has found: what is known of the rest."""

import pytest
from tests.small import cluster

from foretrain.plan.plan import Plan
from foretrain.search.candidate import Candidate
from foretrain.search.found import Found


def candidate(value):
    return Candidate(plan=Plan(), cluster=cluster(2, 8), value=value, step_time=value, memory=1e9)


def test_gap_is_unknown_without_a_bound_or_a_plan():
    assert Found(keep=1, best=[candidate(2.0)]).gap is None
    assert Found(keep=1, bound=1.0).gap is None


@pytest.mark.parametrize(
    ("bound", "gap"), [(1.5, 0.25), (2.0, 0.0), (3.0, 0.0), (float("inf"), 0.0)]
)
def test_gap_is_what_the_bound_leaves_open(bound, gap):
    assert Found(keep=1, best=[candidate(2.0)], bound=bound).gap == gap


def test_gap_is_that_of_the_best_plan_which_is_not_refused_after_all():
    first, second = candidate(2.0), candidate(4.0)
    found = Found(keep=2, best=[first, second], bound=1.0, space=9, priced=2)
    found.revoke(first, "deadline")
    assert (found.best, found.gap) == ([second], 0.75)
    assert (found.priced, found.rejected) == (1, {"deadline": 1})
