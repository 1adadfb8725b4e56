"""Rankings: plans as rows, and the columns that tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Final

from foretrain.plan.plan import ContextExchange, Offload, Plan, Recompute, Schedule, Sharding
from foretrain.search.result import ParetoPoint, SearchResult
from foretrain.show.table import Column, Table
from foretrain.show.words import percent, written
from foretrain.step.result import Ranked
from foretrain.units import BYTES, DOLLARS, JOULES, SECONDS, Quantity


def _context(plan: Plan) -> str:
    exchanged = plan.context > 1 and plan.exchange is ContextExchange.ALL_TO_ALL
    return f"{plan.context}{' a2a' if exchanged else ''}"


def _cut(plan: Plan) -> str:
    return plan.cut if isinstance(plan.cut, str) else "-".join(map(str, plan.cut))


RECOMPUTE: Final = {Recompute.NONE: "none", Recompute.SELECTIVE: "sel", Recompute.FULL: "full"}


SCHEDULES: Final = {
    Schedule.ONE_F_ONE_B: "1f1b",
    Schedule.GPIPE: "gpipe",
    Schedule.ZERO_BUBBLE: "zb",
}


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
    (Column(name="cp", meaning="context axis", number=True), _context),
    (
        Column(name="ep", meaning="expert axis, x members of one expert", number=True),
        lambda plan: f"{plan.expert}{f'x{plan.expert_tensor}' * (plan.expert_tensor > 1)}",
    ),
    (
        Column(name="schedule", meaning="zb is zero bubble", short="sched", spare=5),
        lambda plan: SCHEDULES[plan.schedule],
    ),
    (Column(name="cut", spare=6), _cut),
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
    costs = [_cost(entry) for entry in plans]
    figures = (
        Column(name="step", meaning="time of one step", number=True),
        Column(name="memory", meaning="on the heaviest device", number=True),
        Column(name="MFU", meaning="model FLOP/s over the device's peak", number=True, spare=2),
        *((Column(name=_cost_name(plans), number=True, spare=1),) * any(costs)),
    )
    chosen, texts = plan_columns([entry.plan for entry in plans])
    homes, places = _rented([(entry.cluster, entry.nodes) for entry in plans], "nodes")
    rows = [
        (str(place), *home, *text, *_figures(entry), *((cost,) * any(costs)))
        for place, (home, text, entry, cost) in enumerate(
            zip(places, texts, plans, costs, strict=True), start=1
        )
    ]
    head = (Column(name="#", number=True), *homes, *chosen, *figures)
    return Table(columns=head, rows=tuple(rows))


def pareto(front: Sequence[ParetoPoint], *, most: int | None = None) -> Table:
    """The plans that no other beats in every respect, fastest first.

    Args:
        front: all of them; where they run on different clusters the table says on which.
        most: how many of them to show; None for all.
    """
    points = front[:most]
    writers: tuple[tuple[Column, Callable[[ParetoPoint], str]], ...] = (
        (
            Column(name="step", meaning="time of one step", number=True),
            lambda point: written(SECONDS, point.step_time),
        ),
        (
            Column(name="memory", meaning="on the heaviest device", number=True),
            lambda point: written(BYTES, point.memory),
        ),
        (
            Column(name="cost per step", number=True, spare=1),
            lambda point: _or_nothing(point.cost_per_step, DOLLARS),
        ),
        (
            Column(name="energy per step", number=True, spare=2),
            lambda point: _or_nothing(point.energy_per_step, JOULES),
        ),
    )
    shown = [(column, write) for column, write in writers if any(write(point) for point in points)]
    chosen, texts = plan_columns([point.plan for point in points])
    homes, places = _rented([(point.cluster, point.devices) for point in front], "devices")
    rows = [
        (str(place), *home, *text, *(write(point) for _, write in shown))
        for place, (home, text, point) in enumerate(
            zip(places[:most], texts, points, strict=True), start=1
        )
    ]
    head = (Column(name="#", number=True), *homes, *chosen, *(column for column, _ in shown))
    return Table(columns=head, rows=tuple(rows))


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


def plan_columns(plans: Sequence[Plan]) -> tuple[tuple[Column, ...], list[tuple[str, ...]]]:
    """The columns that tell these plans apart, and the text of each plan under them."""
    told = (*plans, Plan())
    rare = [pair for pair in RARE_COLUMNS if len({pair[1](plan) for plan in told}) > 1]
    shown = (*PLAN_COLUMNS, *rare)
    return tuple(column for column, _ in shown), [
        tuple(write(plan) for _, write in shown) for plan in plans
    ]


def _rented(
    homes: Sequence[tuple[str, int]], unit: str
) -> tuple[tuple[Column, ...], list[tuple[str, ...]]]:
    """The cluster and how much of it each plan uses, as far as they differ."""
    columns = (Column(name="cluster"), Column(name=unit, number=True))
    differ = [len(set(values)) > 1 for values in zip(*homes, strict=True)]
    texts = [(cluster, f"{number:,}") for cluster, number in homes]
    return tuple(compress(columns, differ)), [tuple(compress(text, differ)) for text in texts]


def _figures(entry: Ranked) -> tuple[str, str, str]:
    estimate = entry.estimate
    return (
        written(SECONDS, estimate.step_time),
        written(BYTES, estimate.memory.total),
        percent(estimate.mfu),
    )


def _cost(entry: Ranked) -> str:
    """Dollars of the training where its amount is known, else of one step."""
    whole = entry.estimate.cost_to_train
    return _or_nothing(entry.estimate.cost_per_step if whole is None else whole, DOLLARS)


def _cost_name(plans: Sequence[Ranked]) -> str:
    to_train = any(entry.estimate.cost_to_train is not None for entry in plans)
    return "cost to train" if to_train else "cost per step"


def _or_nothing(value: float | None, quantity: Quantity) -> str:
    return "" if value is None else written(quantity, value)
