"""Findings: what follows from a comparison of policies, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from math import inf

from foretrain.jobs.inferred import InferredSite
from foretrain.jobs.policies.table import named
from foretrain.jobs.result import (
    Capacity,
    Enough,
    LoadPoint,
    ModelCurve,
    Replayed,
)
from foretrain.measured.job import Job, Log
from foretrain.measured.site import InferredRule, NodeRange
from foretrain.units import DOLLARS, SECONDS

SURE = 0.01
"""Chance of a difference without a cause below which it is taken for one."""

HOUR = 3600.0

SHOWN = 3
"""Entries of a log that are shown of those left out for one reason."""

FAITHFUL = 0.1
"""Relative error of the median waiting up to which a replay is taken for the log's cluster."""

CROWDED = 2.0
"""Waiting over work from which on a queue is said to be long."""


def findings(
    points: Sequence[LoadPoint], curves: Sequence[ModelCurve], capacity: Capacity | None = None
) -> tuple[str, ...]:
    """What a reader should take home.

    Args:
        points: policies at each load, the lowest load first.
        curves: of the models, where jobs were drawn of models.
        capacity: what a target needs; None without one.
    """
    said = []
    for curve in curves:
        first, last, fed = curve.points[0], curve.points[-1], curve.asked.input
        said.append(
            f"A job of {curve.name} asks for {_devices(curve.asks)}, {curve.why}: it trains"
            f" {_rate(first.rate)} samples/s on {first.devices} and {_rate(last.rate)} samples/s on"
            f" {last.devices}, where a device does {100 * last.efficiency:.0f} % of that."
        )
        if fed is not None:
            said.append(f"Its {curve.members} members train at that pace each. {fed.verdict}")
    for point in points:
        said += _best(point)
    if len(points) > 1 and (low := _order(points[0])[0]) != (high := _order(points[-1])[0]):
        said.append(
            f"The best policy changes with the load: {low} at {points[0].load:g}, {high} at"
            f" {points[-1].load:g}."
        )
    if capacity:
        said += [_needs(capacity, enough) for enough in capacity.policies]
    return tuple(said)


def of_replays(replays: Sequence[Replayed]) -> tuple[str, ...]:
    """Whether a log's own policy, or the one that fits it best, waits as the log did."""
    if not replays:
        return ()
    best = replays[0]
    apart = "in the log nobody waited"
    if best.gap is not None:
        apart = f"job by job, the first half is {100 * best.gap:.0f} % of the mean waiting off"
    told = (
        f"Replayed under {best.policy} on {_devices(best.devices)}, jobs of the second half of the"
        f" waiting wait {SECONDS.write(best.simulated)} (median) where the log says"
        f" {SECONDS.write(best.logged)}; {apart}."
    )
    if best.error is not None and best.error <= FAITHFUL:
        return (told,)
    return (
        told,
        "That is too far off to trust what follows: the log's cluster has other devices, quotas"
        " or another policy than the study says.",
    )


def of_log(log: Log) -> Iterator[str]:
    """Which entries of a log are not among the jobs, and which jobs are more than they look."""
    if log.left_out:
        total = sum(each.count for each in log.left_out)
        why = "; ".join(f"{each.reason}: {each.count:,}" for each in log.left_out)
        yield f"Entries of the log that are not simulated: {total:,} ({why})."
    for each in log.left_out:
        if each.first[:1] and each.first[0].told:
            shown = each.first[:SHOWN]
            lines = " ".join(f"line {entry.line}: {entry.told}" for entry in shown)
            more = each.count - len(shown)
            rest = f" And {more:,} more." if more else ""
            yield f"Of those that {each.reason}: {lines}{rest}"
    if log.running:
        yield (
            f"{_jobs(log.running)} still ran when the log was written: in the simulation devices"
            " are held for as long as the log saw that, and no mean or percentile counts them."
        )
    if log.resubmitted:
        yield (
            f"{_jobs(log.resubmitted)} stood in the log under a name that came before, as those"
            " that are requeued do: each entry is a submission of its own."
        )


def of_inferred(site: InferredSite) -> Iterator[str]:
    """How well the rules that a log follows explain it, and what it cannot tell."""
    off = 100.0 * site.apart
    yield (
        f"Under the rules that the log follows, found by {site.runs} replays, waiting is"
        f" {off:.1f} % off: job by job, and a fifth of what the median is off."
    )
    unexplained = 100.0 * site.broken
    if unexplained >= TELLING:
        yield (
            f"{unexplained:.0f} % of what the log tells of priorities is not explained by them:"
            " the site has rules that are not looked for, such as preemption, reservations or"
            " holds by hand, or nodes that were not always there."
        )
    yield (
        "The log cannot tell what users had used before it began, rules that kept nobody in it, and"
        " weights and shares between which no two of its jobs decided: there any value is as good."
    )


TELLING = 1.0
"""Per cent of the evidence that is not explained from which on it is said."""

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
        value = f"nodes {ranges_written(part.nodes)}"
        told.append(
            InferredRule(rule=f"partition {part.name}", value=value, evidence="no more were held")
        )
    told.append(_passing(site))
    evidence = f"{100.0 * (1.0 - site.broken):.1f} % of {site.pairs:,} orders of two starts"
    if site.printed:
        evidence = f"{site.pairs:,} printed priorities, {100.0 * site.broken:.1f} % not met"
    factors = {
        f"age up to {SECONDS.write(weights.longest_age)}": weights.age,
        "fair share": weights.fairshare,
        f"size, {'small' if weights.small_first else 'large'} first": weights.size,
        "quality": weights.qos,
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
        value = f"{limit.devices:,.0f} devices for each {limit.each}"
        told.append(
            InferredRule(rule="limit", value=value, evidence="several met it, and nobody passed it")
        )
    return tuple(told)


def _passing(site: InferredSite) -> InferredRule:
    """How jobs pass."""
    fills, seen = site.rules.backfill, site.ticks
    if fills is None:
        why = "starts come as something happens, or when priorities are worked out again"
        return InferredRule(rule="passing", value="nobody (no backfill)", evidence=why)
    slots = f"the first {fills.reserves} of a partition" if fills.reserves else "all"
    value = f"backfill every {fills.interval:g} s, slots for {slots}, depth {fills.depth}"
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
    for part in rules.partitions:
        lines += ["", "[[site.partitions]]", f"name = {quoted(part.name)}"]
        lines += [f'nodes = "{ranges_written(part.nodes)}"']
    for quality in rules.qualities:
        lines += ["", "[[site.qos]]", f"name = {quoted(quality.name)}"]
        lines += [f"priority = {quality.priority:.6g}"]
    for one in rules.associations:
        lines += ["", f"[[site.{'users' if one.is_user else 'accounts'}]]"]
        lines += [f"name = {quoted(one.name)}", f"shares = {one.shares:.6g}"]
        lines += [f"account = {quoted(one.parent)}"] if one.is_user and one.parent else []
    lines += ["", "[site.priority]"]
    for key in ("age", "fairshare", "size", "qos"):
        lines.append(f"{key} = {getattr(weights, key):.6g}")
    lines += [f"small_first = {str(weights.small_first).lower()}"]
    lines += [f'{key} = "{getattr(weights, key):.6g} s"' for key in ("longest_age", "half_life")]
    lines += ["", "[site.backfill]", f"on = {str(rules.backfill is not None).lower()}"]
    if rules.backfill:
        fills = rules.backfill
        lines += [f'interval = "{fills.interval:g} s"', f"reserves = {fills.reserves}"]
        lines += [f"depth = {fills.depth}"]
    for limit in rules.limits:
        lines += ["", "[[site.limits]]", f'each = "{limit.each}"', f"devices = {limit.devices:.0f}"]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A string as TOML has it."""
    return dumps(text)


def of_wishes(jobs: Sequence[Job], policies: Sequence[str]) -> Iterator[str]:
    """What jobs ask for that policies do not heed.

    Args:
        jobs: all of them.
        policies: names of the table.
    """
    prior = sum(job.priority != 1.0 for job in jobs)
    due = sum(job.deadline is not None for job in jobs)
    deaf = [policy for policy in policies if not named(policy).weighs]
    # No policy of the table heeds deadlines.
    for asked, count, under in (
        ("have a priority", prior, deaf),
        ("have a deadline", due, policies),
    ):
        if count and under:
            yield f"Of all jobs {count:,} {asked}, which is not heeded under {', '.join(under)}."


def _jobs(count: int) -> str:
    return f"{count:,} job{'s' * (count > 1)}"


def _order(point: LoadPoint) -> list[str]:
    """Policies at a load, the best first."""
    return sorted(point.policies, key=lambda name: point.policies[name].mean_response)


def _best(point: LoadPoint) -> Iterator[str]:
    """Which policy is the best, how sure that is, and whether jobs wait long."""
    first = _order(point)[0]
    best = point.policies[first]
    where = "" if point.load is None else f" at load {point.load:g}"
    share = 100 * best.mean_waiting / best.mean_response
    between = ""
    if best.low is not None and best.high is not None:
        between = f" ({SECONDS.write(best.low)} to {SECONDS.write(best.high)})"
    yield (
        f"{first} has the shortest mean response{where}: {SECONDS.write(best.mean_response)}"
        f"{between}, of which {share:.0f} % is waiting."
    )
    if point.load is not None and point.load >= 1.0:
        yield (
            f"At load {point.load:g} more comes than the devices can do: the queue grows as long as"
            " jobs come, so that these times are those of so many jobs and of no steady state."
        )
    if point.pairs:
        pair = point.pairs[0]
        gap = SECONDS.write(pair.difference)
        if not pair.difference:
            yield f"{pair.second} has the same mean on these jobs."
        elif pair.p is None or pair.low is None or pair.high is None:
            yield f"{pair.second} is next, {gap} longer; one run cannot say how sure that is."
        elif pair.p < SURE:
            yield f"{pair.second} is next, {gap} longer on the same jobs (p = {pair.p:.2g})."
        else:
            yield (
                f"{pair.second} is next, {gap} longer, which may be chance (p = {pair.p:.2g}): draw"
                " more seeds to tell them apart."
            )
    work = best.mean_response - best.mean_waiting
    if work > 0 and best.mean_waiting > CROWDED * work:
        yield (
            f"Jobs wait {best.mean_waiting / work:.1f} times as long as they run{where}; more"
            " devices help here more than a better order does."
        )


def _devices(count: int) -> str:
    return f"{count:,} device{'s' * (count > 1)}"


def _rate(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.3g}"


def _needs(target: Capacity, enough: Enough) -> str:
    """What a policy needs for the target."""
    asked = f"a {TARGETS[target.quantity]} of {SECONDS.write(target.seconds)}"
    if enough.nodes is None:
        there = "some jobs or quotas do not fit"
        if enough.response < inf:
            there = SECONDS.write(enough.response)
        return (
            f"{enough.policy} does not keep {asked} on any number of nodes that was looked at"
            f" ({there} on {_devices(enough.devices)})."
        )
    price = f", {DOLLARS.write(enough.price * HOUR)} an hour" if enough.price else ""
    nodes = f"{enough.nodes} node{'s' * (enough.nodes > 1)}"
    sure = f", with 95 % confidence {enough.within}" if enough.within else ""
    return (
        f"{enough.policy} keeps {asked} from {nodes} on{sure} ({_devices(enough.devices)}"
        f"{price}), {100 * enough.utilisation:.0f} % of them held."
    )


TARGETS = {
    "mean": "mean response",
    "p95": "response of 95 % of the jobs",
    "waiting": "mean waiting time",
    "p95_waiting": "waiting time of 95 % of the jobs",
}
"""What a target is about, in a sentence."""
