"""The report of `scenarios`: the best plan of each, and the plan that is never far from it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.text import Text

from foretrain.search.report.ranking import plan_columns
from foretrain.search.result import Choice, Outcome, ScenarioAnswer, Scenarios
from foretrain.show import page as section
from foretrain.show import terminal
from foretrain.show.page import PageSection
from foretrain.show.table import Column, Table
from foretrain.show.words import SPENT, percent, written

LEAST = "least regret"
"""What the plan with the least worst regret is called beside the best of each scenario."""

REGRET = (
    "Regret: what a plan takes beyond the best of a scenario, by the closed form. A plan keeps its "
    "shape, its replicas follow the devices."
)


def scenarios_text(answer: Scenarios) -> Group:
    """What the terminal shows of scenarios."""
    bests, regrets = best(answer), regret(answer)
    return Group(
        terminal.heading("The best plan of each scenario"),
        terminal.table(bests),
        terminal.legend(bests.columns),
        terminal.heading("What each of them loses in the others"),
        terminal.table(regrets, best=0 if answer.least else None),
        terminal.note(REGRET),
        *map(Text, refusals(answer)),
        terminal.heading(verdict(answer)),
    )


def scenarios_section(answer: Scenarios) -> PageSection | None:
    """The section of a page about scenarios."""
    words = " ".join([verdict(answer), REGRET, *refusals(answer)])
    return section.tables("scenarios", "Scenarios", best(answer), regret(answer), words=words)


def best(answer: Scenarios) -> Table:
    """The best plan of every scenario that has one, and what it takes."""
    found = [each for each in answer.answers if each.best is not None]
    chosen, texts = plan_columns([each.best.plan for each in found if each.best])
    columns = (
        Column(name="scenario"),
        *chosen,
        Column(name="value", meaning="per step, of the scenario's objective", number=True),
    )
    rows = [(each.name, *text, _value(each)) for each, text in zip(found, texts, strict=True)]
    return Table(columns=columns, rows=tuple(rows))


def regret(answer: Scenarios) -> Table:
    """What the plan with the least regret and the best plans lose in every scenario."""
    shown = [(LEAST, answer.least)] if answer.least else []
    shown += [(f"best of {', '.join(_bests(choice))}", choice) for choice in answer.rivals]
    names = [outcome.scenario for outcome in answer.rivals[0].outcomes]
    columns = (
        Column(name="plan"),
        *(Column(name=name, number=True) for name in names),
        Column(name="worst", number=True),
        Column(name="mean", number=True),
    )
    rows = [
        (name, *map(_lost, choice.outcomes), _percent(choice.worst), _percent(choice.mean))
        for name, choice in shown
    ]
    return Table(columns=columns, rows=tuple(rows))


def refusals(answer: Scenarios) -> list[str]:
    """Why a scenario has no plan, and why the best of one cannot run in another."""
    unanswered = [f"{each.name}: {each.reason}" for each in answer.answers if each.best is None]
    return [*unanswered, *_refused(answer)]


def verdict(answer: Scenarios) -> str:
    """Which plan to choose before anybody knows what comes, and whether that is proven."""
    least = answer.least
    if least is None:
        nothing = "no plan found runs in all of these scenarios"
        return (
            f"Proven by the closed form: {nothing}."
            if answer.proven
            else f"{nothing.capitalize()}."
        )
    if least.worst == 0.0:
        known = "" if answer.proven else " that was found"
        return f"One plan is the best{known} whatever comes: {least.plan}."
    assert least.worst is not None, "the plan of least regret runs everywhere"
    assert least.mean is not None, "the plan of least regret runs everywhere"
    where = max(least.outcomes, key=lambda each: each.regret or 0.0).scenario
    told = (
        f"Least regret: {least.plan}. It is at most {percent(least.worst)} from the best "
        f"(in scenario {where!r}), {percent(least.mean)} on average."
    )
    if answer.proven:
        return f"{told} Proven by the closed form: no plan has less."
    return f"{told} Not proven: none has less than {percent(answer.bound)}."


def _refused(answer: Scenarios) -> Iterator[str]:
    for choice in answer.rivals:
        for each in choice.outcomes:
            if each.reason is not None:
                best = ", ".join(map(repr, _bests(choice)))
                yield f"The best plan of {best} cannot run in {each.scenario!r}: {each.reason}."


def _bests(choice: Choice) -> list[str]:
    """In which scenarios it is the best plan."""
    return [outcome.scenario for outcome in choice.outcomes if outcome.regret == 0.0]


def _value(answer: ScenarioAnswer) -> str:
    assert answer.value is not None, "a scenario with a plan has a value"
    return written(SPENT[answer.objective], answer.value)


def _lost(outcome: Outcome) -> str:
    return _percent(outcome.regret, otherwise="no")


def _percent(share: float | None, *, otherwise: str = "") -> str:
    return otherwise if share is None else percent(share)
