"""Levers: what would help a plan most.

Every gain is the difference of two estimates: of the plan as it is, and of the question that the
lever leads to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Final

from foretrain.cluster.offer import divisible, part
from foretrain.coefficients.coefficients import Coefficients
from foretrain.errors import ForetrainError, InputError
from foretrain.plan.choices import divisors
from foretrain.plan.enumeration import ORDERS
from foretrain.plan.legality import problems
from foretrain.plan.plan import (
    AS_MADE,
    AXES,
    ContextExchange,
    Offload,
    Plan,
    Recompute,
    Schedule,
    Sends,
    Sharding,
)
from foretrain.plan.study import Study
from foretrain.plan.table import changed, table_of
from foretrain.search.explain.departures import turned
from foretrain.search.explain.limits import roomy
from foretrain.search.explain.sensitivity import less, resources, signed_share
from foretrain.show.table import label, labelled
from foretrain.show.words import signed
from foretrain.step.estimate import estimate
from foretrain.step.price import price_table
from foretrain.step.result import Estimate
from foretrain.step.software import DRIVEN, study_setting
from foretrain.trainers.chosen import against, chosen_of
from foretrain.trainers.vocabulary import OPTIONS
from foretrain.units import BYTES, DOLLARS, SECONDS
from foretrain.workload.operator import Attention

NOTED: Final = 0.005
"""Share of a step, or of its money, from which on a change is a lever."""

TRIED: Final = 12
"""Kinds of changes of a plan, the quickest by the closed form, that are estimated at both
resolutions; of a plan that may not fit, all."""

TIMES: Final = 2
"""What a lever multiplies a resource by, or divides and multiplies the nodes by."""


class LeverKind(StrEnum):
    """What a lever changes."""

    PLAN = "plan"
    TRAINER = "trainer"
    NODES = "nodes"
    RESOURCE = "resource"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """One change, and what it gains: below 0 where it costs.

    Attributes:
        kind: what it changes.
        change: the lines of a study that make it, or the resource in words.
        time: seconds of a step that it saves.
        share: of the step that it saves.
        cost: dollars of a step that it saves at the same prices; None without a price.
        cost_to_train: the same of the whole training; None without an amount.
        memory: bytes of the heaviest device that it saves.
        step_time: seconds of the step that it leads to.
        fits: how likely a device holds that.
        plan: that it leads to.
        nodes: on how many.
        question: the study that it leads to; no part of a document.
    """

    kind: LeverKind = field(metadata=label("kind", spare=3))
    change: str = field(metadata=label("change"))
    time: float
    share: float
    cost: float | None
    cost_to_train: float | None
    memory: float
    step_time: float
    fits: float
    plan: Plan
    nodes: int
    question: Any = field(repr=False, compare=False)

    @property
    @labelled("step", number=True)
    def step_gain(self) -> str:
        """The change of the step."""
        return signed(SECONDS, -self.time)

    @property
    @labelled("share", number=True, meaning="of the step")
    def step_share(self) -> str:
        """The same as a share of it."""
        return signed_share(-self.share)

    @property
    @labelled("cost", number=True, spare=1, meaning="of a step")
    def step_cost(self) -> str | None:
        """The change of its money."""
        return None if self.cost is None else signed(DOLLARS, -self.cost)

    @property
    @labelled("memory", number=True, spare=2)
    def device_memory(self) -> str:
        """The change of a device's memory."""
        return signed(BYTES, -self.memory) if self.memory else ""


def levers(study: Study, here: Estimate, coefficients: Coefficients) -> tuple[Lever, ...]:
    """Changes that save time or money, those that save most time first.

    Args:
        study: of one plan, every field of which is stated.
        here: its estimate.
        coefficients: how well hardware and software do.
    """
    questions = [
        *_plans(study, here, coefficients),
        *_options(study),
        *_nodes(study, here.plan),
        *_resources(study),
    ]
    best: dict[tuple[LeverKind, str], Lever] = {}
    for kind, subject, change, question in questions:
        found = _lever(kind, change, question, here=here, coefficients=coefficients)
        if found is None or not _helps(found, here):
            continue
        known = best.get((kind, subject))
        if known is None or found.time > known.time:
            best[kind, subject] = found
    return tuple(sorted(best.values(), key=lambda each: (-each.time, each.change)))


Question = tuple[LeverKind, str, str, Study]
"""What is changed, which levers are alike, the change in words, and the study with it."""


def _lever(
    kind: LeverKind, change: str, question: Study, *, here: Estimate, coefficients: Coefficients
) -> Lever | None:
    """A change with what it gains; None where it is no answer to the question."""
    try:
        there = estimate(question, coefficients=coefficients)
    except ForetrainError:
        return None
    if not there.fits or there.memory.probability_fits < min(
        question.limit.fits, here.memory.probability_fits
    ):
        return None
    time = here.step_time - there.step_time
    return Lever(
        kind=kind,
        change=change,
        time=time,
        share=time / here.step_time,
        cost=less(here.cost_per_step, there.cost_per_step),
        cost_to_train=less(here.cost_to_train, there.cost_to_train),
        memory=here.memory.total - there.memory.total,
        step_time=there.step_time,
        fits=there.memory.probability_fits,
        plan=there.plan,
        nodes=question.cluster.nodes,
        question=question,
    )


def _helps(lever: Lever, here: Estimate) -> bool:
    """Whether it saves a noticeable part of the time or of the money, or makes a plan safe."""
    money, safe = here.cost_per_step, lever.question.limit.fits
    saved = lever.cost is not None and money and lever.cost > NOTED * money
    safer = here.memory.probability_fits < safe <= lever.fits
    return lever.share > NOTED or bool(saved) or safer


def _plans(study: Study, here: Estimate, coefficients: Coefficients) -> Iterator[Question]:
    """Neighbours of the plan that can run, the quickest by the closed form."""
    chosen, plan = chosen_of(study), here.plan
    experts = bool(study.workload.model.experts)
    legal = [
        each
        for each in dict.fromkeys(neighbours_of(plan, experts=experts))
        if each != plan
        and not problems(study.workload, study.cluster, each)
        and not (chosen and against(chosen.trainer, each))
    ]
    if not legal:
        return
    known = study_setting(study, study.cluster, coefficients)
    priced = price_table(known, legal)
    times = sum(getattr(priced.steps, each.name) for each in fields(type(priced.steps)))
    full = ~roomy(known, table_of(legal), study.limit)
    ranked = sorted(zip(full, times, map(str, legal), range(len(legal)), strict=True))
    # Of those that change the same fields the quickest that surely fits stands for all.
    found: dict[str, tuple[str, Plan]] = {}
    for *_, row in ranked:
        lines = changed(plan, legal[row])
        subject = " ".join(line.partition(" = ")[0] for line in lines)
        found.setdefault(subject, (", ".join(lines), legal[row]))
    safe = here.memory.probability_fits >= study.limit.fits
    for subject, (told, each) in [*found.items()][: TRIED if safe else None]:
        yield LeverKind.PLAN, subject, told, turned(study, (plan, each), study.cluster)


def neighbours_of(plan: Plan, *, experts: bool) -> Iterator[Plan]:
    """Plans that differ in one decision: a field, or devices that go from one axis to another."""
    replica = plan.data * plan.micro_batch
    sizes = divisors(replica) if replica < MANY else [2 * plan.micro_batch]
    several: dict[str, Iterable[object]] = {
        **ENUMERATED,
        "micro_batch": sizes,
        "sequence_parallel": (not plan.sequence_parallel,),
        "reshard": (not plan.reshard,),
        "recompute_layers": (0,),
        "interleaving": (
            *(times * plan.interleaving for times in (2, 3, 4, 5)),
            *divisors(plan.interleaving),
        ),
        "order": ORDERS,
        "expert": (*divisors(plan.expert), 2 * plan.expert) if experts else (),
    }
    for name, values in several.items():
        for value in values:
            changes: dict[str, Any] = {name: value}
            yield replace(plan, **changes)
    yield from _moved(plan)


MANY: Final = 4096
"""Samples from which on not every number of them is tried as a micro-batch."""

ENUMERATED: Final[Mapping[str, tuple[object, ...]]] = {
    "sharding": tuple(Sharding),
    "recompute": tuple(Recompute),
    "schedule": tuple(Schedule),
    "sends": tuple(Sends),
    "attention": tuple(Attention),
    "offload": tuple(Offload),
    "exchange": tuple(ContextExchange),
    "cut": (*AS_MADE, "balanced"),
}
"""Fields of which every value is tried."""


def _moved(plan: Plan) -> Iterator[Plan]:
    """Two or four times the devices along one axis, fewer along another."""
    whole = plan.expert_tensor == plan.tensor
    for source in AXES:
        for target in AXES:
            for times in (2, 4):
                degree = getattr(plan, source)
                if source == target or degree % times or plan.grid:
                    continue
                other = replace(
                    plan, **{source: degree // times, target: times * getattr(plan, target)}
                )
                if whole:
                    other = replace(other, expert_tensor=other.tensor)
                if other.tensor > 1 and plan.tensor == 1:
                    other = replace(other, sequence_parallel=True)
                elif other.tensor == 1:
                    other = replace(other, sequence_parallel=False)
                yield other
                yield replace(other, interleaving=1)


def _options(study: Study) -> Iterator[Question]:
    """What the trainer of the study can do otherwise."""
    chosen = chosen_of(study)
    if chosen is None:
        return
    for option in chosen.trainer.options:
        if option.name not in DRIVEN:
            continue
        rest = tuple(each for each in chosen.options if each[0] != option.name)
        for value in option.values or tuple(OPTIONS[option.name].values):
            if value != chosen.set_to(option.name):
                other = replace(chosen, options=(*rest, (option.name, value)))
                line = f'trainer.options.{option.name} = "{value}"'
                yield LeverKind.TRAINER, option.name, line, replace(study, trainer=other)


def _nodes(study: Study, plan: Plan) -> Iterator[Question]:
    """Half and twice the nodes, along the data axis."""
    cluster = study.cluster
    if not divisible(cluster):
        return
    sizes = [(TIMES * cluster.nodes, TIMES * plan.data)]
    if cluster.nodes % TIMES == 0 and plan.data % TIMES == 0:
        sizes.append((cluster.nodes // TIMES, plan.data // TIMES))
    for nodes, data in sizes:
        other = replace(plan, data=data)
        try:
            there = part(cluster, nodes)
        except InputError:  # They do not fill whole groups of a level below.
            continue
        if not problems(study.workload, there, other):
            question = turned(study, (plan, other), there)
            yield LeverKind.NODES, str(nodes), f"cluster.nodes = {nodes}", question


def _resources(study: Study) -> Iterator[Question]:
    """Twice of each resource that is bought."""
    for name, _, cluster in resources(study.cluster, times=TIMES):
        if not name.endswith((".latency", "price", "node_power", "mtbf")):
            change = f"twice {name}"
            yield LeverKind.RESOURCE, name, change, replace(study, cluster=cluster)
