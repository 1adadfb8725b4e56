"""What is asked beside policies: how many nodes, why a job waits, and which rule to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from foretrain.show.report import Block, Note, ReportSection
from foretrain.show.table import Column, Table, label, labelled, table
from foretrain.show.words import count, percent, whole, written
from foretrain.units import DOLLARS, SECONDS

HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Enough:
    """How many devices keep a target under a policy.

    Attributes:
        policy: which one.
        nodes: the fewest that keep it; None where not even the most that were looked at do.
        least: the fewest nodes of the 95 % interval; None where none of those that were looked at
            are enough even with luck, or there is too little to tell.
        most: the most nodes of it; None where it may be more than were looked at, or likewise.
        sure: whether runs tell of an interval: `least` or more nodes, and at most `most`.
        devices: of those nodes.
        response: what the target is about, seconds, on those nodes or on the most; None where some
            jobs do not fit even there.
        utilisation: of their devices.
        price: dollars per second for them; None without a price.
    """

    policy: str = field(metadata=label("policy"))
    nodes: int | None
    least: int | None = None
    most: int | None = None
    sure: bool = False
    devices: int = field(metadata=label("devices", whole))
    response: float | None
    utilisation: float = field(metadata=label("utilisation", percent, short="used"))
    price: float | None

    @property
    @labelled("nodes", number=True)
    def suffices(self) -> str:
        """How many nodes do, if any number does."""
        return "not enough" if self.nodes is None else whole(self.nodes)

    @property
    @labelled("within", number=True, meaning="95 % interval of the nodes", spare=1)
    def within(self) -> str | None:
        """The interval of the number of nodes; None where there is too little to tell."""
        if not self.sure or self.least is None:
            return None
        if self.most is None:
            return f"{self.least} or more"
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"

    @property
    @labelled("cost per hour", DOLLARS)
    def hourly(self) -> float | None:
        """Dollars; None without a price."""
        return self.price * HOUR if self.price else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What a target needs.

    Attributes:
        quantity: "mean" or "p95" of the response, mean "waiting" or "p95_waiting".
        seconds: at most.
        load: at which jobs come, over the devices of the study; None for a trace as it is.
        policies: what each needs, the fewest nodes first.
    """

    quantity: str
    seconds: float
    load: float | None
    policies: tuple[Enough, ...]


class WaitReason(StrEnum):
    """Why a job waits, as `squeue` has it; limits have words of their own."""

    BEGIN = "BeginTime"
    """Its user or an operator has said from when it may start, or its log begins later."""

    DEPENDENCY = "Dependency"
    RESOURCES = "Resources"
    """It is the next, and there is no room for it."""

    PRIORITY = "Priority"
    """Others go first, and there is no room for it, or what there is is theirs."""

    NODES = "ReqNodeNotAvail"
    """Nodes that it could use are down, or are kept free for maintenance."""

    SUSPENDED = "Suspended"
    """It has made room for another, and goes on when its devices are free."""

    QUOTA = "Quota"
    """Its queue may use no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitPeriod:
    """A time in which one thing kept a job from starting.

    Attributes:
        start: seconds since the trace began.
        end: likewise.
        reason: in the word of `squeue`.
        by: what the word is about: the limit, the jobs that it depends on; empty where it says all.
        free: devices that nobody held at its start.
        ahead: jobs that went before it then, the first of them.
        count: how many went before it.
    """

    start: float
    end: float
    reason: str = field(metadata=label("reason"))
    by: str
    free: float = field(metadata=label("free", whole, meaning="devices at its start"))
    ahead: tuple[str, ...]
    count: int = field(metadata=label("before it", whole, meaning="jobs at its start"))


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitRemedy:
    """A change after which a job waits less, all else being as it was.

    Attributes:
        change: what is otherwise.
        waiting: seconds before its first start then.
        sooner: seconds that it starts sooner.
    """

    change: str = field(metadata=label("change"))
    waiting: float = field(metadata=label("waits", SECONDS))
    sooner: float = field(metadata=label("sooner by", SECONDS))


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyWaited:
    """Why a job waited.

    Attributes:
        job: its name.
        policy: under which.
        devices: that it asks for.
        submitted: seconds since the trace began.
        started: when it first held devices; None if it never did.
        waited: seconds without devices.
        periods: what kept it, one after the other.
        remedies: single changes that would have let it start sooner, the best first.
    """

    job: str
    policy: str
    devices: int
    submitted: float
    started: float | None
    waited: float
    periods: tuple[WaitPeriod, ...]
    remedies: tuple[WaitRemedy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """A single rule that is otherwise, on the same jobs.

    Attributes:
        rule: its key in [site].
        change: from what to what.
        waiting: mean seconds of waiting with it.
        difference: seconds that the mean is longer, below 0 where jobs wait less.
        low: of its 95 % interval, over seeds or over parts of the only run; None where there is too
            little to tell.
        high: likewise.
        p: chance of such a difference if there were none, corrected for how many changes were
            tried; None likewise.
        gains: the user or group whose mean waiting falls most; empty where nobody's does.
        loses: whose mean waiting rises most.
    """

    rule: str = field(metadata=label("rule"))
    change: str = field(metadata=label("change"))
    waiting: float = field(metadata=label("waiting", SECONDS, meaning="mean"))
    difference: float = field(metadata=label("difference", SECONDS, meaning="of the means"))
    low: float | None
    high: float | None
    p: float | None
    gains: str = field(metadata=label("who gains most", spare=1))
    loses: str = field(metadata=label("who loses most", spare=1))

    @property
    @labelled("within", number=True, meaning="95 % interval of the difference")
    def interval(self) -> str | None:
        """Of the difference."""
        if self.low is None or self.high is None:
            return None
        return f"{SECONDS.write(self.low)} to {SECONDS.write(self.high)}"


SHOWN: Final = 12
"""Periods of a job's waiting that are listed, the longest; JSON has them all."""


def why_section(told: WhyWaited) -> ReportSection:
    """Why a job waited: how long for what in all, period by period, and what would have helped."""
    words = f"{told.job} asks for {count(told.devices, 'device')}, comes at"
    words += f" {written(SECONDS, told.submitted)} and waits {written(SECONDS, told.waited)}"
    total: dict[str, float] = {}
    for each in told.periods:
        total[each.reason] = total.get(each.reason, 0.0) + each.end - each.start
    longest = sorted(total.items(), key=lambda item: -item[1])
    for_what = ", ".join(f"{written(SECONDS, time)} for {reason}" for reason, time in longest)
    periods = table(
        _longest(told.periods),
        (
            Column(name="after", meaning="since it came", number=True, unit=SECONDS),
            lambda each: each.start - told.submitted,
        ),
        (
            Column(name="for", number=True, unit=SECONDS),
            lambda each: each.end - each.start,
        ),
        "reason",
        (Column(name="what"), _what),
        "free",
        "count",
        legend=True,
    )
    body: list[Block] = [f"{words}: {for_what}." if for_what else f"{words}.", periods]
    if len(told.periods) > SHOWN:
        body.append(Note(f"And {len(told.periods) - SHOWN} shorter ones, which --json has."))
    if told.remedies:
        body.append(table(told.remedies, "change", "waiting", "sooner"))
    elif told.periods:
        body.append(Note("Neither a shorter time limit, nor another quality or limit helps."))
    title = f"Why {told.job} waits under {told.policy}"
    return ReportSection(name=f"why-{told.job}", title=title, body=tuple(body))


def _longest(periods: Sequence[WaitPeriod]) -> Sequence[WaitPeriod]:
    """The longest of them, as they follow each other."""
    longest = sorted(periods, key=lambda each: each.start - each.end)[:SHOWN]
    return sorted(longest, key=lambda each: each.start)


def _what(period: WaitPeriod) -> str:
    """What a reason is about, and who goes first."""
    more = period.count - len(period.ahead)
    ahead = ", ".join(period.ahead) + (f" and {more} more" if more else "")
    return period.by or (f"behind {ahead}" if ahead else "")


def changes_section(changes: Sequence[RuleChange]) -> ReportSection:
    """Single rules that are otherwise, the one that shortens waiting most first."""
    shown = table(
        changes,
        *("rule", "change", "waiting", "difference", "interval"),
        (Column(name="p", number=True), lambda each: None if each.p is None else f"{each.p:.2g}"),
        *("gains", "loses"),
        legend=True,
    )
    return ReportSection(name="rules", title="Which rule to change", body=(shown,))


def capacity_table(answer: Capacity) -> Table:
    """The fewest nodes that keep the target under each policy."""
    response = Column(name=answer.quantity, meaning="that time on them", number=True)
    return table(
        answer.policies,
        *("policy", "suffices", "within", "devices"),
        (
            response,
            lambda each: "no room" if each.response is None else written(SECONDS, each.response),
        ),
        *("utilisation", "hourly"),
    )


def capacity_title(answer: Capacity) -> str:
    """What is asked of a capacity."""
    return f"How many nodes keep {KEPT[answer.quantity]} within {written(SECONDS, answer.seconds)}"


KEPT: Final = {
    "mean": "a mean response",
    "p95": "95 % of the responses",
    "waiting": "a mean waiting time",
    "p95_waiting": "95 % of the waiting times",
}
"""What a target is about, in a heading."""
