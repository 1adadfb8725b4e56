"""Findings: what follows from a comparison of policies, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from foretrain.jobs.asked import Capacity, Enough, RuleChange
from foretrain.jobs.inferred import InferredSite
from foretrain.jobs.policies.table import named
from foretrain.jobs.result import LoadPoint, ModelCurve, Replayed
from foretrain.measured.job import Job, Log
from foretrain.units import DOLLARS, SECONDS

SURE = 0.01
"""Chance of a difference without a cause below which it is taken for one."""
WORTH = 0.01
"""Share of the mean waiting by which a change must shorten it to be worth a try."""
HOUR = 3600.0
SHOWN = 3
"""Entries of a log that are shown of those left out for one reason."""
FAITHFUL = 0.1
"""Relative error of the median waiting up to which a replay is taken for the log's cluster."""
FILLED = 0.5
"""Share of the load that is used until the last end, below which a run hardly fills its cluster."""
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
    said += [text for point in points for text in _best(point)]
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
            " are held for as long as the log saw that, and no mean or percentile counts them. What"
            " they took is a lower bound, so that those who run longest are missing from the means."
        )
    if log.pending:
        yield (
            f"{_jobs(log.pending)} had not begun when the log was written: in the simulation they"
            " stand in the queue, and are taken to run for their time limit, or else for the median"
            " of the log; no mean or percentile counts them."
        )
    trace = log.trace
    if trace.opened:
        waited = sum(
            job.arrival < trace.opened and job.name not in trace.found for job in trace.jobs
        )
        yield (
            f"The log begins in the middle: {_jobs(len(trace.found))} ran already. They hold their"
            " devices from when they began, whatever the policy, and no mean or percentile counts"
            f" them. {_jobs(waited)} waited then, from when they were submitted; nobody starts"
            f" them before {SECONDS.write(trace.opened)} after the first submission, when the log"
            " begins to tell of all jobs."
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


def of_changes(changes: Sequence[RuleChange]) -> Iterator[str]:
    """Which rule to change, and how sure it is that it helps.

    Args:
        changes: that were tried, the one that shortens waiting most first.
    """
    if not changes:
        return
    best = changes[0]
    worth = [
        each for each in changes if -each.difference > WORTH * (each.waiting - each.difference)
    ]
    sure = [each for each in worth if each.p is not None and each.p < SURE]
    if not worth:
        yield f"Of {len(changes)} single changes of the site's rules none shortens waiting by 1 %."
        return
    known = sure[0] if sure else best
    how = "which may be chance" if known not in sure else f"p = {known.p:.2g} for so many changes"
    yield (
        f"Of {len(changes)} single changes of the site's rules {known.rule} from {known.change} is"
        f" the one to try: mean waiting is {SECONDS.write(-known.difference)} shorter on the same"
        f" jobs ({how})."
    )
    if known is not best:
        yield (
            f"{best.rule} from {best.change} shortens it by {SECONDS.write(-best.difference)}, but"
            " differs too much from one part of the run to the next to be sure of."
        )


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
    yield from _unsteady(point.load or 0.0, best.utilisation)
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


def _unsteady(load: float, utilisation: float) -> Iterator[str]:
    """Why times at a load, 0 of a trace, are not those of a cluster that filled and goes on."""
    if load >= 1.0:
        yield (
            f"At load {load:g} more comes than the devices can do: the queue grows as long as jobs"
            " come, so that these times are those of so many jobs and of no steady state."
        )
    elif 0 < utilisation < FILLED * load:
        yield (
            f"At load {load:g} only {100 * utilisation:.0f} % of the devices are held to the end:"
            " jobs outlast the last to come. In a longer run jobs wait longer: draw more."
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
        if enough.response is not None:
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
