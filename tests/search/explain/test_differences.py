"""Differences: what of two plans makes a part of one larger, in words."""

from tests.small import gpt_study

from foretrain.plan.plan import Plan
from foretrain.search.explain.differences import OF_TIME, Site, reason

GPT = gpt_study()


def site(**axes):
    return Site(plan=Plan(**axes), cluster=GPT.cluster, workload=GPT.workload)


def test_an_axis_that_one_plan_has_and_the_other_has_not_is_what_its_exchanges_are_due_to():
    for axis in ("tensor", "context", "pipeline"):
        said = reason(OF_TIME[axis], site(**{axis: 2}), site(data=2))
        mine, theirs = said.split("; the best: ")
        assert "2" in mine
        assert "2" not in theirs, said
        assert reason(OF_TIME[axis], site(data=2), site(data=4)) == ""
