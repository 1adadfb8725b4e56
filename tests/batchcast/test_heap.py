"""Heaps of processes that train and that decode: what the C library is taught."""

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the C library is not glibc"
)

COUNT = """
import resource, sys, threading
import numpy as np
from batchcast.heap import keep_memory, learn_size_of

def faults_of(step):
    step(); step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        step()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""

TRAINING = """
if int(sys.argv[1]):
    learn_size_of(int(sys.argv[1]))
faults_of(lambda: [np.ones(1 << 18) for _ in range(3)])
"""

DECODING = """
if int(sys.argv[1]):
    keep_memory()
in_thread = threading.Thread(target=faults_of, args=(lambda: [np.ones(1 << 21) for _ in range(4)],))
in_thread.start()
in_thread.join()
"""


def faults(script, argument):
    """Page faults of twenty steps of 6 MiB, or of 64."""
    told = subprocess.run(
        [sys.executable, "-c", COUNT + script, str(argument)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(told.stdout)


def test_a_process_that_knows_its_batches_keeps_the_memory_of_its_activations():
    assert faults(TRAINING, 16 << 20) < 200 < faults(TRAINING, 0)
    assert faults(TRAINING, 1 << 40) < 200


def test_a_thread_of_a_process_that_decodes_keeps_its_memory_too():
    assert faults(DECODING, 1) < 200 < faults(DECODING, 0)
