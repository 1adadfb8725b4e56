"""Questions beside a question: the same of one plan, and ways from one to another.

Pinned: the question of a study about one plan of it.

Departures: a way from one question to another, one difference after the other.

What a difference costs depends on what else is different already. So the way is made in one order:
what is learned, where, with what software, then how; each time the first difference that leaves a
question with an answer, and several at once only where none does alone (a longer axis needs its
devices from another one). The sum does not depend on the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Final

from foretrain.cluster.cluster import Cluster
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import ForetrainError
from foretrain.plan.plan import Plan
from foretrain.plan.study import FIXED, Space, Study
from foretrain.plan.table import spelled
from foretrain.search.explain.compared import Departure
from foretrain.show.words import count
from foretrain.step.estimate import estimate
from foretrain.step.result import Estimate
from foretrain.step.software import open_fields
from foretrain.trainers.chosen import chosen_of
from foretrain.workload.workload import Workload


def pinned(study: Study, plan: Plan, cluster: Cluster, *, free: tuple[str, ...] = ()) -> Study:
    """The same question of one plan on one cluster.

    Args:
        study: the question.
        plan: the plan.
        cluster: with as many devices as the plan uses.
        free: fields of the plan that are left to the study's trainer.
    """
    chosen = chosen_of(study)
    names = tuple(each.name for each in fields(Space) if each.name not in free)
    if chosen is not None:
        chosen = replace(chosen, stated=tuple(dict.fromkeys((*chosen.stated, *names))))
    return replace(
        study,
        space=Space(**{name: (getattr(plan, name),) for name in names}),
        cluster=cluster,
        trainer=chosen,
        offers=(),
        maximise=None,
        scenarios=(),
    )


def gives_one(study: Study) -> bool:
    """Whether a study gives one plan, as `estimate` takes it."""
    said = {each.name: getattr(study.space, each.name) for each in fields(Space)}
    # What nobody says of some fields is several choices, of which `estimate` takes one.
    many = any(
        some is not None and len(some) > 1 and some != FIXED.get(name)
        for name, some in said.items()
    )
    return study.space.micro_batch is not None and not many and not study.offers


def left_open(study: Study) -> tuple[str, ...]:
    """Fields of a study's one plan that it leaves to its trainer."""
    chosen = chosen_of(study)
    return () if chosen is None else open_fields(chosen)


def turned(study: Study, plans: tuple[Plan, Plan], cluster: Cluster) -> Study:
    """A pinned study of another plan: what its trainer was left and does not differ, it still is.

    Args:
        study: of the first plan.
        plans: before and after.
        cluster: of the second.
    """
    before, after = plans
    same = (name for name in left_open(study) if getattr(before, name) == getattr(after, name))
    return pinned(study, after, cluster, free=tuple(same))


TOGETHER: Final = 3
"""Differences that are tried together before all that are left are taken at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aspect:
    """One way in which two questions differ.

    Attributes:
        part: workload, cluster, trainer, job or plan: whose field it is.
        names: the fields.
        what: their key in a study.
        before: what it was, in words.
        after: what it is.
    """

    part: str
    names: tuple[str, ...]
    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedPlan:
    """A study of one plan."""

    study: Study
    plan: Plan

    @property
    def question(self) -> Study:
        """The study about the plan."""
        return pinned(self.study, self.plan, self.study.cluster, free=left_open(self.study))


def aspects(first: PinnedPlan, second: PinnedPlan) -> tuple[Aspect, ...]:
    """Everything in which two questions differ, in the order in which it is changed."""
    one, other = first.study, second.study
    return (
        *_workload(one.workload, other.workload),
        *_cluster(one.cluster, other.cluster),
        *_whole("trainer", one.trainer, other.trainer),
        *_whole("job", one.job, other.job),
        *_plan(first.plan, second.plan),
    )


def departures(
    first: PinnedPlan, second: PinnedPlan, coefficients: Coefficients
) -> tuple[Departure, ...]:
    """What each difference adds, from the first to the second.

    Args:
        first: where the way begins.
        second: where it ends.
        coefficients: how well hardware and software do.
    """
    here, before = first, estimate(first.question, coefficients=coefficients)
    left, found = list(aspects(first, second)), []
    while left:
        taken, here, after = _next(left, here, second, coefficients=coefficients)
        found.append(_departure(taken, before, after))
        left = [each for each in left if each not in taken]
        before = after
    return tuple(found)


def _next(
    left: Sequence[Aspect], here: PinnedPlan, end: PinnedPlan, *, coefficients: Coefficients
) -> tuple[tuple[Aspect, ...], PinnedPlan, Estimate]:
    """The first differences after which there still is an answer."""
    for many in range(1, min(TOGETHER, len(left) - 1) + 1):
        for taken in combinations(left, many):
            there = _changed(here, end, taken)
            if there is None:
                continue
            try:
                return taken, there, estimate(there.question, coefficients=coefficients)
            except ForetrainError:
                continue
    return tuple(left), end, estimate(end.question, coefficients=coefficients)


def _changed(here: PinnedPlan, end: PinnedPlan, taken: Sequence[Aspect]) -> PinnedPlan | None:
    """A question with some of the differences; None if it cannot be put together."""
    study, plan = here.study, here.plan
    try:
        for each in taken:
            values = {name: getattr(_part(end, each.part), name) for name in each.names}
            if each.part == "plan":
                plan = replace(plan, **values)
            elif each.part == "study":
                study = replace(study, **values)
            else:
                study = replace(study, **{each.part: replace(getattr(study, each.part), **values)})
    except ForetrainError:
        return None
    return PinnedPlan(study=study, plan=plan)


def _part(whole: PinnedPlan, name: str) -> object:
    if name == "study":
        return whole.study
    return whole.plan if name == "plan" else getattr(whole.study, name)


def _departure(taken: Sequence[Aspect], before: Estimate, after: Estimate) -> Departure:
    cost = None
    if before.cost_per_step is not None and after.cost_per_step is not None:
        cost = after.cost_per_step - before.cost_per_step
    return Departure(
        what=", ".join(each.what for each in taken),
        before=", ".join(each.before for each in taken),
        after=", ".join(each.after for each in taken),
        time=after.step_time - before.step_time,
        cost=cost,
        memory=after.memory.total - before.memory.total,
    )


def _workload(one: Workload, other: Workload) -> Iterator[Aspect]:
    for each in fields(Workload):
        mine, theirs = getattr(one, each.name), getattr(other, each.name)
        if mine == theirs:
            continue
        if each.name != "model":
            yield _aspect("workload", each.name, (mine, theirs))
        elif mine.name == theirs.name and mine.tokens != theirs.tokens:
            what = "workload.sequence"
            told = f"{mine.tokens:,}", f"{theirs.tokens:,}"
            yield Aspect(
                part="workload", names=("model",), what=what, before=told[0], after=told[1]
            )
        else:
            yield _aspect("workload", "model", (mine.name, theirs.name))


def _cluster(one: Cluster, other: Cluster) -> Iterator[Aspect]:
    """Devices, links and nodes, prices: what stands together changes together."""
    if one == other:
        return
    hardware = ("device", "levels", "name")
    if (one.device, one.name) != (other.device, other.name):
        told = [f"{count(it.nodes, 'node')} of {it.name}" for it in (one, other)]
        names = (*hardware, "host", "collectives")
        yield Aspect(part="cluster", names=names, what="cluster", before=told[0], after=told[1])
    elif one.levels != other.levels:
        told = [str(it.nodes) for it in (one, other)]
        same = told[0] == told[1]
        what = "cluster.levels" if same else "cluster.nodes"
        told = ["its links", "other links"] if same else told
        yield Aspect(part="cluster", names=hardware, what=what, before=told[0], after=told[1])
    for name in ("price", "node_power", "power", "storage", "mtbf"):
        mine, theirs = getattr(one, name), getattr(other, name)
        if mine != theirs:
            yield _aspect("cluster", name, (mine, theirs))


def _whole(name: str, one: object, other: object) -> Iterator[Aspect]:
    if one != other:
        told = [getattr(each, "name", each) for each in (one, other)]
        if told[0] == told[1]:
            told = ["its options", "other options"]
        yield Aspect(
            part="study", names=(name,), what=name, before=_said(told[0]), after=_said(told[1])
        )


def _plan(one: Plan, other: Plan) -> Iterator[Aspect]:
    for each in fields(Plan):
        mine, theirs = getattr(one, each.name), getattr(other, each.name)
        if mine != theirs:
            words = [spelled(value).strip('"') for value in (mine, theirs)]
            told = [word if len(word) <= LONGEST else "as listed" for word in words]
            what = f"plan.{each.name}"
            yield Aspect(part="plan", names=(each.name,), what=what, before=told[0], after=told[1])


def _aspect(part: str, name: str, values: tuple[object, object]) -> Aspect:
    before, after = map(_said, values)
    return Aspect(part=part, names=(name,), what=f"{part}.{name}", before=before, after=after)


def _said(value: object) -> str:
    """A value in words short enough for a table."""
    if value is None:
        return "not given"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = str(value)
    return text if len(text) <= LONGEST else type(value).__name__


LONGEST: Final = 24
"""Characters of a value in a table."""
