"""Input: hosts that read and prepare, and when they are the ones that are waited for."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.small import cluster, gpt

from foretrain.cluster.cluster import Host, Storage
from foretrain.plan.plan import Plan
from foretrain.plan.table import table_of
from foretrain.step.ends import cached_share, input_columns, input_seconds, with_input
from foretrain.step.setting import setting
from foretrain.study.coefficients import DEFAULT
from foretrain.workload.workload import Data, Workload

HOST = Host(cores=32, memory=1e12, memory_bandwidth=4e11, device_bandwidth=5e10)
DISKS = Storage(read=1e9, write=1e9)
SHARED = replace(DISKS, total_read=3e9)
IMAGES = Data(samples=1e6, sample_bytes=1e5, prepare=1e-2)
PLANS = [Plan(data=data, pipeline=16 // data) for data in (1, 2, 4, 8, 16)]
FACTORS = st.floats(1.0, 100.0)


def priced(*, host=HOST, storage=DISKS, data=IMAGES, samples=None, nodes=4):
    machine = cluster(nodes=nodes, node_devices=4, host=host, storage=storage)
    workload = Workload(model=gpt(), global_batch=64, data=data, samples=samples)
    return setting(workload, machine, DEFAULT)


def seconds(plan=PLANS[-1], *, cached=0.0, **question):
    return float(input_columns(priced(**question), table_of([plan]), cached=cached).seconds[0])


def test_a_step_worked_by_hand():
    """Four nodes read 6.4 MB at 4 GB/s and prepare 64 samples on 128 cores."""
    found = input_columns(priced(), table_of([Plan(data=16)]), cached=0.0)
    assert found.read[0] == pytest.approx(6.4e6 / 4e9)
    assert found.prepare[0] == pytest.approx(64 * 1e-2 / 128)
    assert found.seconds[0] == found.prepare[0]


def test_nodes_share_what_the_storage_gives_all_of_them():
    still = replace(IMAGES, prepare=None)
    assert seconds(storage=SHARED, data=still) == pytest.approx(6.4e6 / 3e9)


def test_a_replica_over_many_hosts_is_fed_by_one():
    assert seconds(Plan(pipeline=16)) == pytest.approx(4 * seconds(Plan(data=16)))


@given(factor=FACTORS)
def test_more_of_a_resource_never_hurts(factor):
    better = replace(DISKS, read=DISKS.read * factor)
    cores = replace(HOST, cores=int(HOST.cores * factor))
    still = replace(IMAGES, prepare=None)
    assert seconds(storage=better, data=still) <= seconds(data=still)
    assert seconds(host=cores) <= seconds()


@given(factor=FACTORS)
def test_all_rates_times_a_factor_divide_the_time_by_it(factor):
    quick = seconds(
        storage=replace(DISKS, read=DISKS.read * factor),
        data=replace(IMAGES, prepare=IMAGES.prepare / factor),
    )
    assert quick == pytest.approx(seconds() / factor)


def test_row_of_a_table_equals_the_plan_priced_alone():
    question = priced(storage=SHARED)
    table = input_seconds(question, table_of(PLANS))
    alone = [float(input_seconds(question, table_of([plan]))[0]) for plan in PLANS]
    np.testing.assert_array_equal(table, alone)


def test_steps_longer_than_the_input_stay_as_they_are():
    plans = table_of(PLANS)
    steps = np.full(len(PLANS), 1e6)
    np.testing.assert_array_equal(with_input(priced(), plans, steps), steps)
    assert with_input(priced(data=None), plans, steps) is steps


@pytest.mark.parametrize(
    ("memory", "samples", "share"),
    [
        (1e12, None, 1.0),  # 100 GB fit into half of 1 TB
        (1e11, 2e6, 0.5),
        (1e12, 1e6, 0.0),  # no sample comes twice
    ],
)
def test_hosts_keep_as_much_of_the_data_set_as_fits(memory, samples, share):
    question = priced(host=replace(HOST, memory=memory), samples=samples)
    assert cached_share(question) == pytest.approx(share)


def test_what_is_in_memory_need_not_be_read():
    still = replace(IMAGES, prepare=None)
    assert seconds(data=still, cached=1.0) == 0.0
    assert seconds(data=still, cached=0.5) == pytest.approx(seconds(data=still) / 2)
