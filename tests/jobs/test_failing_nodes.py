"""Nodes that fail in a full cluster, under every policy of the table: books balance, nobody hangs.

What is there and what jobs hold is looked at from outside after every decision, node by node.
"""

from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job, trace
from validation.failing import Auditor

from foretrain.cluster.mixed import Fleet, NodeFailures, Nodes
from foretrain.errors import InputError
from foretrain.jobs import run as runs
from foretrain.jobs.nodes import NodePool, packed
from foretrain.jobs.policies.policy import PolicyInputs
from foretrain.jobs.policies.table import POLICIES
from foretrain.jobs.run import run
from foretrain.jobs.simulation import Simulation
from foretrain.measured.queue_study import Conditions, Placement
from foretrain.throughput import Amdahl

ON_NODES = sorted(name for name, each in POLICIES.items() if not each.fluid)
EVERY = pytest.mark.parametrize("name", ON_NODES)
LOAD = 1.2


@st.composite
def clusters(draw, *, kinds):
    """Nodes of one size, or of two kinds."""
    count = draw(st.integers(2, 4))
    devices = draw(st.sampled_from([1, 2, 4]))
    rack = draw(st.sampled_from([0, 2]))
    if not kinds:
        return Fleet(nodes=(Nodes(count=count, devices=devices, rack=rack),))
    return Fleet(
        nodes=(
            Nodes(count=count, devices=devices, kind="a", rack=rack),
            Nodes(count=draw(st.integers(1, 3)), devices=2, kind="b"),
        )
    )


@st.composite
def full(draw, fleet):
    """Jobs of which more come than the devices can do; some must not be interrupted."""
    largest = max(each.count * each.devices for each in fleet.nodes)
    sizes = [count for count in (1, 2, 4, 8, 16) if count <= largest]
    rows = draw(
        st.lists(
            st.tuples(st.integers(1, 40), st.sampled_from(sizes), st.booleans(), st.booleans()),
            min_size=2,
            max_size=12,
        )
    )
    gap = fsum(work * size for work, size, *_ in rows) / len(rows) / (LOAD * fleet.devices)
    return trace(
        job(
            place, arrival=place * gap, work=float(work), devices=size, preemptible=not still,
            restart=0.5, curve=Amdahl(serial=0.1, most=size * 2, base=size) if wide else None,
        )
        for place, (work, size, still, wide) in enumerate(rows)
    )  # fmt: skip


def audited(jobs, fleet, name, conditions, seed):
    """A run, and what was seen of its nodes."""
    auditor = Auditor(None, fleet)

    def simulation(trace, pool, dispatcher, **others):
        auditor.dispatcher = dispatcher
        return Simulation(trace, pool, auditor, **others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "Simulation", simulation)
        random = np.random.default_rng(seed)
        return run(jobs, fleet, name, conditions=conditions, random=random), auditor


@EVERY
@few(12)
@given(data=st.data())
def test_jobs_and_device_seconds_are_conserved_though_nodes_fail(name, data):
    fleet = data.draw(clusters(kinds=not POLICIES[name].one_kind and data.draw(st.booleans())))
    jobs = data.draw(full(fleet))
    failing = NodeFailures(
        between=data.draw(st.sampled_from([20.0, 60.0])),
        repair=data.draw(st.sampled_from([0.0, 3.0, 30.0])),
        checkpoint=2.0,
    )
    conditions = Conditions(
        period=10.0,
        placement=data.draw(st.sampled_from(Placement)),
        admit=data.draw(st.sampled_from([0.0, 10.0])),
        failures=failing,
    )
    outcomes, seen = audited(jobs, fleet, name, conditions, data.draw(st.integers(0, 99)))
    assert np.isfinite(outcomes.ended).all()
    assert seen.busy == pytest.approx(fsum(outcomes.attained))
    assert seen.busy + seen.idle + seen.down == pytest.approx(fleet.devices * seen.last)
    for each, begun, ended in zip(jobs.jobs, outcomes.begun, outcomes.ended, strict=True):
        assert each.arrival <= begun <= ended


WHOLE = Fleet(nodes=(Nodes(count=4, devices=4),))


def with_a_node_down(jobs, name, *, back=None, period=0.0):
    """A run of which the first node is down from the beginning until it is repaired."""
    pool = NodePool(WHOLE, packed)
    pool.close(0)
    made = POLICIES[name].make(PolicyInputs(fleet=WHOLE, past=jobs, period=period))
    simulation = Simulation(jobs, pool, made)
    if back is not None:
        simulation.at(back, lambda: pool.open(0))
    return simulation.run()


@EVERY
def test_who_can_use_more_runs_on_the_nodes_that_are_there(name):
    wide = job(0, work=9.0, devices=4, curve=Amdahl(serial=0.1, most=16, base=4))
    assert list(with_a_node_down(trace([wide]), name, back=1e6).begun) == [0.0]


@EVERY
def test_a_job_that_needs_all_nodes_waits_for_a_repair_and_no_other_waits_for_it(name):
    jobs = trace([job(0, work=1.0, devices=16), job(1, arrival=0.5, work=9.0, devices=4)])
    outcomes = with_a_node_down(jobs, name, back=24.0, period=0.01)
    assert outcomes.begun[0] >= 24.0
    if name not in {"fifo", "slurm"}:  # Slurm's others pass at its next cycle of 30 s
        assert outcomes.ended[1] < 11.0


@EVERY
def test_a_job_for_which_too_many_nodes_fail_is_named(name):
    failing = NodeFailures(between=10.0, repair=1e4, checkpoint=1.0)
    with pytest.raises(InputError, match=r"would never end.*j000 \(16 devices\).*hardly ever"):
        run(
            trace([job(0, work=1e3, devices=16)]),
            WHOLE,
            name,
            conditions=Conditions(failures=failing),
            random=np.random.default_rng(1),
        )
