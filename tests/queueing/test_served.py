"""Jobs with servers: knees, the best number of nodes, and what is said of them."""

import re
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.cluster.cluster import Storage
from foretrain.distributions import Constant
from foretrain.errors import InputError
from foretrain.plan.servers import (
    ASYNCHRONOUS,
    Access,
    Aggregation,
    Servers,
    StartUp,
    Training,
    WholeJob,
    Worker,
)
from foretrain.queueing.scaling_findings import (
    ScalingCause,
    scaling_findings,
    what_if_findings,
    what_ifs,
)
from foretrain.queueing.served import (
    best_count,
    own_seconds,
    served_time,
    server_demand,
    server_knee,
    start_knee,
    step_bound,
)
from foretrain.workload.workload import Data

TRAINING = Training(
    worker=Worker(compute=Constant(0.2), samples=10, pulled=1e8, pushed=2e8, link=1e9),
    servers=Servers(link=2e9, latency=0.001, update=0.03),
    updates=ASYNCHRONOUS,
)
JOB = WholeJob(
    start=StartUp(storage=Storage(read=1e9, write=1e9, total_read=1e9), launch=1000.0),
    data=Data(samples=100_000, sample_bytes=2e5),
)


def test_a_step_of_one_worker_as_worked_by_hand():
    assert own_seconds(TRAINING) == pytest.approx(0.2 + 0.002 + 0.3 + 0.03, rel=1e-12)
    three = replace(TRAINING, servers=replace(TRAINING.servers, count=3))
    assert own_seconds(three) == pytest.approx(0.2 + 0.002 + 0.3 + 0.01, rel=1e-12)
    assert server_demand(TRAINING) == pytest.approx(2e8 / 2e9, rel=1e-12)
    assert server_knee(TRAINING) == pytest.approx(5.32, rel=1e-12)


def test_a_slow_update_is_what_a_server_limits_by():
    slow = replace(TRAINING, servers=replace(TRAINING.servers, update=0.4, cores=2))
    assert server_demand(slow) == 0.2


@given(count=st.integers(1, 64))
def test_more_servers_move_the_knee_in_proportion_but_for_what_a_worker_waits_less(count):
    more = replace(TRAINING, servers=replace(TRAINING.servers, count=count))
    assert server_knee(more) == pytest.approx(
        server_knee(TRAINING) * count * own_seconds(more) / own_seconds(TRAINING)
    )


@given(nodes=st.integers(1, 100))
def test_no_node_makes_a_step_quicker_and_from_the_knee_on_each_makes_it_longer(nodes):
    seconds = [float(step_bound(JOB, TRAINING, nodes=float(n)).total) for n in (nodes, nodes + 1)]
    assert seconds[0] <= seconds[1]
    assert (seconds[1] > own_seconds(TRAINING)) == (nodes + 1 > server_knee(TRAINING))


def test_the_best_count_is_where_start_up_and_training_change_alike():
    ample = replace(TRAINING, servers=replace(TRAINING.servers, count=99))
    training = 100_000 / 10 * own_seconds(ample)
    per_node = 100_000 * 2e5 / 1e9
    lowest = sqrt(training / per_node)
    best = best_count(JOB, ample, most=64)
    assert abs(best - lowest) < 1
    assert start_knee(JOB, ample, most=64) == best
    assert start_knee(JOB, TRAINING, most=64) == pytest.approx(lowest, abs=1.5)


def test_a_job_takes_what_its_parts_take():
    time = served_time(JOB, TRAINING, nodes=2)
    assert time.total == time.start.total + time.steps
    assert time.steps == pytest.approx(100_000 / 20 * own_seconds(TRAINING))


def test_a_given_step_takes_the_place_of_the_bound():
    time = served_time(
        JOB, TRAINING, nodes=4, step=lambda training, nodes: nodes * training.servers.count
    )
    assert time.steps == pytest.approx(10_000.0)


def test_a_given_step_decides_what_is_found_and_what_would_help():
    def step(training, nodes):
        return np.where(nodes > 2, 100.0, 1.0)

    (best,) = (
        finding.values["nodes"]
        for finding in scaling_findings(JOB, TRAINING, most=64, step=step)
        if finding.kind is ScalingCause.BEST_COUNT
    )
    assert best == 2
    assert {f.values["nodes"] for f in what_if_findings(JOB, TRAINING, most=64, step=step)} == {2}


def test_cores_and_the_file_system_may_keep_a_step_waiting():
    data = Data(samples=100_000, sample_bytes=2e7, prepare=0.8)
    job = replace(JOB, data=data, cores=8, held=0.25)
    found = step_bound(job, TRAINING, nodes=5.0)
    assert found.input == pytest.approx(max(10 * 0.8 / 8, 10 * 2e7 * 0.75 / (1e9 / 5)))
    assert found.total == found.input
    assert step_bound(replace(job, held=1.0, cores=None), TRAINING, nodes=5.0).input == 0


def test_findings_say_what_limits():
    found = {finding.kind: finding for finding in scaling_findings(JOB, TRAINING, most=64)}
    assert set(found) == {ScalingCause.START_UP, ScalingCause.BEST_COUNT, ScalingCause.SERVER}
    start, best = found[ScalingCause.START_UP], found[ScalingCause.BEST_COUNT]
    assert start.subject == "launch"
    assert start.values["share"] > 0.5
    assert best.values["nodes"] == best_count(JOB, TRAINING, most=64)
    assert best.values["added"] > best.values["saved"]
    assert found[ScalingCause.SERVER].sentence == (
        "Servers are the bottleneck beyond 5.3 nodes: 1 server serves a step of a worker every"
        " 0.1 s, however many workers there are."
    )


def test_findings_go_where_their_causes_go():
    mended = replace(JOB, start=replace(JOB.start, access=Access.SHARDED, launch=0.0))
    more = replace(TRAINING, servers=replace(TRAINING.servers, count=99))
    assert not scaling_findings(mended, more, most=64)


def test_what_ifs_change_one_thing_each():
    assert set(what_ifs(JOB, TRAINING)) == {
        "shard the input",
        "stagger the reading",
        "broadcast the input",
        "double the servers",
        "send gradients of one bit (other weights)",
    }
    for job, training in what_ifs(JOB, TRAINING).values():
        assert (job == JOB) != (training == TRAINING)


def test_what_ifs_come_by_what_they_gain():
    found = what_if_findings(JOB, TRAINING, most=64)
    gains = [finding.values["gain"] for finding in found]
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 0.1
    assert all(finding.kind is ScalingCause.WHAT_IF for finding in found)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"epochs": 0}, "WholeJob.epochs must be above 0, got 0"),
        ({"cores": 0}, "WholeJob.cores must be at least 1, got 0"),
        ({"held": 1.5}, "WholeJob.held must lie from 0 to 1, got 1.5"),
    ],
)
def test_a_job_that_cannot_be_is_refused(change, told):
    with pytest.raises(InputError, match=re.escape(told)):
        replace(JOB, **change)


@pytest.mark.parametrize(
    "training",
    [
        Training(worker=TRAINING.worker, aggregation=Aggregation.ALL_REDUCE),
        replace(TRAINING, servers=replace(TRAINING.servers, colocated=True)),
    ],
)
def test_a_training_without_servers_of_its_own_is_refused(training):
    with pytest.raises(InputError, match="servers on nodes of their own"):
        served_time(JOB, training, nodes=2.0)


def test_a_column_of_nodes_takes_what_each_number_takes_alone():
    stale = replace(TRAINING, waste=0.01)
    for access in Access:
        job = replace(JOB, start=replace(JOB.start, access=access, local=1e9))
        column = served_time(job, stale, nodes=np.arange(1.0, 30.0)).total
        alone = [float(served_time(job, stale, nodes=float(n)).total) for n in range(1, 30)]
        np.testing.assert_array_equal(column, alone)


def test_a_broadcast_goes_over_the_links_of_the_workers_unless_it_has_its_own():
    passed = replace(JOB, start=replace(JOB.start, access=Access.BROADCAST))
    own = replace(passed, start=replace(passed.start, link=TRAINING.worker.link))
    slow = replace(passed, start=replace(passed.start, link=TRAINING.worker.link / 4))
    times = [served_time(job, TRAINING, nodes=4.0).start.reading for job in (passed, own, slow)]
    assert times[0] == times[1] == times[2] / 4


def test_a_number_of_nodes_that_cannot_be_is_refused():
    with pytest.raises(InputError, match="nodes must be at least 1, got 0"):
        served_time(JOB, TRAINING, nodes=0)
    with pytest.raises(InputError, match="most must be at least 1 node, got 0"):
        best_count(JOB, TRAINING, most=0)
