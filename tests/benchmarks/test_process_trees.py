"""What the harness of benchmarks/ensemble.py says about a tree of processes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

BODIES = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from ensemble_parts.tree import Failed, cost, forked, together

def burn():
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    return []

def orphan():
    if not os.fork():
        if not os.fork():
            burn()
        os._exit(0)
    os.wait()
    return []

def hidden():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if not os.fork():
        end = time.process_time() + 0.6
        while time.process_time() < end:
            pass
        os._exit(0)
    time.sleep(1.0)
    return []

def arena():
    descriptor = os.memfd_create("arena")
    os.posix_fallocate(descriptor, 0, 2**22)
    forked(lambda: time.sleep(0.3) or [])
    time.sleep(0.3)
    return [os.getpid()]

bodies = {
    "two": lambda: together([burn, burn]),
    "nested": lambda: together([lambda: together([burn])]),
    "orphan": orphan,
    "hidden": hidden,
    "arena": arena,
    "stuck": lambda: together([lambda: time.sleep(60)]),
    "failing": lambda: together([lambda: 1 / 0]),
}
cores = [min(os.sched_getaffinity(0))]
limit = 1.0 if sys.argv[2] == "stuck" else 20.0
try:
    found = cost(bodies[sys.argv[2]], cores=cores, limit=limit)
    print(found.cpu, found.wall, found.arena)
except Failed:
    print("refused")
"""


def told(name):
    command = [sys.executable, "-c", BODIES, str(BENCHMARKS), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.split()


@pytest.mark.parametrize(("name", "seconds"), [("two", 0.4), ("nested", 0.2), ("orphan", 0.2)])
def test_processor_seconds_of_all_descendants_are_counted(name, seconds):
    cpu, wall, _ = map(float, told(name))
    assert seconds <= cpu <= seconds + 0.15
    assert cpu <= wall + 0.1


@pytest.mark.parametrize("name", ["hidden", "stuck", "failing"])
def test_figures_that_cannot_be_trusted_are_refused(name):
    assert told(name) == ["refused"]


def test_a_memory_file_that_two_processes_hold_is_counted_once():
    assert json.loads(told("arena")[2]) == 2**22


def test_a_checksum_tells_lost_doubled_and_swapped_samples_from_other_orders():
    script = """
import sys; sys.path.insert(0, sys.argv[1])
import numpy as np
from ensemble_parts.given import checksum
every = np.arange(2000)
print(
    checksum(every) == checksum(np.random.default_rng(0).permutation(every)),
    checksum(every) == checksum(every[1:]),
    checksum(every) == checksum(np.append(every[1:], 1)),
    checksum(every) == checksum(np.append(every[:-1], 2000)),
)
"""
    command = [sys.executable, "-c", script, str(BENCHMARKS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "False", "False", "False"]
