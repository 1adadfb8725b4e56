"""Heaps of training processes: what a private loader's first batch teaches the C library."""

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import numpy as np
from foretrain.run.stream.heap import learn_size_of

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def step():
    activations = [np.ones(1 << 18) for _ in range(3)]

if int(sys.argv[1]):
    learn_size_of(int(sys.argv[1]))
step(); step()
before = faults()
for _ in range(20):
    step()
print(faults() - before)
"""


def faults_after(batch):
    """Page faults of twenty steps of 6 MiB after a batch of so many bytes."""
    told = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(batch)], capture_output=True, text=True, check=True
    )
    return int(told.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_a_process_that_knows_its_batches_keeps_the_memory_of_its_activations():
    assert faults_after(16 << 20) < 200 < faults_after(0)
    assert faults_after(1 << 40) < 200
