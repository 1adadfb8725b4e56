"""The report of `simulate`: response times under each policy, at each load."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf

from rich.console import Group, RenderableType
from rich.text import Text

from foretrain.jobs.report_shared_input import fed_words, input_table, ways_table
from foretrain.jobs.result import (
    Capacity,
    LoadPoint,
    ModelCurve,
    PartyResult,
    PolicyResult,
    Replayed,
    Simulated,
)
from foretrain.search.report.ranking import plan_columns
from foretrain.show import terminal
from foretrain.show.table import Column, Table
from foretrain.show.words import count, per_second, percent, span, written
from foretrain.units import DOLLARS, SECONDS

REPLAYED = "The log beside its simulation"
HOUR = 3600.0
Write = Callable[[PolicyResult], str]


def simulate_text(answer: Simulated) -> Group:
    """What the terminal shows of a simulation."""
    replayed = replay_table(answer.replays)
    log = (terminal.heading(REPLAYED), terminal.table(replayed), terminal.legend(replayed.columns))
    return Group(
        *(log if replayed.rows else ()),
        *(_curve(curve) for curve in answer.curves),
        *(_point(point) for point in answer.points),
        *_parts(answer),
        *([_capacity(answer.capacity)] if answer.capacity else []),
        terminal.heading("What follows"),
        *map(Text, answer.findings),
        terminal.note(speed(answer)),
    )


def responses(point: LoadPoint) -> Table:
    """Response times of every policy, the shortest mean first."""
    found = sorted(point.policies.items(), key=lambda item: item[1].mean_response)
    shown = [
        (column, write) for column, write in COLUMNS if any(write(result) for _, result in found)
    ]
    columns = (Column(name="policy"), *(column for column, _ in shown))
    rows = [(name, *(write(result) for _, write in shown)) for name, result in found]
    return Table(columns=columns, rows=tuple(rows))


def curve_table(curve: ModelCurve) -> Table:
    """The best plan of a model on each number of devices."""
    chosen, texts = plan_columns([point.plan for point in curve.points])
    columns = (
        Column(name="devices", number=True),
        Column(name="samples/s", number=True),
        Column(name="interval", spare=1),
        Column(name="efficiency", meaning="of a device, over the first row", number=True),
        *chosen,
    )
    rows = [
        (
            f"{point.devices:,}",
            per_second(point.rate),
            f"{per_second(point.low)} to {per_second(point.high)}",
            percent(point.efficiency),
            *text,
        )
        for point, text in zip(curve.points, texts, strict=True)
    ]
    return Table(columns=columns, rows=tuple(rows))


def parts_table(parts: Sequence[PartyResult], name: str) -> Table:
    """Users or groups, those with most device time first."""
    columns = (
        Column(name=name),
        Column(name="jobs", number=True),
        Column(name="mean response", number=True),
        Column(name="mean waiting", number=True),
        Column(name="device hours", number=True),
    )
    rows = [
        (
            part.name,
            f"{part.jobs:,}",
            written(SECONDS, part.mean_response),
            written(SECONDS, part.mean_waiting),
            f"{part.device_time / HOUR:,.0f}",
        )
        for part in parts
    ]
    return Table(columns=columns, rows=tuple(rows))


def capacity_table(answer: Capacity) -> Table:
    """The fewest nodes that keep the target under each policy."""
    columns = (
        Column(name="policy"),
        Column(name="nodes", number=True),
        Column(name="devices", number=True),
        Column(name=answer.quantity, meaning="response on them", number=True),
        Column(name="utilisation", short="used", number=True),
        *((Column(name="cost per hour", number=True),) * any(e.price for e in answer.policies)),
    )
    rows = [
        (
            each.policy,
            "not enough" if each.nodes is None else f"{each.nodes:,}",
            f"{each.devices:,}",
            written(SECONDS, each.response) if each.response < inf else "no room",
            percent(each.utilisation),
            *((written(DOLLARS, each.price * HOUR),) if each.price else ()),
        )
        for each in answer.policies
    ]
    return Table(columns=columns, rows=tuple(rows))


def capacity_title(answer: Capacity) -> str:
    """What is asked of a capacity."""
    kind = "a mean response" if answer.quantity == "mean" else "95 % of the responses"
    return f"How many nodes keep {kind} within {written(SECONDS, answer.seconds)}"


def replay_table(replays: Sequence[Replayed]) -> Table:
    """A log beside its simulation under each policy that was tried."""
    columns = (
        Column(name="policy"),
        Column(
            name="median waiting",
            meaning="of jobs that waited, in the second half",
            number=True,
            group="waiting",
        ),
        Column(name="in the log", number=True, group="waiting"),
        Column(
            name="apart", meaning="job by job in the first half, over mean waiting", number=True
        ),
    )
    rows = [
        (
            each.policy,
            written(SECONDS, each.simulated),
            written(SECONDS, each.logged),
            "" if each.gap is None else percent(each.gap),
        )
        for each in replays
    ]
    return Table(columns=columns, rows=tuple(rows))


def title(point: LoadPoint) -> str:
    """What a table of policies is called."""
    return "Response times" if point.load is None else f"Response times at load {point.load:g}"


def speed(answer: Simulated) -> str:
    """What was simulated."""
    jobs = sum(
        result.jobs.submitted for point in answer.points for result in point.policies.values()
    )
    seeds = f", {count(answer.seeds, 'seed')}" if answer.seeds > 1 else ""
    return (
        f"{count(answer.devices, 'device')}{seeds}; {count(jobs, 'job')} simulated,"
        f" {answer.jobs_per_second:,.0f} a second."
    )


def _mean(result: PolicyResult) -> str:
    return written(SECONDS, result.mean_response)


def _interval(result: PolicyResult) -> str:
    if result.low is None or result.high is None:
        return ""
    return span(result.low, result.high, SECONDS)


def _finished(result: PolicyResult) -> str:
    """Blank where all jobs finished, as it would say the mean again."""
    counted = result.jobs.submitted - result.jobs.running
    if result.mean_response_finished is None or result.jobs.finished == counted:
        return ""
    return written(SECONDS, result.mean_response_finished)


COLUMNS: Sequence[tuple[Column, Write]] = (
    (Column(name="mean", meaning="from coming to ending", number=True, group="time"), _mean),
    (
        Column(
            name="within", meaning="95 % interval of the mean", number=True, spare=1, group="time"
        ),
        _interval,
    ),
    (Column(name="median", number=True, group="time"), lambda result: written(SECONDS, result.p50)),
    (
        Column(name="p95", number=True, spare=4, group="time"),
        lambda result: written(SECONDS, result.p95),
    ),
    (Column(name="p99", number=True, group="time"), lambda result: written(SECONDS, result.p99)),
    (
        Column(name="waiting", meaning="mean time without devices", number=True, group="time"),
        lambda result: written(SECONDS, result.mean_waiting),
    ),
    (
        Column(
            name="of finished",
            meaning="mean of jobs that completed",
            number=True,
            spare=5,
            group="time",
        ),
        _finished,
    ),
    (
        Column(
            name="utilisation", meaning="until the last end", short="used", number=True, spare=2
        ),
        lambda result: percent(result.utilisation),
    ),
    (
        Column(name="interrupted", meaning="times per job", short="stops", number=True, spare=3),
        lambda result: f"{result.interruptions:.2g}",
    ),
    (
        Column(name="cost", meaning="of all devices until the last end", number=True, spare=6),
        lambda result: "" if result.cost is None else written(DOLLARS, result.cost),
    ),
)


def _point(point: LoadPoint) -> Group:
    table = responses(point)
    return Group(
        terminal.heading(title(point)),
        terminal.table(table, best=0),
        terminal.legend(table.columns),
    )


def curve_title(curve: ModelCurve) -> str:
    """What a table of plans is called."""
    whose = f" of each of {curve.members} members" if curve.members > 1 else ""
    return f"{curve.name}: the best plan{whose}"


def input_title(curve: ModelCurve) -> str:
    """What a table of ways of feeding members is called."""
    return f"{curve.name}: how {curve.members} members are fed"


def _curve(curve: ModelCurve) -> Group:
    return Group(
        terminal.heading(f"{curve_title(curve)} on each number of devices"),
        terminal.table(curve_table(curve)),
        *(
            terminal.note(f"{devices} devices: {why}")
            for devices, why in sorted(curve.refused.items())
        ),
        *_input(curve),
    )


def _input(curve: ModelCurve) -> Iterator[RenderableType]:
    """How the members of an ensemble are fed, and why so; nothing of a single model."""
    fed = curve.asked.input
    if fed is None:
        return
    for title, table in ((input_title(curve), input_table(curve)), ("", ways_table(fed))):
        yield terminal.heading(title or f"Input on the {curve.asks} devices that a job asks for")
        yield terminal.table(table)
        yield terminal.legend(table.columns)
    yield terminal.note(fed_words(curve))


def _parts(answer: Simulated) -> list[Group]:
    """Groups under the best policy of the highest load; none where all jobs are of one."""
    name, best = min(answer.policies.items(), key=lambda item: item[1].mean_response)
    if not best.groups:
        return []
    return [
        Group(
            terminal.heading(f"By group, under {name}"),
            terminal.table(parts_table(best.groups, "group")),
        )
    ]


def _capacity(answer: Capacity) -> Group:
    table = capacity_table(answer)
    return Group(terminal.heading(capacity_title(answer)), terminal.table(table))
