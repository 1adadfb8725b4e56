"""What the terminal says of two kinds of devices."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from tests.mixed_studies import SPACE, kind, study, two

from foretrain.plan.study import Objective
from foretrain.search.report.cases import mixed_report, mixed_verdict
from foretrain.search.search import mixed
from foretrain.show.terminal import drawn

STUDY = study(
    two(kind(1, name="new"), kind(2, share=0.5, name="old")),
    space=replace(SPACE, micro_batch=(1,), tensor=(1, 2), interleaving=(1,)),
)


@pytest.fixture(scope="module")
def result():
    return mixed(STUDY, keep=4)


def shown(result, width=80):
    paper = StringIO()
    Console(file=paper, width=width).print(drawn(mixed_report(STUDY, result)))
    return paper.getvalue()


def test_both_groups_and_what_each_does_are_shown(result):
    text = shown(result)
    assert "Group 1    1 node of new" in text
    assert "Group 2    2 nodes of old" in text
    assert f"Best plan on both, by {result.best.mode}" in text
    assert "waits" in text
    assert "The 4 best plans on both" in text
    assert "Alone      new" in text


def test_report_fits_the_terminal(result):
    for width in (80, 120):
        assert max(map(len, shown(result, width).splitlines())) <= width


def test_verdict_says_by_how_much(result):
    assert mixed_verdict(replace(result, gain=0.25, rival="new")) == (
        "Worth it: both together need 25 % less time per step than new alone."
    )
    left_out = replace(result, gain=-0.5, rival="new", objective=Objective.COST)
    assert mixed_verdict(left_out) == (
        "Not worth it: both together need 50 % more money per step than new alone."
    )
    assert "neither kind suffices" in mixed_verdict(replace(result, gain=None, rival=None))


def test_kind_that_suffices_for_nothing_alone_says_why(result):
    without = replace(result.alone[0], estimate=None, reason="no plan fits")
    assert "Alone      new: no plan fits" in shown(
        replace(result, alone=(without, result.alone[1]))
    )
