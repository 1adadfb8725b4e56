"""Pipelines across emulated nodes: recorded runs are predicted; the test bed leaves nothing."""

import json
import subprocess

import pytest
from validation.testbed.lab import Lab, LabError, missing

from validation import nodes

HELLO = "import json, os, sys; print(json.dumps([os.environ['RANK'], json.load(sys.stdin)]))"


@pytest.fixture(scope="module")
def found():
    return nodes.rows(json.loads(nodes.RECORD.read_text("utf-8")))


@pytest.fixture
def lab():
    if reason := missing():
        pytest.skip(reason)
    return Lab(nodes=2, rate=1e6)


@pytest.mark.xfail(strict=True, reason="four broadcasts at once miss, decoded in 0.3 ms a sample")
def test_every_rate_is_predicted_within_what_it_must_be(found):
    assert nodes.worst(found) <= nodes.MUST


def test_every_rate_but_that_of_four_quick_broadcasts_is_predicted_within_what_it_must_be(found):
    quick = "4 nodes, multi-broadcast, 4 decode, queues, 0.3 ms a sample"
    assert nodes.worst([row for row in found if row.name != quick]) <= nodes.MUST


def test_few_cases_were_disturbed(found):
    assert sum(row.spread > nodes.CALM for row in found) <= len(found) / 10


@pytest.mark.parametrize("mode", ["all-shared", "single-broadcast", "multi-broadcast"])
@pytest.mark.parametrize("count", nodes.NODES)
def test_every_pipeline_was_measured_on_so_many_nodes(found, mode, count):
    assert any(row.name.startswith(f"{count} nodes, {mode}") for row in found)


def test_real_decoding_was_measured_too(found):
    assert any("really decoded" in row.name for row in found)


def test_page_shows_the_recorded_table(found):
    page = nodes.PAGE.read_text("utf-8")
    assert nodes.shown_in(page, found) == page


def test_nodes_of_the_lab_run_a_program_each(lab):
    with lab:
        assert lab.run(["-c", HELLO], "x", timeout=60) == [["0", "x"], ["1", "x"]]


def test_nothing_of_the_lab_is_left_even_when_a_node_fails(lab):
    with pytest.raises(LabError, match="node 0 ended with 3"), lab:
        lab.run(["-c", "import sys; sys.exit(3)"], None, timeout=60)
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    assert f"{lab.prefix}-" not in listed.stdout
