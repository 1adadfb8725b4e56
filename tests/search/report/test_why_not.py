"""The report of why a plan is not the best: every kind of answer in words, at every width."""

from dataclasses import replace
from functools import cache
from io import StringIO

import pytest
from rich.console import Console
from tests.small import QUICK_HOST, gpt_study, with_memory

from foretrain.plan.study import Objective
from foretrain.search.report.sections import (
    remedies,
    told_of,
    waterfall,
    why_not_section,
)
from foretrain.search.result import Excess, Verdict
from foretrain.search.search import search
from foretrain.search.why_not import why_not
from foretrain.show.report import AnswerReport, Medium
from foretrain.show.terminal import drawn

STUDY = gpt_study()
ASKED = {
    "illegal": "tensor=3",
    "loses": "tp8",
    "ranked": 3,
    "best": 0,
    "outside": "tensor=2 pipeline=8 cut=balanced",
}
"""Plans in words, or by their place in the ranking."""


@cache
def answer():
    return search(STUDY, coefficients=QUICK_HOST)


def asked(name):
    text = ASKED[name]
    return text if isinstance(text, str) else str(answer().ranking[text].plan)


@cache
def found_of(name):
    return why_not(STUDY, asked(name), answer=answer(), coefficients=QUICK_HOST)


def told(found, study=STUDY):
    return " ".join(told_of(study, found))


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", ASKED)
def test_no_line_is_longer_than_the_terminal(name, width):
    console = Console(file=StringIO(), width=width)
    console.print(
        drawn(AnswerReport(kind="", title="", sections=(why_not_section(STUDY, found_of(name)),)))
    )
    text = console.file.getvalue()
    assert f"Why not {asked(name)[:20]}" in text
    assert max(map(len, text.splitlines())) <= width


def test_plan_that_loses_says_by_how_much_and_where():
    text = told(found_of("loses"))
    assert text.startswith("The best plan with it: tp8+sp, ")
    assert "It loses " in text
    assert (
        " more tensor collectives (tensor 8 with sequence parallelism over the node's nvlink; "
        "the best: no tensor" in text
    )


def test_plan_of_the_ranking_says_its_place():
    assert told(found_of("ranked")).startswith("It is plan 4 of the ranking. It loses ")


def test_best_plan_is_told_to_be_the_best_and_nothing_else():
    assert told(found_of("best")) == "It is the best plan."


def test_plan_as_good_as_the_best_is_told_so():
    assert told(replace(found_of("best"), place=None)) == "It is as good as the best plan."


def test_rules_are_told_with_what_would_be_legal():
    assert "It is not legal: plan.tensor: 3 does not divide the cluster's 16 devices." in told(
        found_of("illegal")
    )


def test_key_that_leaves_a_plan_out_is_told_before_what_the_plan_would_do():
    text = told(found_of("outside"))
    assert "It is outside the space: plan.cut is" in text
    assert "It would lose " in text


def test_plan_that_beats_the_best_says_why_it_was_not_found():
    found = replace(found_of("loses"), loss=-0.02)
    assert "It beats the best by 2.0 %" in told(found)
    assert "ask for more" in told(found)


def test_plan_that_does_not_fit_says_what_fills_the_device():
    found = why_not(STUDY, "dp16 mbs1 sharding=none", answer=answer())
    study = with_memory(STUDY, 0.8 * found.estimate.memory.total)
    found = why_not(study, str(found.plan), answer=answer(), coefficients=QUICK_HOST)
    text = told(found, study)
    assert "It does not fit: it needs " in text
    assert "25 % too much" in text
    assert "On its heaviest device: " in text
    table = remedies(study, found)
    assert len(table.rows) == len(found.remedies) > 0
    assert any('plan.sharding = "' in row[-1] for row in table.rows)


def test_plan_that_no_single_change_saves_is_told_so():
    study = with_memory(STUDY, 1e6)
    found = why_not(study, answer().ranking[0].plan, answer=answer(), coefficients=QUICK_HOST)
    assert told(found, study).endswith("No change of one kind makes it fit.")


@pytest.mark.parametrize(
    ("limit", "needed", "allowed", "words"),
    [
        ("deadline", 86_400.0 * 40, 86_400.0 * 30, "the deadline: it needs 40 d where 30 d are"),
        ("cost limit", 2e6, 1e6, "the cost limit: it needs 2 MUSD where 1 MUSD are allowed, 100 %"),
        ("memory limit", 2.0**31, 2.0**30, "the memory limit: it needs 2 GiB where 1 GiB are"),
        ("power limit", 2e5, 1e5, "the power limit: it needs 200 kW where 100 kW are allowed"),
        ("device limit", 16.0, 8.0, "the device limit: 16 where 8 may be."),
        ("host memory", 2.0**31, 2.0**30, "it needs 2 GiB where the host of a node has 1 GiB"),
    ],
)
def test_every_limit_is_told_in_its_own_unit(limit, needed, allowed, words):
    excess = Excess(limit=limit, needed=needed, allowed=allowed)
    found = replace(found_of("loses"), verdict=Verdict.OVER_LIMIT, excess=(excess,))
    assert words in told(found)


@pytest.mark.parametrize("objective", Objective)
def test_waterfall_is_in_the_unit_of_the_objective(objective):
    study = gpt_study(objective=objective)
    table = waterfall(study, why_not(study, "tp8", answer=search(study)))
    unit = {"time": "s", "cost": "USD", "energy": "J", "memory": "iB"}[objective]
    assert all(row[0][0] in "+-" and row[0].endswith(unit) for row in table.rows)


def test_section_of_a_page_says_the_same():
    section = why_not_section(STUDY, found_of("loses"), number=2)
    assert section.name == "why-not-2"
    said = section.blocks(Medium.PAGE)
    assert " ".join(text for text in said if isinstance(text, str)) == told(found_of("loses"))
    assert waterfall(STUDY, found_of("loses")) in said
