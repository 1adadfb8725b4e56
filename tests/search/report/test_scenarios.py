"""The reports of `scenarios` and `robust`: complete, and true to what they are told."""

from dataclasses import replace

import pytest
from tests import builders
from tests.show.test_terminal import plain

from foretrain.plan.study import Objective
from foretrain.search.report import cases
from foretrain.search.report.cases import robust_section, scenarios_section
from foretrain.search.result import Choice, Outcome, Robust, ScenarioAnswer, Scenarios, Swing
from foretrain.show.report import AnswerReport, Medium, Strong
from foretrain.show.terminal import drawn
from foretrain.study.coefficients import SHIPPED

ONE, TWO = builders.ranked(0), builders.ranked(1)


def outcome(name, regret, plan=ONE.plan, reason="device memory: too small"):
    runs = regret is not None
    return Outcome(
        scenario=name,
        plan=plan if runs else None,
        value=10.0 * (1 + regret) if runs else None,
        regret=regret,
        reason=None if runs else reason,
    )


def choice(entry, *regrets):
    runs = None not in regrets
    return Choice(
        plan=entry.plan,
        outcomes=tuple(map(outcome, ("as given", "long"), regrets)),
        worst=max(regrets) if runs else None,
        mean=sum(regrets) / 2 if runs else None,
    )


def answered(name, entry, value, objective=Objective.TIME):
    return ScenarioAnswer(
        name=name,
        objective=objective,
        best=entry,
        value=value,
        proven_optimal=True,
        reason=None if entry else "no plan fits: all are refused.",
    )


def answer(**changes):
    whole = Scenarios(
        answers=(
            answered("as given", ONE, 10.0),
            answered("long", TWO, 20.0, Objective.COST),
            answered("tiny", None, None),
        ),
        rivals=(choice(ONE, 0.0, None), choice(TWO, 0.125, 0.0)),
        least=choice(TWO, 0.04, 0.02),
        proven=True,
        bound=0.04,
    )
    return replace(whole, **changes)


def unsure(**changes):
    whole = Robust(
        plans=(ONE.plan, TWO.plan),
        swings=(
            Swing(coefficient="infiniband", end="low", value=0.8, unit="1", regrets=(0.042, 0.0)),
            Swing(coefficient="launch", end="high", value=1e-5, unit="s", regrets=(0.0, 0.018)),
        ),
        worst=(0.042, 0.018),
        choice=1,
    )
    return replace(whole, **changes)


def shown(section, width=80):
    report = AnswerReport(kind="Best plan", title="Best plan", sections=(section,))
    return plain(drawn(report), width)


def words(section, width=80):
    return " ".join(shown(section, width).split())


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("content", [scenarios_section(answer()), robust_section(unsure())])
def test_no_line_is_longer_than_the_terminal(content, width):
    assert max(len(line) for line in shown(content, width).splitlines()) <= width


def test_every_scenario_has_its_best_plan_with_the_unit_of_its_objective():
    rows = {row[0]: row for row in cases.best(answer()).rows}
    assert set(rows) == {"as given", "long"}
    assert rows["as given"][-1] == "10 s"
    assert rows["long"][-1] == "20 USD"


def test_plan_of_least_regret_stands_above_the_best_plans():
    content = cases.regret(answer())
    assert [column.name for column in content.columns] == [
        "plan",
        "as given",
        "long",
        "worst",
        "mean",
    ]
    assert content.rows == (
        ("least regret", "4.0 %", "2.0 %", "4.0 %", "3.0 %"),
        ("best of as given", "0.0 %", "no", "", ""),
        ("best of long", "12 %", "0.0 %", "12 %", "6.2 %"),
    )


def test_what_cannot_run_is_said_with_the_reason():
    told = words(scenarios_section(answer()))
    assert "tiny: no plan fits: all are refused." in told
    assert "The best plan of 'as given' cannot run in 'long': device memory: too small." in told


def test_verdict_names_the_plan_and_where_it_loses_most():
    told = cases.verdict(answer())
    assert str(TWO.plan) in told
    assert "at most 4.0 % from the best (in scenario 'as given'), 3.0 % on average. Proven" in told


def test_verdict_that_is_not_proven_tells_the_bound():
    told = cases.verdict(answer(proven=False, bound=0.02))
    assert told.endswith("Not proven: none has less than 2.0 %.")


def test_plan_that_is_always_the_best_is_called_so():
    told = cases.verdict(answer(least=choice(ONE, 0.0, 0.0)))
    assert told == f"One plan is the best whatever comes: {ONE.plan}."


def test_plan_that_is_always_the_best_that_was_found_is_called_so():
    told = cases.verdict(answer(least=choice(ONE, 0.0, 0.0), proven=False))
    assert told == f"One plan is the best that was found whatever comes: {ONE.plan}."


def test_no_common_plan_is_said():
    assert "no plan found runs in all" in cases.verdict(answer(least=None))
    assert "Proven" not in cases.verdict(answer(least=None, proven=False))


def test_a_page_has_the_same_words_as_a_terminal():
    said = scenarios_section(answer()).blocks(Medium.PAGE)
    assert said == scenarios_section(answer()).blocks(Medium.SCREEN)
    assert Strong(cases.verdict(answer())) in said
    assert cases.regret(answer()) in said
    assert Strong(cases.robust_verdict(unsure())) in robust_section(unsure()).blocks(Medium.PAGE)


def test_robust_choice_is_told_with_what_both_lose():
    assert cases.swings(unsure()).rows == (
        ("infiniband", "its low end", "0.8", "2", "4.2 %", "0.0 %"),
        ("launch", "its high end", "10 us", "1", "0.0 %", "1.8 %"),
    )
    told = cases.robust_verdict(unsure())
    assert "stays within 4.2 % of the best of the 2 best plans" in told
    assert "worst: infiniband at its low end. Plan 2 stays within 1.8 %" in told


def test_best_plan_that_is_robust_has_one_column():
    answer = unsure(choice=0, worst=(0.01, 0.02))
    assert len(cases.swings(answer).columns) == 5
    assert cases.robust_verdict(answer).endswith("None of the others does better.")


def test_best_plan_that_may_not_fit_is_said():
    first = Swing(
        coefficient="memory_reserve", end="high", value=5e9, unit="B", regrets=(None, 0.0)
    )
    told = cases.robust_verdict(unsure(swings=(first,), worst=(None, 0.02)))
    assert "may not fit after all: memory_reserve at its high end. Where it fits it stays" in told
    assert told.endswith(f"Plan 2 stays within 2.0 %: {TWO.plan}.")


def test_plans_none_of_which_always_fits_are_compared_where_they_fit():
    first = Swing(
        coefficient="memory_reserve", end="high", value=5e9, unit="B", regrets=(None, None)
    )
    swings = (first, *unsure().swings)
    told = cases.robust_verdict(unsure(swings=swings, worst=(None, None)))
    assert "Where it fits it stays within 4.2 % of the best" in told
    assert told.endswith("where it fits, plan 2 loses least.")


def test_plan_that_does_not_fit_is_marked():
    first = Swing(
        coefficient="memory_reserve", end="high", value=5e9, unit="B", regrets=(None, 0.0)
    )
    assert "does not fit" in words(robust_section(unsure(swings=(first,))))


def test_plans_that_nothing_moves_need_no_table():
    told = words(robust_section(unsure(swings=(), worst=(0.0, 0.01), choice=0)))
    assert "No coefficient, inside its interval, changes how far apart" in told


def test_long_tables_are_cut_on_the_terminal():
    many = tuple(replace(unsure().swings[0], coefficient=name) for name in [*SHIPPED.known][:15])
    assert "... and 5 more" in words(robust_section(unsure(swings=many)))
