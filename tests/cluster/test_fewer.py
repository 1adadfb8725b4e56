"""Fewer devices of a cluster: whole nodes, or an even part of one."""

from dataclasses import replace

import pytest

from foretrain.cluster.offer import even, fewer
from foretrain.errors import InputError
from foretrain.study.study import study_from

CLUSTER = study_from(
    {
        "workload": {"model": "gpt-3-1.3b", "global_batch": 64, "sequence": 2048},
        "cluster": {"name": "dgx-a100", "nodes": 3},
    },
    "test",
).cluster


@pytest.mark.parametrize("devices", [1, 2, 4, 8, 16, 24])
def test_a_part_has_as_many_devices_as_were_asked_for(devices):
    assert fewer(CLUSTER, devices).devices == devices


def test_a_part_of_a_node_lies_on_one_node():
    assert fewer(CLUSTER, 4).nodes == 1


def test_all_devices_are_the_cluster_itself():
    assert fewer(CLUSTER, 24) == CLUSTER


def test_devices_that_fill_no_whole_nodes_are_refused():
    with pytest.raises(InputError, match="neither whole nodes of 8"):
        fewer(CLUSTER, 12)


def test_even_counts_double_and_end_with_all():
    assert even(CLUSTER) == (1, 2, 4, 8, 16, 24)


@pytest.mark.parametrize("devices", [1, 4, 8, 16])
def test_a_part_draws_its_share_of_the_power(devices):
    resting = replace(CLUSTER, power=replace(CLUSTER.power, idle=0.5 * CLUSTER.node_power))
    some = fewer(resting, devices)
    assert some.draw == pytest.approx(resting.draw * devices / 24)
    assert some.nodes * some.waiting == pytest.approx(3 * resting.waiting * devices / 24)
