"""Slurm's preemption: which jobs are stopped for one that finds no room.

Source: slurm, src/plugins/select/cons_tres/job_test.c and the documentation of preemption;
re-implemented from the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foretrain.jobs.nodes import NodePool
from foretrain.jobs.slurm_queue import Pending
from foretrain.measured.site import PreemptBy, PreemptMode, PreemptRules


def may_preempt(pending: Pending, victim: Pending, rules: PreemptRules) -> bool:
    """Whether a job may be stopped for another at all.

    Args:
        pending: the other.
        victim: the job.
        rules: of the site.
    """
    if mode_of(victim, rules) is PreemptMode.OFF or not victim.active.job.preemptible:
        return False
    if rules.by is PreemptBy.TIER:
        return pending.partition.tier > victim.partition.tier
    return rules.by is PreemptBy.QOS and victim.qos.name in pending.qos.preempts


def mode_of(victim: Pending, rules: PreemptRules) -> PreemptMode:
    """What becomes of a job that is preempted.

    Args:
        victim: the job.
        rules: of the site.
    """
    return rules.mode if victim.qos.mode is None else victim.qos.mode


def exempt_until(victim: Pending, rules: PreemptRules) -> float:
    """From when on a running job may be preempted.

    Args:
        victim: the job.
        rules: of the site.
    """
    exempt = rules.exempt if victim.qos.exempt is None else victim.qos.exempt
    return victim.active.charged + exempt


def victims(
    pending: Pending, candidates: Iterable[Pending], pool: NodePool, *, rules: PreemptRules
) -> Sequence[Pending]:
    """Who is stopped so that a job finds room; nobody where that is no use.

    Args:
        pending: the job.
        candidates: running jobs that may be stopped now.
        pool: of all devices.
        rules: of the site.

    Jobs of the lowest quality of service are stopped first, of those the ones on the fewest nodes,
    until the job fits. Then the one that decided goes first, the others by how many of the chosen
    nodes they hold, and it is tried again.
    """
    order = sorted(candidates, key=lambda each: _rank(each, rules))
    found, nodes = _until_it_fits(pending, order, pool)
    for _ in range(rules.reorders if found else 0):
        last, chosen = found[-1], nodes
        others = [each for each in order if each is not last]
        others.sort(key=lambda each: -len(_nodes(each) & chosen))
        order = [last, *others]
        again, nodes = _until_it_fits(pending, order, pool)
        found = again or found
    return [each for each in found if _nodes(each) & nodes]


def _rank(victim: Pending, rules: PreemptRules) -> tuple[float, float]:
    if rules.youngest_first:
        return (-victim.active.charged, 0.0)
    by_tier = rules.by is PreemptBy.TIER
    level = victim.partition.tier if by_tier else victim.qos.priority
    return (level, len(_nodes(victim)))


def _nodes(victim: Pending) -> set[int]:
    held = victim.active.held
    return {node for node, _ in held.places} if held else set()


def _until_it_fits(
    pending: Pending, order: Sequence[Pending], pool: NodePool
) -> tuple[list[Pending], set[int]]:
    """The first jobs of an order that must go, and the nodes on which the other then lies."""
    trial, gone = pool.copy(), list[Pending]()
    job = pending.active.job
    for victim in order:
        assert victim.active.held is not None, "who is stopped runs"
        trial.give(victim.active.held)
        gone.append(victim)
        if trial.has(job.devices, job.kinds, among=pending.nodes):
            held = trial.take(job.devices, job.kinds, among=pending.nodes)
            assert held is not None, "it was said to fit"
            return gone, {node for node, _ in held.places}
    return [], set()
