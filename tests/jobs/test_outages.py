"""Capacity over time: nodes that are drained, fail together, are spot nodes or come later."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job, rigid_trace, trace

from foretrain.cluster.mixed import Fleet, NodeFailures, Nodes, Outage, fleet
from foretrain.errors import InputError
from foretrain.jobs.policies.table import POLICIES
from foretrain.jobs.run import run
from foretrain.measured.queue_study import Conditions, Placement

FOUR = Fleet(nodes=(Nodes(count=4, devices=2),))
ON_NODES = sorted(name for name, each in POLICIES.items() if not each.fluid)


def under(jobs, *outages, policy="fifo", nodes=FOUR):
    return run(jobs, nodes, policy, conditions=Conditions(outages=outages))


def test_maintenance_with_notice_drains_and_what_still_runs_begins_anew():
    outage = Outage(nodes=((0, 3),), start=20.0, end=30.0, notice=10.0)
    outcomes = under(rigid_trace((0, 15, 2), (0, 50, 2), (12, 5, 2)), outage)
    assert list(outcomes.ended) == [15.0, 80.0, 35.0]
    assert list(outcomes.stops) == [0, 1, 0]


def test_drained_nodes_let_their_jobs_end_and_take_no_other():
    outage = Outage(nodes=((0, 2),), start=5.0, end=100.0, lets_end=True)
    outcomes = under(rigid_trace((0, 50, 2), (6, 5, 8), (0, 1, 2), (7, 5, 2)), outage, policy="sjf")
    assert list(outcomes.ended) == [50.0, 1.0, 105.0, 12.0]


def test_a_switch_takes_several_nodes_and_jobs_go_on_from_their_checkpoints():
    outage = Outage(nodes=((0, 1),), start=25.0, end=40.0, checkpoint=10.0)
    outcomes = under(rigid_trace((0, 60, 8)), outage)
    assert list(outcomes.ended) == [80.0]


def test_who_can_save_at_the_notice_loses_nothing():
    outage = Outage(nodes=((0, 3),), start=25.0, end=40.0, notice=2.0, checkpoint=0.0)
    assert list(under(rigid_trace((0, 60, 8)), outage).ended) == [75.0]


def test_nodes_that_are_bought_later_are_out_until_then():
    outage = Outage(nodes=((2, 3),), start=0.0, end=50.0)
    assert list(under(rigid_trace((0, 10, 8), (0, 10, 4)), outage, policy="sjf").begun) == [50, 0]


def test_what_two_outages_share_is_there_when_both_are_over():
    first = Outage(nodes=((0, 3),), start=0.0, end=20.0)
    second = Outage(nodes=((3, 3),), start=10.0, end=30.0)
    assert list(under(rigid_trace((0, 10, 8)), first, second).begun) == [30.0]


class Looking:
    """Notes whether anybody holds a node that is out."""

    def __init__(self, outages):
        self.outages, self.spans, self.since = outages, [], {}

    def come(self, now, active):
        pass

    def end(self, now, active):
        pass

    def hold(self, now, active):
        self.since[active.rank] = now

    def give(self, now, active):
        nodes = {node for node, _ in active.held.places}
        self.spans.append((self.since.pop(active.rank), now, nodes))

    def wrong(self):
        return [
            (span, outage)
            for span in self.spans
            for outage in self.outages
            for first, last in outage.nodes
            if span[2] & {*range(first, last + 1)}
            if span[0] < min(span[1], outage.end) and outage.start < span[1]
            if max(span[0], outage.start) < min(span[1], outage.end)
        ]


OUTAGES = st.lists(
    st.builds(
        lambda first, more, start, lasts, notice, checkpoint: Outage(
            nodes=((first, first + more),),
            start=float(start),
            end=float(start + lasts),
            notice=float(notice),
            checkpoint=checkpoint,
        ),
        st.integers(0, 3), st.integers(0, 2), st.integers(0, 30), st.integers(1, 30),
        st.integers(0, 9), st.sampled_from([0.0, 3.0, inf]),
    ),
    min_size=1,
    max_size=3,
)  # fmt: skip
ROWS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 20), st.sampled_from([1, 2, 4]), st.booleans()),
    min_size=1,
    max_size=10,
)


@pytest.mark.parametrize("name", ON_NODES)
@few(8)
@given(rows=ROWS, outages=OUTAGES, place=st.sampled_from([Placement.PACKED, Placement.SPREAD]))
def test_nobody_is_on_a_node_that_is_out_and_every_job_ends(name, rows, outages, place):
    jobs = trace(
        job(at, arrival=float(arrival), work=float(work), devices=devices, preemptible=not still)
        for at, (arrival, work, devices, still) in enumerate(rows)
    )
    looking = Looking(outages)
    asked = Conditions(outages=tuple(outages), placement=place, period=5.0)
    outcomes = run(jobs, FOUR, name, conditions=asked, watch=looking)
    assert all(ended < inf for ended in outcomes.ended)
    assert not looking.wrong()


def test_jobs_that_need_nodes_which_never_come_back_are_named():
    with pytest.raises(InputError, match=r"would never end.* j000 \(8 devices\)"):
        under(rigid_trace((1, 10, 8)), Outage(nodes=((0, 0),), start=0.0))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start": 5.0, "end": 5.0}, "before its end"),
        ({"notice": -1.0}, "notice and checkpoint"),
        ({"nodes": ()}, "ranges of nodes"),
        ({"nodes": ((3, 1),)}, "ranges of nodes"),
    ],
)
def test_outages_that_cannot_be_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        Outage(**{"nodes": ((0, 1),), "start": 1.0, "end": 2.0, **changes})


def test_outages_stand_beside_neither_failures_nor_quotas_nor_fluids():
    outage = Outage(nodes=((0, 0),), start=0.0, end=1.0)
    with pytest.raises(InputError, match="exclude each other"):
        Conditions(
            outages=(outage,), failures=NodeFailures(between=1.0, repair=1.0, checkpoint=1.0)
        )
    with pytest.raises(InputError, match="leave the quotas out"):
        under(rigid_trace((0, 1, 1)), outage, nodes=Fleet(nodes=FOUR.nodes, quota={"a": 2}))
    with pytest.raises(InputError, match="fluid"):
        run(rigid_trace((0, 1, 1)), fleet(2), "hesrpt", conditions=Conditions(outages=(outage,)))
