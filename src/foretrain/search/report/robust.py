"""The report of `robust`: whether the best plan stays the best while coefficients are unsure."""

from __future__ import annotations

from collections.abc import Mapping

from foretrain.search.result import Robust, Swing
from foretrain.show.report import Note, ReportSection, Strong
from foretrain.show.table import Column, Shown, Table, table
from foretrain.show.words import count, percent, written
from foretrain.units import BYTES, SECONDS, Quantity

SHOWN = 10
"""Ends of intervals that the terminal shows."""

MEASURED: Mapping[str, Quantity] = {"s": SECONDS, "B": BYTES}
"""What coefficients that are no ratios are measured in, by their unit."""

TITLE = "What if a coefficient is not what we think?"
NOTE = (
    "Each coefficient in turn stands at one end of its interval, the others at their values. Ends "
    "that change no distance between the plans are left out."
)


def robust_section(answer: Robust) -> ReportSection:
    """What is said of a robust choice."""
    body = (swings(answer), Note(NOTE), Strong(verdict(answer)))
    return ReportSection(name="robust", title=TITLE, body=body)


def swings(answer: Robust) -> Table:
    """What the best plan and the robust choice lose under each end of an interval."""

    def lost(plan: int) -> Shown:
        def told(swing: Swing) -> str:
            regret = swing.regrets[plan]
            return "does not fit" if regret is None else percent(regret)

        return Column(name=f"plan {plan + 1} loses", number=True), told

    def value(swing: Swing) -> str:
        """What the coefficient is then, with its unit."""
        quantity = MEASURED.get(swing.unit)
        return f"{swing.value:.4g}" if quantity is None else written(quantity, swing.value)

    def best(swing: Swing) -> str:
        """Place of the plan that is best under this end; nothing where none fits."""
        return str(swing.regrets.index(0.0) + 1) if 0.0 in swing.regrets else ""

    return table(
        answer.swings,
        "coefficient",
        "end",
        (Column(name="value", number=True), value),
        (
            Column(name="best", meaning="plan of the ranking that is best then", number=True),
            best,
        ),
        *map(lost, dict.fromkeys((0, answer.choice))),
        most=SHOWN,
    )


def verdict(answer: Robust) -> str:
    """How far from the best of them the best plan may be, and which plan is never far."""
    among = count(len(answer.plans), "best plan")
    if not answer.swings:
        return f"No coefficient, inside its interval, changes how far apart the {among} are."
    first = answer.swings[0]
    where = f"{first.coefficient} at its {first.end} end"
    if answer.worst[0] is None:
        fitting = max(each.regrets[0] or 0.0 for each in answer.swings)
        told = (
            f"The best plan may not fit after all: {where}. Where it fits it stays within "
            f"{percent(fitting)} of the best of the {among}."
        )
    else:
        told = (
            f"The best plan stays within {percent(answer.worst[0])} of the best of the {among}, "
            f"whatever one coefficient does inside its interval; worst: {where}."
        )
    worst, place = answer.worst[answer.choice], answer.choice + 1
    if answer.choice == 0:
        return f"{told} None of the others does better."
    if worst is None:
        return f"{told} Each may not fit; where it fits, plan {place} loses least."
    return f"{told} Plan {place} stays within {percent(worst)}: {answer.plans[answer.choice]}."
