"""Inferred rules: the site behind a log, where nobody has told its configuration.

What a log shows of itself is read off: how many devices partitions held, when cycles of
backfilling came. Priorities are those that explain who started before whom. Each guess of the rest
is asked for every decision of the log, from where the log then was, and annealed until none is
wrong: such a guess replays the log. Where some stay wrong, guesses with few of them are replayed,
and whichever waits as the log did is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from json import dumps
from math import inf
from typing import Final

import numpy as np

from foretrain.cluster.mixed import Fleet
from foretrain.errors import InputError
from foretrain.jobs.run import run
from foretrain.jobs.site_guess import SiteGuess, with_weights
from foretrain.jobs.site_search import SiteSearch
from foretrain.jobs.start_orders import (
    PERIOD,
    StartTicks,
    busiest,
    most_held,
    started,
    ticks,
)
from foretrain.measured.job import Log
from foretrain.measured.limit import PartyLimit
from foretrain.measured.queue_study import Conditions, InferredRule
from foretrain.measured.site import BackfillRules, NodeRange, Partition, SiteRules
from foretrain.units import SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredSite:
    """A site whose rules its log told.

    Attributes:
        log: on the site's clock: its time 0 is a moment at which priorities are worked out.
        fleet: the nodes.
        rules: of it.
        apart: mean difference of a job's replayed waiting from its logged one, over the mean.
        broken: share of starts of which the priority does not explain an order; of priorities
            that are not met where `printed`.
        pairs: how many orders there are; priorities that were printed where `printed`.
        printed: whether the log prints priorities.
        wrong: decisions of the log that the rules would make otherwise.
        runs: simulations that were made.
        held: devices at once, the most.
        ticks: what starts jobs while nothing happens.
    """

    log: Log
    fleet: Fleet
    rules: SiteRules
    apart: float
    broken: float
    pairs: int
    printed: bool
    wrong: int
    runs: int
    held: int
    ticks: StartTicks


def inferred(
    log: Log, fleet: Fleet | None = None, *, tell: Callable[[int, int], None] | None = None
) -> InferredSite:
    """The rules that a log follows.

    Args:
        log: of which the begin of jobs is known.
        fleet: what it ran on; None for as many devices as were held at once.
        tell: told how many replays are done, and how many there may be.

    Raises:
        InputError: where no job of the log ever waited, which tells of no rule.
    """
    if fleet and len(fleet.nodes) > 1:
        raise InputError("site.infer reads rules of nodes of one kind; give [fleet] one.")
    if not any(log.begun.get(job.name, 0.0) > job.arrival for job in log.trace.jobs):
        raise InputError(
            f"{log.trace.name}: no job whose begin is known ever waited, and who does not wait"
            " follows every rule. State the rules in [site] in place of infer."
        )
    seen = ticks(started(log.trace.jobs, log.begun, log.priorities), since=log.trace.opened)
    clock = log.later(-seen.phase % max(PERIOD, seen.interval or PERIOD))
    search = SiteSearch(busiest(clock), seen, fleet, tell or (lambda _done, _most: None))
    best, count = search.best()
    known = [best, *search.nearest(REPLAYED)] if count else [plainer(search, best)]
    replays = [(replayed_apart(search, each), place) for place, each in enumerate(known)]
    apart, nearest = min(replays)
    best = known[nearest]
    decided = search.wrong(best)
    return InferredSite(
        log=clock.later(best.late),
        fleet=fleet or best.fleet,
        rules=best.rules(search.jobs, printed=search.printed),
        apart=apart,
        broken=best.priority.fit.broken if search.printed else _unexplained(search, best),
        pairs=search.pairs,
        printed=search.printed,
        wrong=decided.total if decided else 2 * len(search.jobs.begun),
        runs=search.runs,
        held=most_held(search.jobs, np.ones(len(search.jobs.begun), dtype=bool)),
        ticks=seen,
    )


def _unexplained(search: SiteSearch, guess: SiteGuess) -> float:
    """Share of starts before which somebody stood who waited on."""
    return len(search.broken(guess, ties=True).missed) / len(search.jobs.begun)


def replayed_apart(search: SiteSearch, guess: SiteGuess) -> float:
    """How far a replay is from the log: of waiting job by job, and of its median.

    Args:
        search: of the log.
        guess: that is replayed.
    """
    asked = Conditions(site=guess.rules(search.jobs, printed=search.printed))
    search.count()
    trace, jobs = search.log.trace.later(guess.late), search.jobs
    try:
        outcomes = run(trace, search.told or guess.fleet, "slurm", conditions=asked)
    except InputError:
        return inf  # some job finds no room on such nodes, or under such a limit
    known = [job.name in search.log.begun for job in search.log.trace.jobs]
    waits = np.array(outcomes.begun)[known] - jobs.arrival - guess.late
    logged = jobs.begun - jobs.arrival
    middle, usual = float(np.median(logged)), float(logged.mean())
    off = abs(float(np.median(waits)) - middle) / (middle or usual)
    return float(np.abs(waits - logged).mean()) / usual + MIDDLE * min(1.0, off)


def plainer(search: SiteSearch, guess: SiteGuess) -> SiteGuess:
    """The same without what decides nothing in the log: that is as usual, or has no weight.

    Args:
        search: of the log.
        guess: without a wrong decision.
    """
    for change in usual(guess):
        there = change(guess)
        found = search.wrong(there, 0.0)
        if found is not None and not found.total:
            guess = there
    return guess


def usual(guess: SiteGuess) -> Iterator[Callable[[SiteGuess], SiteGuess]]:
    """What makes a guess plainer, one thing at a time: as it is without a word, or of no weight.

    Args:
        guess: that is to be plainer.
    """
    for place in np.flatnonzero(guess.priority.fit.weights):
        yield partial(_without_weight, place=int(place))
    for each in guess.limits:
        yield partial(SiteGuess.without, limit=each)
    if guess.period != PERIOD:
        yield lambda there: replace(there, period=PERIOD)
    fills = guess.backfill
    for name in ("depth", "reserves", "window", "resolution", "per_user") if fills else ():
        yield partial(_as_usual, name=name)


def _without_weight(guess: SiteGuess, *, place: int) -> SiteGuess:
    weights = guess.priority.fit.weights.copy()
    weights[place] = 0.0
    return with_weights(guess, weights)


def _as_usual(guess: SiteGuess, *, name: str) -> SiteGuess:
    """With what Slurm has where nobody says otherwise."""
    fills = guess.backfill or BackfillRules()
    there = BackfillRules(interval=fills.interval)
    return replace(guess, backfill=replace(fills, **{name: getattr(there, name)}))


REPLAYED: Final = 16
"""Guesses with the fewest wrong decisions that are replayed as a whole."""

MIDDLE: Final = 0.2
"""Weight of the median in how far a replay is from a log."""

NAMED = 6
"""Accounts, users or qualities whose share or points are said in a line."""


def rules_told(site: InferredSite) -> tuple[InferredRule, ...]:
    """The rules that a log follows, and what speaks for each.

    Args:
        site: that was inferred.
    """
    rules, [nodes], weights = site.rules, site.fleet.nodes, site.rules.priority
    held = f"at most {site.held:,} devices were held at once"
    told = [InferredRule(rule="nodes", value=f"{nodes.count} of {nodes.devices}", evidence=held)]
    for part in rules.partitions:
        value = f"nodes {ranges_written(part.nodes)}" if part.nodes else "all nodes"
        told.append(
            InferredRule(rule=f"partition {part.name}", value=value, evidence="no more were held")
        )
    told.append(_passing(site))
    told_by = f"told by {site.pairs:,} orders of two starts"
    evidence = f"{100.0 * (1.0 - site.broken):.1f} % of starts are explained, {told_by}"
    if site.printed:
        evidence = f"{site.pairs:,} printed priorities, {100.0 * site.broken:.1f} % not met"
    factors = {
        f"age up to {SECONDS.write(weights.longest_age)}": weights.age,
        "fair share": weights.fairshare,
        f"size, {'small' if weights.small_first else 'large'} first": weights.size,
        "quality": weights.qos,
        "partition": weights.partition,
    }
    value = ", ".join(f"{name}: {each:,.0f}" for name, each in factors.items() if each)
    told.append(InferredRule(rule="priority", value=value or "who came first", evidence=evidence))
    if weights.qos:
        points = {each.name: each.priority for each in rules.qualities}
        told.append(InferredRule(rule="qualities", value=_named(points), evidence="ditto"))
    if weights.fairshare:
        shares = {each.name: each.shares or 0.0 for each in rules.associations if not each.is_user}
        half = SECONDS.write(weights.half_life)
        told.append(InferredRule(rule="half-life of usage", value=half, evidence="ditto"))
        told.append(InferredRule(rule="shares", value=_named(shares), evidence="ditto"))
    for limit in rules.limits:
        most = f"{limit.jobs:,.0f} jobs" if limit.jobs < inf else f"{limit.devices:,.0f} devices"
        whose = f" of {limit.of} {limit.named}" if limit.of else ""
        value = f"{most}{whose} for {f'each {limit.each}' if limit.each else 'all together'}"
        told.append(InferredRule(rule="limit", value=value, evidence="nobody passed it"))
    return tuple(told)


def _passing(site: InferredSite) -> InferredRule:
    """How jobs pass."""
    fills, seen = site.rules.backfill, site.ticks
    if fills is None:
        why = "starts come as something happens, or when priorities are worked out again"
        return InferredRule(rule="passing", value="nobody (no backfill)", evidence=why)
    slots = f"the first {fills.reserves} of a partition" if fills.reserves else "all"
    value = f"backfill every {fills.interval:g} s, slots for {slots}, depth {fills.depth}"
    usual = BackfillRules()
    for key, unit in (("window", " s"), ("resolution", " s"), ("per_user", " jobs")):
        if (found := getattr(fills, key)) != getattr(usual, key):
            value += f", {key} {found:g}{unit}"
    why = f"{seen.quiet:,} jobs started while nobody came or ended"
    return InferredRule(rule="passing", value=value, evidence=why)


def _named(figures: Mapping[str, float]) -> str:
    shown = [f"{name}: {each:,.3g}" for name, each in figures.items()][:NAMED]
    more = len(figures) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def ranges_written(ranges: Sequence[NodeRange]) -> str:
    """Nodes as a study has them: "0-15, 20"."""
    return ", ".join(f"{first}-{last}" if first < last else f"{first}" for first, last in ranges)


def as_study(site: InferredSite) -> str:
    """The sections of a study that state the rules of a site.

    Args:
        site: that was inferred.
    """
    rules, [nodes], weights = site.rules, site.fleet.nodes, site.rules.priority
    lines = ["[fleet]", f"nodes = {nodes.count}", f"devices = {nodes.devices}", "", "[site]"]
    lines += _partitions_written(rules.partitions)
    for quality in rules.qualities:
        lines += ["", "[[site.qos]]", f"name = {quoted(quality.name)}"]
        lines += [f"priority = {quality.priority:.6g}"]
    for one in rules.associations:
        lines += ["", f"[[site.{'users' if one.is_user else 'accounts'}]]"]
        lines += [f"name = {quoted(one.name)}", f"shares = {one.shares:.6g}"]
        lines += [f"account = {quoted(one.parent)}"] if one.is_user and one.parent else []
    lines += ["", "[site.priority]"]
    for key in ("age", "fairshare", "size", "partition", "qos"):
        lines.append(f"{key} = {getattr(weights, key):.6g}")
    for key in ("small_first", "fair_tree"):
        lines.append(f"{key} = {str(getattr(weights, key)).lower()}")
    for key in ("longest_age", "half_life", "period"):
        lines.append(f'{key} = "{getattr(weights, key):.6g} s"')
    lines += ["", "[site.backfill]", f"on = {str(rules.backfill is not None).lower()}"]
    if rules.backfill:
        fills = rules.backfill
        for key in ("interval", "window", "resolution"):
            lines.append(f'{key} = "{getattr(fills, key):g} s"')
        lines += [f"{key} = {getattr(fills, key)}" for key in ("reserves", "depth", "per_user")]
    return "\n".join([*lines, *_limits_written(rules.limits)]) + "\n"


def _partitions_written(partitions: Sequence[Partition]) -> Iterator[str]:
    for part in partitions:
        yield from ("", "[[site.partitions]]", f"name = {quoted(part.name)}")
        yield from [f'nodes = "{ranges_written(part.nodes)}"'] if part.nodes else []
        yield f"factor = {part.factor:.6g}"


def _limits_written(limits: Sequence[PartyLimit]) -> Iterator[str]:
    for limit in limits:
        yield from ("", "[[site.limits]]")
        yield from [f'each = "{limit.each}"'] if limit.each else []
        yield from [f'of = "{limit.of}"', f"named = {quoted(limit.named)}"] if limit.of else []
        yield from [
            f"{key} = {getattr(limit, key):.0f}"
            for key in ("devices", "jobs")
            if getattr(limit, key) < inf
        ]


def quoted(text: str) -> str:
    """A string as TOML has it."""
    return dumps(text)
