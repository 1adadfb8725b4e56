"""Nodes that fail in a full cluster, under every policy of the table: the books balance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job, trace
from validation.failing import PLACES, audited

from foretrain.cluster.fleet import Fleet, NodeFailures, Nodes
from foretrain.jobs.policies.table import POLICIES

ONE = Fleet(nodes=(Nodes(count=3, devices=4, rack=2),))
TWO = Fleet(nodes=(Nodes(count=2, devices=4, kind="a"), Nodes(count=2, devices=2, kind="b")))

ON_NODES = [name for name, about in POLICIES.items() if not about.fluid]


@pytest.mark.parametrize("policy", ON_NODES)
@few(4)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 900), st.integers(60, 1200), st.sampled_from([1, 2, 3, 4, 8])),
        min_size=8,
        max_size=16,
    ),
    place=st.sampled_from(sorted(PLACES)),
    seed=st.integers(0, 9),
)
def test_jobs_end_and_device_seconds_add_up_though_nodes_fail_at_full_load(
    policy, rows, place, seed
):
    if policy == "sia":  # gives powers of two and whole nodes only
        rows = [(arrival, work, 4 if asked == 3 else asked) for arrival, work, asked in rows]
    jobs = trace(
        job(number, arrival=float(arrival), work=float(work), devices=devices, restart=30.0)
        for number, (arrival, work, devices) in enumerate(rows)
    )
    failing = NodeFailures(between=600.0, repair=300.0, checkpoint=120.0)
    fleet = ONE if POLICIES[policy].one_kind or seed % 2 else TWO
    audited(jobs, fleet, policy, failing=failing, place=PLACES[place], seed=seed)
