"""A whole job: its parts add up, more of a resource never hurts, and what is not known is said."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.small import cluster, gpt

from foretrain.cluster.cluster import Host, Storage
from foretrain.plan.plan import Plan, Sharding
from foretrain.plan.study import CheckpointMode, JobPlan, Writes
from foretrain.step.interruptions import (
    Interruption,
    batch_sizes,
    checkpoint,
    load_seconds,
    optimal,
    start,
    stretch,
    write_seconds,
)
from foretrain.step.job import NOTHING, RepeatedTimes, job_parts, upkeep, work
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.library.entries import build
from foretrain.workload.trainable import Trainable, adapted
from foretrain.workload.workload import BatchRamp, Data, Evaluation, Workload

MACHINE = cluster(
    nodes=2,
    node_devices=8,
    host=Host(cores=96, memory=1e12, memory_bandwidth=4e11, device_bandwidth=5e10),
    storage=Storage(read=5e9, write=2e9, total_read=5e10, total_write=2e10),
    mtbf=30 * 86400.0,
)
WORKLOAD = Workload(model=gpt(), global_batch=16, samples=1.6e6)
PLAN = Plan(data=16, sharding=Sharding.OPTIMIZER)
PACE = RepeatedTimes(steps=(1.5,), cold=0.0, forward=0.5)
JOBS = st.builds(
    JobPlan,
    checkpoint=st.one_of(st.sampled_from(Writes), st.floats(60.0, 7200.0)),
    mode=st.sampled_from(CheckpointMode),
)


def parts(job, *, machine=MACHINE, workload=WORKLOAD, pace=PACE, coefficients=DEFAULT):
    saved = checkpoint(workload, PLAN)
    beside = upkeep(saved, machine, plan=job, coefficients=coefficients)
    return job_parts(work(workload, pace), beside)


def with_storage(**changes):
    return replace(MACHINE, storage=replace(MACHINE.storage, **changes))


@given(job=JOBS)
def test_parts_add_up_to_the_job_and_goodput_is_a_share(job):
    found = parts(job)
    rest = found.checkpoints + found.lost + found.restarts + found.evaluation
    assert found.total == pytest.approx(found.start + found.steps + rest)
    assert 0.0 < found.steps / (found.total - found.start) <= 1.0


@few(50)
@given(job=JOBS, factor=st.floats(1.0, 100.0))
def test_more_storage_bandwidth_never_hurts(job, factor):
    storage = MACHINE.storage
    quick = with_storage(
        read=storage.read * factor,
        write=storage.write * factor,
        total_read=storage.total_read * factor,
        total_write=storage.total_write * factor,
    )
    assert parts(job, machine=quick).total <= parts(job).total * (1 + 1e-9)


@few(50)
@given(job=JOBS, factor=st.floats(1.0, 100.0))
def test_machines_that_fail_less_often_never_hurt(job, factor):
    sound = replace(MACHINE, mtbf=MACHINE.mtbf * factor)
    assert parts(job, machine=sound).total <= parts(job).total * (1 + 1e-9)


@given(factor=st.floats(0.1, 10.0))
def test_everything_quicker_by_a_factor_ends_sooner_by_it(factor):
    host = replace(MACHINE.host, device_bandwidth=MACHINE.host.device_bandwidth * factor)
    storage = Storage(
        read=5e9 * factor,
        write=2e9 * factor,
        total_read=5e10 * factor,
        total_write=2e10 * factor,
    )
    quick = replace(MACHINE, host=host, storage=storage, mtbf=MACHINE.mtbf / factor)
    times = {
        f"job.{name}": DEFAULT.value(f"job.{name}") / factor
        for name in ("node_start", "rank_start", "warm_up", "detection")
    }
    pace = RepeatedTimes(steps=(1.5 / factor,), cold=0.0, forward=0.5 / factor)
    job = JobPlan(mode=CheckpointMode.ASYNCHRONOUS)
    found = parts(job, machine=quick, pace=pace, coefficients=DEFAULT.changed(times))
    assert found.total == pytest.approx(parts(job).total / factor, rel=1e-9)


def test_job_that_nobody_asked_about_is_its_steps():
    found = job_parts(work(WORKLOAD, PACE), NOTHING)
    assert found.total == found.steps == 150_000.0
    assert found.start == found.lost == 0.0


def test_optimal_interval_beats_those_around_it():
    least = parts(JobPlan()).total
    beside = upkeep(checkpoint(WORKLOAD, PLAN), MACHINE, plan=JobPlan(), coefficients=DEFAULT)
    for factor in (0.25, 0.5, 2.0, 4.0):
        other = parts(JobPlan(checkpoint=beside.interval * factor)).total
        assert least <= other * 1.001


def test_asynchronous_writes_stand_still_for_less():
    blocking, asynchronous = (
        parts(JobPlan(checkpoint=1800.0, mode=mode)) for mode in CheckpointMode
    )
    assert asynchronous.checkpoints < blocking.checkpoints / 10
    assert asynchronous.total < blocking.total


def test_what_the_cluster_does_not_say_is_named_and_nothing_is_guessed():
    silent = replace(MACHINE, mtbf=None, storage=None, host=None)
    job = JobPlan(mode=CheckpointMode.ASYNCHRONOUS)
    beside = upkeep(checkpoint(WORKLOAD, PLAN), silent, plan=job, coefficients=DEFAULT)
    assert beside.interval is None
    keys = ("cluster.mtbf", "cluster.storage", "cluster.host")
    for remark, key in zip(beside.remarks, keys, strict=True):
        assert key in remark
    assert parts(job, machine=silent) is None


def test_job_without_checkpoints_needs_no_storage():
    job = JobPlan(checkpoint=Writes.NEVER)
    found = parts(job, machine=replace(MACHINE, storage=None))
    assert found.checkpoints == 0.0
    assert found.lost > 0.0


def test_training_without_an_end_has_no_answer_where_nothing_is_saved():
    endless = replace(WORKLOAD, samples=None)
    saved = checkpoint(endless, PLAN)
    for writes, known in ((Writes.NEVER, False), (Writes.OPTIMAL, True)):
        plan = JobPlan(checkpoint=writes)
        beside = upkeep(saved, MACHINE, plan=plan, coefficients=DEFAULT)
        assert (job_parts(work(endless, PACE), beside, whole=False) is not None) == known


def test_interval_shorter_than_storing_is_drawn_out_and_said_so():
    slow = with_storage(write=2e7, total_write=2e7)
    job = JobPlan(checkpoint=10.0, mode=CheckpointMode.ASYNCHRONOUS)
    beside = upkeep(checkpoint(WORKLOAD, PLAN), slow, plan=job, coefficients=DEFAULT)
    assert beside.interval > 10.0
    assert "storing one takes longer than the 10 s of job.checkpoint" in beside.remarks[0]


def test_start_and_restart_of_the_user_count():
    found = parts(JobPlan(start=7.0, restart=0.0))
    assert found.start == 7.0
    assert found.restarts == 0.0


def test_start_grows_with_nodes_and_ranks():
    small, large = (start(cluster(nodes=nodes, node_devices=8), DEFAULT) for nodes in (1, 64))
    assert small.nodes == pytest.approx(DEFAULT.job.node_start)
    assert large.nodes > small.nodes
    assert large.groups == pytest.approx(64 * small.groups)


def test_checkpoint_of_adam_in_bf16_has_fourteen_bytes_per_parameter():
    """Two of weights, four each of the master copy and both moments."""
    saved = checkpoint(WORKLOAD, PLAN)
    assert saved.bytes == pytest.approx(14 * gpt().parameters)


def test_checkpoint_of_adapters_is_theirs_alone_where_the_embedding_is_tied():
    tuned = adapted(build("gpt-2", sequence=64), Trainable(lora=4))
    assert tuned.tied > tuned.trainable > 0
    saved = checkpoint(replace(WORKLOAD, model=tuned), PLAN)
    assert saved.bytes == pytest.approx(14 * tuned.trainable)


def test_copies_that_replicas_share_are_read_once_and_written_by_all():
    alone = replace(PLAN, sharding=Sharding.NONE)
    storage = replace(MACHINE.storage, total_write=None, total_read=None)
    shared, whole = (checkpoint(WORKLOAD, plan) for plan in (PLAN, alone))
    assert write_seconds(whole, MACHINE, storage) == pytest.approx(whole.bytes / 2e9)
    assert write_seconds(shared, MACHINE, storage) == pytest.approx(whole.bytes / 4e9)
    assert load_seconds(whole, MACHINE, storage) == pytest.approx(16 * whole.bytes / 1e10)
    assert load_seconds(shared, MACHINE, storage) == pytest.approx(
        (16 * shared.weights + shared.state) / 1e10
    )


def test_evaluations_come_after_every_so_many_samples():
    """A million and six hundred thousand samples hold three evaluations of 32 batches."""
    workload = replace(WORKLOAD, evaluation=Evaluation(every=5e5, samples=512.0))
    assert work(workload, PACE).evaluation == pytest.approx(3 * 32 * 0.5)


def test_first_epoch_waits_for_the_disks():
    workload = replace(WORKLOAD, data=Data(samples=160_000.0))
    assert work(workload, replace(PACE, cold=0.2)).cold_input == pytest.approx(10_000 * 0.2)


def test_ramp_of_three_sizes_is_that_worked_by_hand():
    workload = replace(WORKLOAD, ramp=BatchRamp(start=4, increment=4, samples=2400.0))
    sizes = batch_sizes(workload)
    assert [(size.batch, size.steps) for size in sizes[:-1]] == [
        (4, 200.0),
        (8, 100.0),
        (12, 800 / 12),
    ]
    assert sizes[-1].batch == 16
    assert sum(size.batch * size.steps for size in sizes) == pytest.approx(workload.samples)


def test_training_shorter_than_its_ramp_never_has_the_full_batch():
    ramp = BatchRamp(start=8, increment=8, samples=1e9)
    sizes = batch_sizes(replace(WORKLOAD, ramp=ramp))
    assert [size.steps for size in sizes] == [WORKLOAD.samples / 8, 0.0]


def test_llama_3_trained_more_than_nine_tenths_of_its_time():
    """419 unexpected interruptions of 16,384 devices in 54 days. Source: grattafiori2024, 3.3.4."""
    rate = 419 / (54 * 86400)
    between = Interruption(rate=rate, pause=5.0, lag=60.0, restart=600.0)
    one = stretch(optimal(between), between)
    assert one.work / one.total > 0.9
