"""What Linux counts of its processors."""

from pathlib import Path
from time import perf_counter, process_time

import pytest
from validation.parts.processors import busy_seconds, kernel

pytestmark = pytest.mark.skipif(not Path("/proc/stat").exists(), reason="only Linux counts so")


def test_what_this_process_computes_is_seen():
    before, began, until = busy_seconds(), process_time(), perf_counter() + 0.3
    while perf_counter() < until:
        pass
    # The kernel counts whole hundredths of a second, of each of what it tells.
    assert busy_seconds() - before > process_time() - began - 0.1


def test_a_kernel_is_told_without_who_built_it():
    assert "-" not in kernel()
    assert kernel().partition(".")[0].isdigit()
