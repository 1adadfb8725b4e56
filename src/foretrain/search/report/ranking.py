"""Rankings: plans as rows, and the columns that tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any, Final

from foretrain.plan.plan import Offload, Plan, Recompute, Sharding
from foretrain.search.candidate import Proposal
from foretrain.search.result import ParetoPoint, SearchResult
from foretrain.show.table import Column, Shown, Table, table
from foretrain.show.words import percent
from foretrain.step.result import Ranked
from foretrain.units import DOLLARS


def _context(plan: Plan) -> str:
    exchanged = ("", " a2a", " ag")[plan.exchange] * (plan.context > 1)
    return f"{plan.context}{exchanged}"


RECOMPUTE: Final = {Recompute.NONE: "none", Recompute.SELECTIVE: "sel", Recompute.FULL: "full"}


OFFLOADED: Final = {
    Offload.NONE: "none",
    Offload.OPTIMIZER: "opt",
    Offload.ACTIVATIONS: "act",
    Offload.BOTH: "both",
}


def _sharding(plan: Plan) -> str:
    if plan.sharding is Sharding.NONE:
        return "none"
    return f"z{plan.sharding:d}{f'/{plan.shard}' if plan.shard else ''}"


PLAN_COLUMNS: tuple[tuple[Column, Callable[[Plan], str]], ...] = (
    (
        Column(name="tp", meaning="tensor axis, +sp divides tokens too", number=True),
        lambda plan: f"{plan.tensor}{'+sp' if plan.sequence_parallel else ''}",
    ),
    (Column(name="pp", meaning="pipeline stages", number=True), lambda plan: str(plan.pipeline)),
    (Column(name="dp", meaning="data axis, replicas", number=True), lambda plan: f"{plan.data:,}"),
    (
        Column(name="mbs", meaning="samples per micro-batch", number=True),
        lambda plan: str(plan.micro_batch),
    ),
    (
        Column(name="v", meaning="interleaved chunks per stage", number=True),
        lambda plan: str(plan.interleaving),
    ),
    (
        Column(name="recompute", meaning="sel is selective", short="recom", spare=3),
        lambda plan: RECOMPUTE[plan.recompute],
    ),
    (
        Column(
            name="sharding",
            meaning="z1 optimizer state, z2 gradients too, z3 parameters too, /8 among 8 devices",
            short="shard",
            spare=4,
        ),
        _sharding,
    ),
)


RARE_COLUMNS: tuple[tuple[Column, Callable[[Plan], str]], ...] = (
    (
        Column(name="cp", meaning="context axis", number=True),
        _context,
    ),
    (
        Column(name="grid", meaning="devices along height, width, depth of a picture"),
        lambda plan: "x".join(map(str, plan.grid)) or "none",
    ),
    (
        Column(name="divides", meaning="filters or channels of convolutions", short="div", spare=4),
        lambda plan: plan.convolutions.name.lower(),
    ),
    (
        Column(
            name="split", meaning="layers of the divided front, 0 for all", number=True, spare=6
        ),
        lambda plan: str(plan.split),
    ),
    (
        Column(name="ep", meaning="expert axis, x members of one expert", number=True),
        lambda plan: f"{plan.expert}{f'x{plan.expert_tensor}' * (plan.expert_tensor > 1)}",
    ),
    (
        Column(name="schedule", meaning="zb is zero bubble", short="sched", spare=5),
        lambda plan: plan.schedule.short,
    ),
    (
        Column(name="cut", spare=6),
        lambda plan: plan.cut if isinstance(plan.cut, str) else "-".join(map(str, plan.cut)),
    ),
    (
        Column(
            name="offload", meaning="opt is optimizer state, act activations", short="offl", spare=6
        ),
        lambda plan: OFFLOADED[plan.offload],
    ),
    (
        Column(name="again", meaning="layers recomputed, 0 for all", number=True, spare=6),
        lambda plan: str(plan.recompute_layers),
    ),
    (
        Column(name="away", meaning="layers offloaded, 0 for all", number=True, spare=6),
        lambda plan: str(plan.offload_layers),
    ),
    (
        Column(name="reshard", meaning="parameters dropped between passes", spare=6),
        lambda plan: "yes" if plan.reshard else "no",
    ),
    (
        Column(
            name="order",
            meaning="axes from neighbouring devices outwards, by first letter",
            spare=6,
        ),
        lambda plan: "".join(axis[0] for axis in plan.order),
    ),
    (
        Column(name="attention", short="atten", spare=5),
        lambda plan: plan.attention.name.lower(),
    ),
    (
        Column(name="sends", meaning="bl is blocking, ov overlapped", spare=5),
        lambda plan: plan.sends.name.lower()[:2],
    ),
)


def ranking(plans: Sequence[Ranked]) -> Table:
    """The best plans, best first."""
    return table(
        plans,
        *_told_apart(plans, "cluster", "nodes"),
        *plan_columns(plans),
        "estimate.step_time",
        "estimate.memory.total",
        "estimate.mfu",
        _cost(plans, spare=1),
        numbered=True,
        best=0,
        legend=True,
    )


def proposals(plans: Sequence[Proposal]) -> Table:
    """The plans that are proposed, with what each costs and what speaks for it."""
    return table(
        plans,
        "name",
        *_told_apart(plans, "cluster", "nodes"),
        *plan_columns(plans),
        "estimate.step_time",
        (
            Column(name="more", meaning="than the first, of what is minimised", number=True),
            lambda each: f"{'+' * (each.more > 0)}{percent(each.more)}" if each.more else "",
        ),
        "estimate.memory.total",
        (
            Column(name="fits", meaning="how likely a device holds it", number=True, unit=percent),
            lambda each: each.estimate.memory.probability_fits,
        ),
        "probability_best",
        "folded",
        _cost(plans, spare=7),
        numbered=True,
        best=0,
        legend=True,
    )


def _cost(plans: Sequence[Ranked], *, spare: int) -> Shown:
    """Dollars of the training where its amount is known, else of one step."""
    whole_job = any(entry.estimate.cost_to_train is not None for entry in plans)
    name = "cost to train" if whole_job else "cost per step"

    def spent(entry: Ranked) -> float | None:
        told = entry.estimate
        return told.cost_per_step if told.cost_to_train is None else told.cost_to_train

    return Column(name=name, number=True, spare=spare, unit=DOLLARS), spent


def pareto(front: Sequence[ParetoPoint], *, most: int | None = None) -> Table:
    """The plans that no other beats in every respect, fastest first.

    Args:
        front: all of them; where they run on different clusters the table says on which.
        most: how many of them a terminal shows; None for all.
    """
    return table(
        front,
        *_told_apart(front, "cluster", "devices"),
        *plan_columns(front[:most]),
        "step_time",
        "memory",
        "cost_per_step",
        "energy_per_step",
        numbered=True,
        most=most,
        anchor="pareto",
        keys={
            "step": [point.step_time for point in front],
            "memory": [point.memory for point in front],
            "cost per step": [point.cost_per_step for point in front],
            "energy per step": [point.energy_per_step for point in front],
        },
    )


def rejected(result: SearchResult) -> Table:
    """How many plans are refused, by reason, most first."""
    counts = sorted(result.rejected.items(), key=lambda item: (-item[1], item[0]))
    columns = (
        Column(name="plans", number=True),
        Column(name="share", meaning="of the whole space", number=True),
        Column(name="why they are refused"),
    )
    rows = [(f"{plans:,}", percent(plans / result.space), reason) for reason, plans in counts]
    return Table(columns=columns, rows=tuple(rows))


def plan_columns(
    records: Sequence[Any], plan_of: Callable[[Any], Plan] = attrgetter("plan")
) -> Iterator[Shown]:
    """The columns that tell the plans of some records apart."""
    told = (*map(plan_of, records), Plan())
    rare = (pair for pair in RARE_COLUMNS if len({pair[1](plan) for plan in told}) > 1)
    for column, write in (*PLAN_COLUMNS, *rare):
        yield column, _of_plan(write, plan_of)


def _of_plan(write: Callable[[Plan], str], plan_of: Callable[[Any], Plan]) -> Callable[[Any], str]:
    return lambda record: write(plan_of(record))


def _told_apart(records: Sequence[object], *names: str) -> list[str]:
    """Of some fields those in which records differ."""
    return [name for name in names if len({getattr(each, name) for each in records}) > 1]
