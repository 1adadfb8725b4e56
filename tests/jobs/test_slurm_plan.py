"""A job's slot beside every moment tried in turn: none sooner would do."""

from dataclasses import dataclass
from math import inf

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.jobs.active import Active, HeldDevices
from foretrain.jobs.nodes import NodePool, packed
from foretrain.jobs.slurm_horizon import Horizon
from foretrain.jobs.slurm_plan import SlotMap
from foretrain.jobs.slurm_queue import Pending, Rulebook
from foretrain.measured.site import Closed, Partition, SiteRules

NODES, SIZE, NOW = 5, 4, 100.0
FLEET = Fleet(nodes=(Nodes(count=NODES, devices=SIZE),))
MOMENTS = st.integers(0, 40).map(lambda tens: 10.0 * tens)


def pending(devices, limit, *, exclusive=False, fleet=FLEET, **others):
    site = SiteRules(partitions=(Partition(name="p", exclusive=exclusive),))
    asked = job(0, devices=devices, estimate=limit, group="p", **others)
    return Pending(Active(asked, 0), Rulebook(site, fleet), submitted=0.0)


@dataclass(frozen=True)
class Cluster:
    """Who runs on which node with how many devices until when, slots, and closures."""

    running: list
    slots: list
    closed: list

    def horizon(self):
        """Of those who find room: `running` is left with these."""
        pool, horizon = NodePool(FLEET, packed), Horizon(FLEET)
        for rank, (node, devices, ends) in enumerate(tuple(self.running)):
            active = Active(job(rank), rank)
            active.held = HeldDevices("", devices, 1, ((node, devices),))
            if pool.again(active.held):
                horizon.hold(rank, active.held, ends)
            else:
                self.running.remove((node, devices, ends))
        horizon.see(pool.rooms)
        return horizon

    def free(self, moment, node):
        """Devices of a node at a time."""
        mine = [(max(ends, NOW + 1.0), held) for where, held, ends in self.running if where == node]
        return SIZE - sum(held for ends, held in mine if ends > moment)

    def will_do(self, start, limit, node, devices):
        """Whether a node has so many devices for so long."""
        kept = any(
            begin <= start + limit and end > start and node in nodes
            for begin, end, nodes in self.slots
        )
        shut = any(each.start < start + limit and each.end > start for each in self.closed)
        return self.free(start, node) >= devices and not kept and not shut

    def first(self, limit, whole, rest):
        """The first moment at which something ends and a job would lie."""
        tried = {NOW, NOW + 1.0, *(ends for _, _, ends in self.running)}
        tried |= {end for _, end, _ in self.slots} | {each.end for each in self.closed}
        for start in sorted(each for each in tried if each >= NOW):
            full = sum(self.will_do(start, limit, node, SIZE) for node in range(NODES))
            part = sum(self.will_do(start, limit, node, rest or SIZE) for node in range(NODES))
            if full >= whole and part >= whole + (rest > 0):
                return start
        return inf


@given(
    running=st.lists(
        st.tuples(st.integers(0, NODES - 1), st.integers(1, SIZE), MOMENTS), max_size=8
    ),
    slots=st.lists(
        st.tuples(MOMENTS, MOMENTS, st.sets(st.integers(0, NODES - 1), min_size=1)), max_size=5
    ),
    closed=st.lists(st.tuples(MOMENTS, MOMENTS), max_size=2),
    devices=st.integers(1, NODES * SIZE),
    limits=st.lists(st.integers(1, 30).map(lambda tens: 10.0 * tens), min_size=1, max_size=3),
    exclusive=st.booleans(),
)
@few(300, slow=2000)
def test_no_moment_before_its_slot_would_do_for_a_job(
    running, slots, closed, devices, limits, exclusive
):
    there = Cluster(
        running,
        [(start, start + long, nodes) for start, long, nodes in slots if long],
        [Closed(start=start, end=start + long) for start, long in closed if long],
    )
    plan = SlotMap(there.horizon(), there.closed, now=NOW)
    for each in there.slots:
        plan.block(*each)
    whole, rest = divmod(devices, SIZE)
    if exclusive and rest:
        whole, rest = whole + 1, 0
    for limit in limits:
        asked = pending(devices, limit, exclusive=exclusive)
        expected, found = there.first(limit, whole, rest), plan.earliest(asked)
        assert (found.start if found else inf) == expected
        nodes = found.nodes if found else ()
        assert len(nodes) == len(set(nodes)) == (whole + (rest > 0) if found else 0)
        assert all(there.will_do(expected, limit, node, rest or SIZE) for node in nodes)
        assert all(there.will_do(expected, limit, node, SIZE) for node in nodes[:whole])
        assert plan.may_start(asked) or expected > NOW


def test_a_job_is_planned_on_nodes_of_the_kinds_that_it_may_use():
    mixed = Fleet(nodes=(Nodes(count=2, devices=4, kind="a"), Nodes(count=3, devices=1, kind="b")))
    pool, horizon = NodePool(mixed, packed), Horizon(mixed)
    horizon.see(pool.rooms)
    plan = SlotMap(horizon, (), now=0.0)
    assert plan.earliest(pending(1, 10.0, fleet=mixed)).nodes == [0]
    assert plan.earliest(pending(2, 10.0, fleet=mixed, kinds=("b",))).nodes == [2, 3]
    assert plan.earliest(pending(4, 10.0, fleet=mixed, kinds=("b",))) is None
    plan.block(0.0, 50.0, (0, 1))
    assert plan.earliest(pending(1, 10.0, fleet=mixed)).nodes == [2]
    assert plan.earliest(pending(1, 10.0, fleet=mixed, kinds=("a",))).start == 50.0
