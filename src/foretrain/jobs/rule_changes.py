"""Which rule to change: the same jobs under a site's rules, one of which is otherwise.

Every single change that an administrator would try first is tried: backfill deeper, more often or
off, slots for one job or all, a limit lifted or doubled, a weight without which the rest decides,
qualities closer or further apart, a node more for a neighbouring partition, quotas that lend.
Waiting is compared job by job, so that what is common to both is not in the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import floor, fsum, inf, isclose, sqrt
from statistics import fmean, stdev
from typing import Any, Final, NamedTuple, TypeVar

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.asked import RuleChange
from foretrain.jobs.result import PartyResult
from foretrain.jobs.summary import PARTS, RunSummary, independent
from foretrain.measured.limit import PartyLimit, QuotaQueue
from foretrain.measured.site import BackfillRules, Partition, PriorityWeights, SiteRules
from foretrain.statistics import student_chance, student_quantile
from foretrain.units import SECONDS

CONFIDENCE: Final = 0.95

LEAST: Final = 3.0
"""Independent values from which on a difference is said to be known with an interval."""

BORDER: Final = 0.05
"""Share of a partition's nodes that its neighbour gets, at least one node."""

POLICIES: Final = ("slurm", "kueue", "volcano", "kai")
"""That follow a site's rules."""

WEIGHTS: Final = ("age", "fairshare", "size", "partition", "qos", "devices")


Rules = TypeVar("Rules", BackfillRules, PriorityWeights, QuotaQueue)


class RuleEdit(NamedTuple):
    """A site's rules with one of them otherwise.

    Attributes:
        rule: its key in [site].
        change: from what to what.
        site: the rules.
    """

    rule: str
    change: str
    site: SiteRules


def single_changes(site: SiteRules, fleet: Fleet, policy: str) -> Iterator[RuleEdit]:
    """Rules of a site with one of them otherwise, each worth a try.

    Args:
        site: the rules.
        fleet: the nodes.
        policy: that follows them.
    """
    if policy == "slurm":
        yield from _of_backfill(site)
        yield from _of_priority(site)
        yield from _of_partitions(site, sum(each.count for each in fleet.nodes))
    else:
        yield from _of_queues(site, policy)
    yield from _of_limits(site)


def _of_backfill(site: SiteRules) -> Iterator[RuleEdit]:
    rules = site.backfill
    if rules is None:
        yield RuleEdit("backfill.on", "false to true", replace(site, backfill=BackfillRules()))
        return
    yield RuleEdit("backfill.on", "true to false", replace(site, backfill=None))
    for key, values in (
        ("interval", (rules.interval / 2.0, 2.0 * rules.interval)),
        ("depth", (max(1, rules.depth // 4), 4 * rules.depth)),
        ("window", (2.0 * rules.window,)),
        ("reserves", {0: (1,), 1: (0,)}.get(rules.reserves, (0, 1))),
        ("per_user", (0,) if rules.per_user else ()),
    ):
        for value in values:
            now = getattr(rules, key)
            if value != now:
                other = _with(rules, key, value)
                shown = _seconds if key in {"interval", "window"} else _number
                change = f"{shown(now)} to {shown(value)}"
                yield RuleEdit(f"backfill.{key}", change, replace(site, backfill=other))


def _of_priority(site: SiteRules) -> Iterator[RuleEdit]:
    weights = site.priority
    for key in WEIGHTS:
        now = getattr(weights, key)
        for value in (0.0, 4.0 * now) if now else ():
            other = _with(weights, key, value)
            yield RuleEdit(
                f"priority.{key}", f"{now:g} to {value:g}", replace(site, priority=other)
            )
    if weights.size:
        was, other = weights.small_first, replace(weights, small_first=not weights.small_first)
        change = f"{was} to {not was}".lower()
        yield RuleEdit("priority.small_first", change, replace(site, priority=other))
    if weights.fairshare and weights.half_life < inf:
        for by in (0.25, 4.0):
            other = replace(weights, half_life=by * weights.half_life)
            change = f"{_seconds(weights.half_life)} to {_seconds(other.half_life)}"
            yield RuleEdit("priority.half_life", change, replace(site, priority=other))


def _of_limits(site: SiteRules) -> Iterator[RuleEdit]:
    for place, limit in enumerate(site.limits):
        others = (*site.limits[:place], *site.limits[place + 1 :])
        key = f"limits[{place}]"
        yield RuleEdit(key, f"{_limit(limit)} to none", replace(site, limits=others))
        doubled = replace(
            limit, devices=2.0 * limit.devices, jobs=2.0 * limit.jobs, count=2.0 * limit.count
        )
        change = f"{_limit(limit)} to {_limit(doubled)}"
        yield RuleEdit(key, change, replace(site, limits=(*others, doubled)))


def _of_partitions(site: SiteRules, count: int) -> Iterator[RuleEdit]:
    """A border between neighbours moved, and each partition opened to all nodes."""
    own = [each for each in site.partitions if len(each.nodes) == 1]
    for one, two in pairwise(sorted(own, key=lambda each: each.nodes)):
        [(first, last)], [(begin, end)] = one.nodes, two.nodes
        if last + 1 != begin:
            continue
        some = max(1, round(BORDER * min(last - first, end - begin)))
        for moved in (some, -some):
            border = last + moved
            if first <= border < end:
                changed = {one.name: ((first, border),), two.name: ((border + 1, end),)}
                change = f"{one.name} {moved:+d}, {two.name} {-moved:+d} nodes"
                yield RuleEdit("partitions.nodes", change, _parted(site, changed))
    for each in site.partitions:
        if each.nodes and each.nodes != ((0, count - 1),):
            change = f"{each.name} on all nodes"
            yield RuleEdit("partitions.nodes", change, _parted(site, {each.name: ()}))


def _parted(site: SiteRules, nodes: Mapping[str, tuple[tuple[int, int], ...]]) -> SiteRules:
    def other(each: Partition) -> Partition:
        return replace(each, nodes=nodes[each.name]) if each.name in nodes else each

    return replace(site, partitions=tuple(map(other, site.partitions)))


def _of_queues(site: SiteRules, policy: str) -> Iterator[RuleEdit]:
    """Queues that borrow, reclaim or block otherwise, or get a tenth more."""
    for place, queue in enumerate(site.queues):
        edits: list[tuple[str, object]] = [("weight", 2.0 * queue.weight)]
        if not queue.flavors:
            edits.insert(0, ("devices", round(1.1 * queue.devices)))
        if policy == "kueue":
            edits += [("strict", not queue.strict), ("reclaims", not queue.reclaims)]
            edits += [("borrows", inf)] if queue.borrows < inf else []
            edits += [("lends", inf)] if queue.lends < inf else []
        for key, value in edits:
            now = getattr(queue, key)
            if value != now:
                other = _with(queue, key, value)
                queues = (*site.queues[:place], other, *site.queues[place + 1 :])
                change = f"{queue.name}: {_number(now)} to {_number(value)}"
                yield RuleEdit(f"queues.{key}", change, replace(site, queues=queues))


def _with(rules: Rules, key: str, value: object) -> Rules:
    """Rules with another value under one key."""
    told: dict[str, Any] = {key: value}
    return replace(rules, **told)


def _number(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _seconds(value: float) -> str:
    return SECONDS.write(value)


def _limit(limit: PartyLimit) -> str:
    most = [f"{limit.devices:g} devices"] if limit.devices < inf else []
    most += [f"{limit.jobs:g} jobs"] if limit.jobs < inf else []
    most += [f"{limit.count:g} licences of {limit.license}"] if limit.count < inf else []
    return f"{' and '.join(most)} for {f'each {limit.each}' if limit.each else 'all'}"


Runs = Sequence[RunSummary]
"""Of every seed."""


def rule_changes(
    site: SiteRules, fleet: Fleet, policy: str, *, simulates: Callable[[SiteRules], Runs | None]
) -> tuple[RuleChange, ...]:
    """Single changes of a site's rules, the one that shortens waiting most first.

    Args:
        site: the rules.
        fleet: the nodes.
        policy: that follows them.
        simulates: runs under some rules, one of each seed; None where jobs cannot run under them.

    Raises:
        InputError: the policy follows no rules of a site.
    """
    if policy not in POLICIES:
        raise InputError(
            f"simulation.rules asks which rule of the site to change, and {policy} follows none."
            f" Put one of {', '.join(POLICIES)} first among simulation.policies."
        )
    before = simulates(site)
    assert before is not None, "the site's own rules were run before"
    found = []
    for edit in single_changes(site, fleet, policy):
        after = simulates(edit.site)
        if after is not None:
            found.append(_compared(edit, before, after))
    return tuple(sorted(_corrected(found), key=lambda each: each.difference))


def _compared(edit: RuleEdit, before: Runs, after: Runs) -> RuleChange:
    was, waits = _mean(before), _mean(after)
    gaps = _gaps(before, after)
    low, high, p = _sure(gaps)
    gains, loses = _parties(before, after)
    return RuleChange(
        rule=edit.rule,
        change=edit.change,
        waiting=waits,
        difference=waits - was,
        low=low,
        high=high,
        p=p,
        gains=gains,
        loses=loses,
    )


def _mean(runs: Runs) -> float:
    return fmean(fmean(run.waiting) for run in runs)


def _gaps(before: Runs, after: Runs) -> Sequence[float]:
    """Differences of means that hardly depend on each other: of seeds, or of parts of a run."""
    if len(before) > 1:
        return [fmean(b.waiting) - fmean(a.waiting) for a, b in zip(before, after, strict=True)]
    [first], [second] = before, after
    count = len(first.waiting)
    if count != len(second.waiting) or count < 2 * PARTS:
        return ()
    each = [b - a for a, b in zip(first.waiting, second.waiting, strict=True)]
    ends = [place * count // PARTS for place in range(PARTS + 1)]
    return [fmean(each[start:end]) for start, end in pairwise(ends)]


def _sure(gaps: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """The interval of a mean difference, and the chance of it if there were none."""
    if len(gaps) < 2:
        return None, None, None
    middle, spread = fmean(gaps), stdev(gaps)
    if not spread:
        return middle, middle, 0.0 if middle else 1.0
    like = independent(gaps) if len(gaps) == PARTS else float(len(gaps))
    if like < LEAST:
        return None, None, None
    error, freedom = spread / sqrt(like), max(1, floor(like) - 1)
    half = student_quantile(CONFIDENCE, freedom=freedom) * error
    return middle - half, middle + half, student_chance(middle / error, freedom=freedom)


def _parties(before: Runs, after: Runs) -> tuple[str, str]:
    """Whose mean waiting falls most, and whose rises most."""
    by_user = bool(before[0].users)
    kind = "user" if by_user else "group"
    was, now = (
        _waits([run.users if by_user else run.groups for run in runs]) for runs in (before, after)
    )
    change = {name: now[name] - was[name] for name in was if name in now}
    least = min(change, key=change.__getitem__, default=None)
    most = max(change, key=change.__getitem__, default=None)
    gains = loses = ""
    if least is not None and change[least] < 0 and not isclose(was[least], now[least]):
        gains = f"{kind} {least}: {_seconds(-change[least])} less"
    if most is not None and change[most] > 0 and not isclose(was[most], now[most]):
        loses = f"{kind} {most}: {_seconds(change[most])} more"
    return gains, loses


def _waits(runs: Sequence[Sequence[PartyResult]]) -> Mapping[str, float]:
    """Mean waiting of each party over all runs."""
    waited: dict[str, list[tuple[int, float]]] = {}
    for parts in runs:
        for part in parts:
            waited.setdefault(part.name, []).append((part.jobs, part.mean_waiting))
    return {
        name: fsum(jobs * mean for jobs, mean in some) / sum(jobs for jobs, _ in some)
        for name, some in waited.items()
    }


def _corrected(changes: Sequence[RuleChange]) -> Iterator[RuleChange]:
    """Changes with chances that allow for how many were tried.

    Source: holm1979: the smallest times how many there are, the next times one fewer, and so on.
    """
    known = sorted((each for each in changes if each.p is not None), key=lambda each: each.p or 0.0)
    worst = 0.0
    for place, each in enumerate(known):
        worst = max(worst, min(1.0, (each.p or 0.0) * (len(known) - place)))
        yield replace(each, p=worst)
    yield from (each for each in changes if each.p is None)
