"""Closed forms: the throughput of training by formulas, and what it cannot exceed.

Asynchronous workers are customers of a closed network: they think while they compute and meet at
the servers' links and cores. Synchronous ones wait for a barrier, and for servers that have all of
their gradients to serve. Without servers a ring follows the barrier, or two workers meet at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, log, log2

import numpy as np

from foretrain.distributions import Distribution, Floats
from foretrain.errors import InputError
from foretrain.plan.servers import Aggregation, Servers, Training, Worker
from foretrain.queueing.birth_death import shared_pace
from foretrain.queueing.closed import ClosedNetwork, mean_values
from foretrain.queueing.fork_join import barrier, order_statistic

EGRESS, CORES, INGRESS = "servers' egress", "servers' cores", "servers' ingress"
COMPUTE, LINK, BARRIER = "computing", "workers' links", "waiting for the slowest"

EXACT = 64
"""Workers up to which the end of a synchronous step is integrated exactly, in a time that grows
with the cube of their number; beyond, by the order statistics of their computations."""

FINE = 16
"""Numbers of workers beyond those, in which they double, of which a step is worked out."""

FAR = 8.0
"""Knees up to which asynchronous workers are solved one by one."""

POINTS, TAIL = 256, 40
"""Points at which a distribution is integrated: evenly spread where nearly all of it lies, and
further and further apart behind."""

SOONEST = 1e-12
"""Cumulative hazard from which on they are: a normal computation may end at any time before."""

NEARLY, REACH = 5.0, 25.0
"""Cumulative hazards, beyond that of the slowest worker, up to which they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaThroughput:
    """What a number of workers do by formulas.

    Attributes:
        throughput: samples per second; None where no formula holds.
        high: that it does not exceed, samples per second.
    """

    throughput: float | None
    high: float


def closed_network(training: Training) -> ClosedNetwork:
    """The closed network of asynchronous training with servers of their own.

    Servers are alike and get equal parts of a message at the same moment, so their links are one
    link of their summed rate, of which a worker can take no more than its own link allows; and an
    update keeps a core of each of them busy.

    Args:
        training: with servers that are not colocated.
    """
    servers, worker = _served(training)
    most = servers.count * training.server_link
    taken = min(most, worker.link)
    paces = {
        name: shared_pace(paced)
        for name, paced in ((EGRESS, most / taken), (INGRESS, most / taken), (CORES, servers.cores))
        if paced > 1
    }
    return ClosedNetwork(
        think=worker.compute.mean + 2.0 * servers.latency,
        demands={
            EGRESS: worker.pulled / taken,
            CORES: servers.update / servers.count,
            INGRESS: worker.pushed / taken,
        },
        paces=paces,
    )


def by_formula(training: Training, workers: int) -> FormulaThroughput:
    """What do so many workers achieve, by formulas?

    Bounds hold for every way of updating: no barrier makes servers or workers quicker. Exact for
    asynchronous updates where links are shared equally and cores serve exponential times or never
    queue, and for synchronous ones without a queue at the cores; no formula for bounded staleness,
    backup workers, pairs that wait for all, and servers on the workers' nodes.

    Args:
        training: what each does in a step, with whom.
        workers: how many, more than there are backups.

    Sources: reiser1980 (asynchronous); david2003, section 2.1 (barriers); noe1972 (servers behind
    a barrier); patarasuk2009, equation 4 (rings).
    """
    samples, servers = training.worker.samples, training.servers
    if servers is None or servers.colocated:
        rate = _without_servers(training, workers) if servers is None else None
        high = workers / training.worker.compute.mean if training.worker.compute.mean else inf
    else:
        rate, high = _with_servers(training, workers), _bound(training, workers)
    return FormulaThroughput(
        throughput=None if rate is None else rate * samples, high=high * samples
    )


def _with_servers(training: Training, workers: int) -> float | None:
    """Steps per second with servers of their own; none where no formula holds."""
    if training.updates.stale is None:
        return float(mean_values(closed_network(training), workers).throughput[-1])
    if training.updates.stale == 0 and not training.updates.backup:
        return synchronous_rate(training, workers)
    return None


def _bound(training: Training, workers: int) -> float:
    """Steps per second that no way of updating exceeds, but leaving more workers behind."""
    network, backup = closed_network(training), training.updates.backup
    compute = training.worker.compute
    seconds = network.alone
    if backup:
        seconds += barrier(compute, workers=workers, backup=backup).mean - compute.mean
    return min((workers - backup) / seconds, network.capacity)


def _without_servers(training: Training, workers: int) -> float | None:
    """Steps per second of workers that exchange with one another; none for pairs with a barrier."""
    if training.aggregation is Aggregation.ALL_REDUCE:
        return ring_rate(training, workers)
    return pairwise_rate(training, workers) if training.updates.stale is None else None


def synchronous_rate(training: Training, workers: int, *, exact: int = EXACT) -> float:
    """Steps per second of workers with servers and a barrier; those of backup workers do not count.

    All pull at once, so links are busy for as long as all their bytes take. Gradients come as
    computations end. What serves them one after the other is through when the last has been served;
    with backup workers, when enough have. Links that are shared equally end those messages together
    that met, so their updates follow one another: as many as fill the time since the slowest came.

    Source: noe1972 up to `exact` workers without backups; beyond, the largest over j of the j-th
    computation's mean end and what is left to serve then, which is a little too soon (Jensen).
    """
    servers, worker = _served(training)
    counted = workers - training.updates.backup
    most = servers.count * training.server_link
    taken = min(most, worker.link)
    pulled = max(workers * worker.pulled / most, worker.pulled / taken)
    update, sent = servers.update / servers.count / servers.cores, worker.pushed / most
    slowest = barrier(worker.compute, workers=workers, backup=training.updates.backup).mean
    by_links = _all_done(worker.compute, workers, counted=counted, each=sent, exact=exact)
    met = (by_links - slowest) / sent if sent else 0.0
    done = by_links - sent + update * max(servers.cores, met)
    if update > sent:
        by_cores = _all_done(worker.compute, workers, counted=counted, each=update, exact=exact)
        done = max(done, by_cores + (servers.cores - 1) * update)
    seconds = 2.0 * servers.latency + pulled + done + worker.pushed / taken
    return float(counted / seconds)


def _all_done(
    compute: Distribution, workers: int, *, counted: int, each: float, exact: int
) -> float:
    """Mean seconds until so many gradients are served, one after the other."""
    if not each:
        return order_statistic(compute, rank=counted, count=workers).mean
    if counted == workers <= exact:
        return mean_of(
            lambda seconds: all_served(compute, seconds, workers, each=each),
            _times(compute, workers, after=workers * each),
        )
    ranks, ends = _ends(compute, workers, counted)
    return float((ends + (counted - ranks + 1.0) * each).max())


@lru_cache(maxsize=4096)
def _ends(compute: Distribution, workers: int, counted: int) -> tuple[Floats, Floats]:
    """Ranks up to those that count, and when computations of those ranks end on average. [rank]

    Kept, for neither more servers nor smaller messages change them.
    """
    ranks = sorted({*np.linspace(1, counted, min(counted, EXACT)).astype(int).tolist()})
    ends = [order_statistic(compute, rank=rank, count=workers).mean for rank in ranks]
    return np.array(ranks, np.float64), np.array(ends)


def counted_workers(fewest: int, most: int) -> list[int]:
    """Numbers of workers of which a step is worked out: the small ones, then ever fewer."""
    wide = max(0.0, log2(most / EXACT))
    spread = EXACT * 2.0 ** np.linspace(0.0, wide, ceil(FINE * wide) + 1)
    counts = {*range(1, min(EXACT, most) + 1), *spread.astype(int).tolist(), most}
    return sorted(count for count in counts if fewest <= count <= most)


def steps_by_formula(
    training: Training, most: int, *, told: Callable[[], None] = lambda: None
) -> tuple[Floats, Floats]:
    """Numbers of workers and the seconds of a step of each; without a formula, those of the bound.

    Between two numbers a step lies on a line, within a thousandth. Asynchronous workers far beyond
    the knee wait for the bottleneck to serve each that comes, so their line ends there.

    Args:
        training: with servers of their own.
        most: workers.
        told: of each number that is done.
    """
    if training.updates.stale is None:
        network = closed_network(training)
        exact = int(min(float(most), max(float(EXACT), FAR * network.knee)))
        seconds = np.arange(1, exact + 1) / mean_values(network, exact).throughput
        each = np.arange(1.0, exact + 1.0)
        told()
        if exact == most:
            return each, seconds
        last = seconds[-1] + (most - exact) / network.capacity
        return np.append(each, most), np.append(seconds, last)
    backup, samples = training.updates.backup, training.worker.samples
    counts, found = counted_workers(backup + 1, most), []
    for workers in counts:
        if training.updates.stale == 0 and not backup:
            found.append(workers / synchronous_rate(training, workers, exact=0))
        else:
            found.append((workers - backup) * samples / by_formula(training, workers).high)
        told()
    return np.array(counts, np.float64), np.array(found)


def all_served(compute: Distribution, seconds: Floats, workers: int, *, each: float) -> Floats:
    """Probability that all gradients are served so long after all began to compute. [time]

    A server that never idles while there is work is through with n equal pieces when, for every j,
    the j-th computation of n has ended n - j + 1 pieces before. Computations that have ended are
    counted from one such moment to the next.

    Args:
        compute: seconds of one worker.
        seconds: since all began. [time]
        workers: how many.
        each: seconds in which one is served.

    Source: noe1972.
    """
    from scipy.special import comb

    counts = np.arange(workers + 1)
    gained, left = counts[None, :] - counts[:, None], workers - counts[:, None]
    ways = np.where(gained >= 0, comb(left, np.maximum(gained, 0)), 0.0)
    some, others = np.maximum(gained, 0), np.maximum(left - np.maximum(gained, 0), 0)
    state = np.zeros((len(seconds), workers + 1))
    state[:, 0], before = 1.0, np.zeros(len(seconds))
    for number in range(1, workers + 1):
        now = compute.below(seconds - (workers - number + 1) * each)
        rest = 1.0 - before
        chance = np.where(rest > 0, (now - before) / np.where(rest > 0, rest, 1.0), 0.0)
        chance = np.clip(chance, 0.0, 1.0)[:, None, None]
        state = np.einsum("tm,tmk->tk", state, ways * chance**some * (1.0 - chance) ** others)
        state[:, :number] = 0.0
        before = now
    found: Floats = state.sum(axis=1)
    return found


def ring_rate(training: Training, workers: int) -> float:
    """Steps per second with an all-reduce over a ring, which begins when the slowest has come.

    Sources: david2003, section 2.1; patarasuk2009, equation 4.
    """
    worker, hops = training.worker, 2.0 * (workers - 1)
    slowest = barrier(worker.compute, workers=workers).mean
    moved = hops / workers * worker.pushed / worker.link
    return float(workers / (slowest + hops * training.latency + moved))


def pairwise_rate(training: Training, workers: int) -> float:
    """Steps per second of workers that average with one other at a time.

    An exchange of two takes both directions of their links. With p the chance that another worker
    exchanges just now, it meets that of its partner with p, and of each of the n - 2 others with
    2 p / (n - 1). Exchanges that meet halve each other's rate, so one takes
    D (1 + p (3 n - 5) / (n - 1)). Exact for two workers, as a closed network; for more to first
    order in p, while links are busy at most a fifth of the time.

    Source: lian2018 for the scheme.
    """
    worker = training.worker
    if workers == 1:
        return 1.0 / worker.compute.mean
    delay, alone = worker.compute.mean + training.latency, worker.pushed / worker.link
    if workers == 2:
        network = ClosedNetwork(think=delay, demands={LINK: alone})
        return float(mean_values(network, 2).throughput[-1])
    met = (3.0 * workers - 5.0) / (workers - 1.0)
    # D = alone (1 + met D / (delay + D)), a quadratic equation in D.
    less = delay - alone * (1.0 + met)
    seconds = 0.5 * (-less + (less * less + 4.0 * alone * delay) ** 0.5)
    return float(workers / (delay + seconds))


def mean_of(below: Callable[[Floats], Floats], seconds: Floats) -> float:
    """Mean of a time, from the probability that it is at most some seconds, which rise. [time]"""
    return float(seconds[0] + np.trapezoid(1.0 - below(seconds), seconds))


def _times(compute: Distribution, workers: int, *, after: float) -> Floats:
    """Times between which all computations end, from the soonest that all can be served. [time]"""
    bulk, tail = log(workers) + NEARLY, log(workers) + REACH
    first, last = compute.at_hazard(np.array([SOONEST, bulk]))
    rare = compute.at_hazard(np.linspace(bulk, tail, TAIL))
    return np.concatenate([np.linspace(first, last, POINTS), rare]) + after


def _served(training: Training) -> tuple[Servers, Worker]:
    servers = training.servers
    if servers is None or servers.colocated:
        raise InputError("this formula is of servers on nodes of their own.")
    return servers, training.worker
