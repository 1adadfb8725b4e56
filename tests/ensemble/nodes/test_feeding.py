"""The whole way: nodes that decode together, a stream on each, two readers of every stream."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.examples import MORE
from tests.needs import needs
from tests.nodes_at_work import free_port, on_nodes

needs("torch")
from tests.ensemble.nodes import feeding  # noqa: E402

ROOT = Path(__file__).parents[3]


def test_readers_of_all_nodes_get_the_same_samples():
    (one, other), second = on_nodes(feeding.fed, 2, "all-shared")
    assert one == other
    assert [one, other] == second


@pytest.mark.skipif(MORE == 1, reason="imports torch four times; the slow profile does")
@pytest.mark.parametrize("mode", ["all-shared", "single-broadcast", "multi-broadcast"])
def test_readers_of_all_nodes_get_the_same_samples_under_torchrun(mode):
    port = free_port()
    nodes = [_torchrun(rank, port, mode) for rank in range(2)]
    (one, other), second = [node.communicate(timeout=100)[0].split() for node in nodes]
    assert one == other
    assert [one, other] == second


def _torchrun(rank, port, mode):
    where = ["--nnodes=2", f"--node-rank={rank}", "--nproc-per-node=1"]
    meeting = ["--master-addr=127.0.0.1", f"--master-port={port}"]
    script = [str(Path(feeding.__file__)), mode]
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *where, *meeting, *script],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
