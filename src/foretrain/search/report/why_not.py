"""The report of `why_not`: one sentence that says why a plan loses, and the tables behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from foretrain.plan.study import Objective, Study
from foretrain.search.result import Difference, Excess, Verdict, WhyNot
from foretrain.show.report import Block, ReportSection, Strong
from foretrain.show.table import Column, Shown, Table, table
from foretrain.show.words import MEMORY, SPENT, percent, signed, written
from foretrain.step.facts import ROUNDING
from foretrain.units import BYTES, DOLLARS, SECONDS, WATTS

CALLED = {
    "forward": "forward compute",
    "backward": "backward compute",
    "recompute": "recomputation",
    "tensor": "tensor collectives",
    "context": "context exchanges",
    "expert": "expert exchanges",
    "halo": "exchange of borders",
    "pipeline": "sends between stages",
    "gradients": "gradient reduction",
    "parameters": "parameter gathering",
    "update": "optimizer update",
    "offload": "moving to the host",
    "host": "waiting for hosts",
    "input": "waiting for samples",
}
"""Parts of a step, as they stand in a sentence; others go by their name."""

LIMITS = {"deadline": SECONDS, "cost limit": DOLLARS, "power limit": WATTS}
"""What limits are measured in; those of memory in bytes, that of devices is a count."""

MEMORIES = {"device memory": "a device", "host memory": "the host of a node"}
"""Whose room it is that a plan must have to run at all."""

TOLD = 3
"""Differences that the sentence names, with the reason of the first; the table has all."""

SMALL = 0.02
"""Share of the largest difference below which a difference is not worth words."""


def why_not_section(study: Study, answer: WhyNot, *, number: int = 1) -> ReportSection:
    """What is said of why a plan is not the best."""
    body: list[Block] = [*sentences(study, answer)]
    if answer.remedies:
        body += [Strong("What would make it fit"), remedies(study, answer)]
    if answer.loss:
        body += [Strong("Where it differs"), waterfall(study, answer)]
    title = f"Why not {answer.asked}?"
    return ReportSection(name=f"why-not-{number}", title=title, body=tuple(body))


def sentences(study: Study, answer: WhyNot) -> list[str]:
    """The answer in words, what matters most first."""
    told = [*_verdict(answer), *_outlook(study, answer)]
    if answer.plan is None or str(answer.plan) == answer.asked:
        return told
    # Which plan stands for what was asked, where that was not a whole plan.
    leanest = answer.verdict is Verdict.MISFIT
    how = "The plan with it that needs least memory" if leanest else "The best plan with it"
    return [f"{how}: {answer.plan}.", *told]


def waterfall(study: Study, answer: WhyNot) -> Table:
    """Part by part what the plan spends more or less than the best; the rows add up."""
    quantity = SPENT[study.objective]
    here = Column(name="this plan", number=True, spare=1, group="amount", unit=quantity)
    return table(
        [each for each in answer.differences if _tells(each, answer, share=ROUNDING)],
        (
            Column(name="difference", number=True, group="amount"),
            lambda each: signed(quantity, each.more),
        ),
        (Column(name="part"), lambda each: _called(each.part, study.objective)),
        (here, lambda each: each.here),
        (replace(here, name="the best"), lambda each: each.best),
        "why",
    )


def remedies(study: Study, answer: WhyNot) -> Table:
    """Changes with which the plan fits, the best first."""
    spent = Column(
        name=f"{study.objective.value} per step", number=True, unit=SPENT[study.objective]
    )
    priced = study.objective in (Objective.COST, Objective.ENERGY)
    value: tuple[Shown, ...] = ((spent, lambda each: each.value),) * priced
    return table(answer.remedies, "step_time", *value, "memory", "change")


def _verdict(answer: WhyNot) -> Iterator[str]:
    """What keeps the plan from being the best."""
    if answer.verdict is Verdict.ILLEGAL:
        yield from (f"It is not legal: {rule}" for rule in answer.rules)
    for excess in answer.excess:
        yield _exceeds(excess)
    if answer.verdict is Verdict.MISFIT:
        # What fills the heaviest device, the largest first.
        assert answer.estimate, "a plan that does not fit was not priced"
        stage = answer.estimate.memory.heaviest
        parts = sorted(((getattr(stage, name), name) for name in MEMORY), reverse=True)
        held = ", ".join(f"{written(BYTES, amount)} {name}" for amount, name in parts if amount)
        yield f"On its heaviest device: {held}."
        if not answer.remedies:
            yield "No change of one kind makes it fit."
    for key in answer.excluded_by:
        yield f"It is outside the space: {key}."
    if answer.verdict is Verdict.BEST:
        yield "It is the best plan." if answer.place == 1 else "It is as good as the best plan."
    if answer.verdict is Verdict.RANKED:
        yield f"It is plan {answer.place} of the ranking."


def _exceeds(excess: Excess) -> str:
    """What a plan needs too much of, and by how much."""
    name, more = excess.limit, percent(excess.needed / excess.allowed - 1.0)
    quantity = LIMITS.get(name, BYTES)
    needed, allowed = written(quantity, excess.needed), written(quantity, excess.allowed)
    if name in MEMORIES:
        has = f"{MEMORIES[name]} has {allowed}"
        return f"It does not fit: it needs {needed} where {has}, {more} too much."
    if name == "device limit":
        return f"It breaks the {name}: {excess.needed:,.0f} where {excess.allowed:,.0f} may be."
    return f"It breaks the {name}: it needs {needed} where {allowed} are allowed, {more} too much."


def _outlook(study: Study, answer: WhyNot) -> Iterator[str]:
    """By how much it loses or would, and where."""
    if answer.verdict is Verdict.BEST or not answer.loss or answer.estimate is None:
        return
    quantity, loss = SPENT[study.objective], answer.loss
    runs = answer.verdict in (Verdict.LOSES, Verdict.RANKED)
    loses, beats = (
        ("loses", "beats the best by") if runs else ("would lose", "would beat the best by")
    )
    amount = written(quantity, abs(sum(each.more for each in answer.differences)))
    found = [each for each in answer.differences if _tells(each, answer)]
    first = f" ({found[0].why})" if found[0].why else ""
    # Each difference in words: 1.4 s more bubble.
    told = [
        f"{written(quantity, abs(each.more))} {'more' if each.more > 0 else 'less'} "
        f"{_called(each.part, study.objective)}"
        for each in islice(found, TOLD)
    ]
    parts = ", ".join([f"{told[0]}{first}", *told[1:]])
    yield f"It {loses if loss > 0 else beats} {percent(abs(loss))} ({amount}): {parts}."
    if runs and loss < 0:
        yield "The search ranks by the closed form and simulates only what it keeps: ask for more."


def _tells(difference: Difference, answer: WhyNot, *, share: float = SMALL) -> bool:
    """Whether a difference is large enough to be told."""
    return abs(difference.more) > share * abs(answer.differences[0].more)


def _called(part: str, objective: Objective) -> str:
    return part if objective is Objective.MEMORY else CALLED.get(part, part)
