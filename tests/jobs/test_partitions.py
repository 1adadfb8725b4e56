"""Partitions: groups with quotas, each on nodes of its own, in one cluster."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job, trace

from foretrain.cluster.mixed import Fleet, NodeFailures, Nodes
from foretrain.errors import InputError
from foretrain.jobs.admission import Partitions, members
from foretrain.jobs.nodes import NodePool, packed
from foretrain.jobs.policies.table import POLICIES, named
from foretrain.jobs.run import run
from foretrain.jobs.simulation import Simulation
from foretrain.measured.job import Dependency
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.queue_study import Conditions, Placement

SHARED = Fleet(nodes=(Nodes(count=4, devices=4),))
EVERY = pytest.mark.parametrize("name", POLICIES)


def grouped(*rows):
    return trace(
        job(place, work=work, devices=devices, group=group)
        for place, (group, work, devices) in enumerate(rows)
    )


def test_a_group_keeps_to_its_nodes_and_leaves_the_others_theirs():
    jobs = grouped(("a", 10.0, 4), ("a", 10.0, 4), ("b", 5.0, 12), ("c", 5.0, 12))
    shared = replace(SHARED, quota={"a": 4})
    outcomes = run(jobs, shared, "fifo")
    assert list(outcomes.ended) == [10.0, 20.0, 5.0, 10.0]


@EVERY
@few(4, slow=100)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.integers(0, 20),
            st.integers(1, 9),
            st.sampled_from([1, 2, 4]),
        ),
        min_size=1,
        max_size=20,
    ),
    placement=st.sampled_from([Placement.ANY, Placement.PACKED]),
)
def test_groups_with_quotas_fare_as_if_each_were_a_cluster_by_itself(name, rows, placement):
    jobs = trace(
        job(place, group=group, arrival=float(arrival), work=float(work), devices=devices)
        for place, (group, arrival, work, devices) in enumerate(rows)
    )
    shared = replace(SHARED, quota={"a": 4, "b": 8})
    asked = Conditions(placement=Placement.ANY if named(name).fluid else placement)
    together = run(jobs, shared, name, conditions=asked, past=jobs)
    shares = shared.parts
    for group, part in members(jobs, shares).items():
        alone = run(part, shares[group], name, conditions=asked, past=jobs)
        ranks = [rank for rank, each in enumerate(jobs.jobs) if (each.group in "ab") == bool(group)]
        mine = [rank for rank in ranks if not group or jobs.jobs[rank].group == group]
        for column in ("begun", "ended", "stops"):
            found = [getattr(together, column)[rank] for rank in mine]
            assert found == pytest.approx(list(getattr(alone, column)))


def test_a_job_waits_for_one_of_another_quota():
    first, second = grouped(("a", 10.0, 4), ("b", 5.0, 12)).jobs
    waits = replace(second, after=(Dependency(first.name),))
    outcomes = run(trace([first, waits]), replace(SHARED, quota={"a": 4}), "fifo")
    assert list(outcomes.begun) == [0.0, 10.0]


@EVERY
def test_a_limit_counts_what_its_party_holds_in_every_partition(name):
    jobs = grouped(("a", 10.0, 4), ("b", 5.0, 12), ("b", 5.0, 4))
    asked = Conditions(limits=(PartyLimit(each=Party.USER, devices=12.0),))
    outcomes = run(jobs, replace(SHARED, quota={"a": 4}), name, conditions=asked)
    spans = [*zip(outcomes.begun, outcomes.ended, jobs.jobs, strict=True)]
    for moment in outcomes.begun:
        assert sum(job.devices for begun, ended, job in spans if begun <= moment < ended) <= 12


class Asks:
    """A policy that asks for an action on the arrival of each job."""

    def __init__(self, seen):
        self.seen = seen

    def arrive(self, active, simulation):
        def look():
            self.seen[active.rank] = simulation.pool

        simulation.at(50.0 - active.rank, look)

    def leave(self, active, simulation):
        """Nothing to note."""

    def decide(self, simulation):
        """Nobody starts."""


def test_what_a_policy_asked_for_happens_on_its_own_nodes():
    jobs, seen = grouped(("a", 1.0, 1), ("b", 1.0, 1), ("a", 1.0, 1)), {}
    pools = {group: NodePool(SHARED, packed) for group in "ab"}
    parted = Partitions({group: (Asks(seen), pool) for group, pool in pools.items()})
    with pytest.raises(InputError, match="would never end"):
        Simulation(jobs, pools["a"], parted, homes=parted).run()
    assert [seen[rank] for rank in range(3)] == [pools["a"], pools["b"], pools["a"]]


def test_nodes_of_every_quota_fail():
    jobs = grouped(*[("a", 500.0, 4)] * 5, *[("b", 500.0, 12)] * 5)
    failing = NodeFailures(between=1_000.0, repair=10.0, checkpoint=50.0)
    shared = replace(SHARED, quota={"a": 4})
    asked = Conditions(failures=failing)
    outcomes = run(jobs, shared, "fifo", conditions=asked, random=np.random.default_rng(3))
    assert min(sum(outcomes.stops[:5]), sum(outcomes.stops[5:])) > 0


def test_a_job_larger_than_the_part_of_its_group_is_named():
    jobs = grouped(("a", 1.0, 8), ("b", 1.0, 8))
    with pytest.raises(InputError, match=r"by hand, a: 1 jobs ask .* has \(4\): j000 \(8\)"):
        run(jobs, replace(SHARED, quota={"a": 4}), "fifo-efficient")


@pytest.mark.parametrize(
    ("quota", "message"),
    [({"a": 3}, "whole nodes"), ({"a": 20}, "more than"), ({"a": 16}, "leave")],
)
def test_quotas_that_cannot_be_kept_are_refused(quota, message):
    jobs = grouped(("a", 1.0, 1), ("b", 1.0, 1))
    with pytest.raises(InputError, match=message):
        run(jobs, replace(SHARED, quota=quota), "fifo")
