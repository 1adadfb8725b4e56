"""Measured collectives in the words of the nouns."""

from dataclasses import replace

import pytest

from foretrain.evidence.predict import CATALOGUE
from foretrain.measured.coverage import NotCovered
from foretrain.measured.place import COLLECTIVES, exchange_case
from foretrain.measured.run import (
    CollectiveMessage,
    MeasuredRun,
    Place,
    Subject,
    TableKind,
    TrainedNetwork,
)
from foretrain.step.collective import PATTERNS

H100 = Place(
    device="H100 SXM 80GB",
    devices=16,
    node_devices=8,
    node_link="NVLink 4 / NVSwitch",
    fabric="EFA 3200Gbps per node (p5.48xlarge)",
)


def timed(collective="all_reduce", *, size=2.0**20, place=H100):
    return MeasuredRun(
        id="row-1",
        source_id="mine",
        table=TableKind.COLLECTIVES,
        subject=Subject.TRANSFER_TIME,
        measured=1e-3,
        network=TrainedNetwork(name=collective),
        place=place,
        message=CollectiveMessage(collective=collective, size=size),
    )


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_calls_of_the_benchmark_keep_their_bytes(collective):
    case = exchange_case(timed(collective), CATALOGUE)
    assert (case.collective, case.size) == (collective, 2.0**20)


def test_calls_that_are_covered_have_patterns():
    assert set(COLLECTIVES) == set(PATTERNS)


def test_instances_of_a_cloud_have_its_fabric():
    cluster = exchange_case(timed(), CATALOGUE).cluster
    assert cluster.name == "aws-p5-48xlarge"
    assert [level.members for level in cluster.levels] == [8, 2]
    assert not cluster.levels[1].link.ordered


def test_unknown_collectives_are_not_covered():
    with pytest.raises(NotCovered, match=r"'all_reduc' is not covered\. Did you mean 'all_reduce'"):
        exchange_case(timed("all_reduc"), CATALOGUE)


def test_blank_number_of_bytes_is_not_guessed():
    with pytest.raises(NotCovered, match="bytes of the message not stated"):
        exchange_case(timed(size=None), CATALOGUE)


def test_a_node_is_one_process_and_nodes_are_one_for_each_device_where_nobody_says_so():
    # nccl-tests, README: `-g 8` on one node, `mpirun ... -g 1` on several.
    said = timed(place=replace(H100, devices=8))
    node = exchange_case(said, CATALOGUE)
    assert node.together == 8
    assert "one process for all devices of the node" in node.assumed
    stated = replace(said, message=replace(said.message, together=1))
    case = exchange_case(stated, CATALOGUE)
    assert case.together == 1
    assert "one process for all devices of the node" not in case.assumed
    assert exchange_case(timed(), CATALOGUE).together == 1
