"""Processes that are forked: each ends where it should, whatever becomes of what it prints."""

import subprocess
import sys
from pathlib import Path

SOURCES = Path(__file__).parents[3] / "src"

FAILS = """
import os
from batchcast.forkserver.fork import fork

def fails():
    raise RuntimeError("a reason")

os.dup2(os.open("/dev/full", os.O_WRONLY), 2)
pid = fork(fails, forget=lambda: None, dies_with_us=0)
_, status = os.waitpid(pid, 0)
print(os.getpid(), os.waitstatus_to_exitcode(status))
"""


def test_a_process_that_fails_while_the_disk_is_full_ends_and_does_not_go_on_as_its_parent():
    done = subprocess.run(
        [sys.executable, "-c", FAILS],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(SOURCES)},
    )
    (told,) = done.stdout.splitlines()
    assert told.split()[1] == "1"
