"""Real processes, each connected to each: started once, they run one program after the other."""

import os
import subprocess
import sys
from itertools import combinations
from multiprocessing.connection import Connection
from pathlib import Path
from socket import socketpair

from tests.executor.rings import Answer

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds that a test waits for the answer of a process."""


class Processes:
    """Members 0 to n - 1. After an error all of them are started anew."""

    def __init__(self, count):
        self.count = count
        self._running = []

    def run(self, program, members, *arguments):
        """The answers of the members to `program(member, *arguments)`.

        Args:
            program: a function of a module, not of a test file.
            members: how many take part.
            arguments: the same for all.
        """
        if not self._running:
            self._running = _started(self.count)
        controls = [control for _, control in self._running[:members]]
        for control in controls:
            control.send((program, arguments))
        answers = [_answer(control) for control in controls]
        errors = [each.error for each in answers if each.error]
        if errors:
            self.close()
            raise AssertionError("\n".join(errors))
        return answers

    def close(self):
        for process, control in self._running:
            process.kill()
            process.wait()
            control.close()
        self._running = []


def _answer(control):
    try:
        return control.recv() if control.poll(PATIENCE) else Answer(error="no answer")
    except EOFError:
        return Answer(error="a member ended")


def _started(count):
    """Processes that inherit nothing but their ends of the connections."""
    ends = {rank: [] for rank in range(count)}
    sockets = []
    for first, second in combinations(range(count), 2):
        pair = socketpair()
        sockets += pair
        ends[first].append((second, pair[0].fileno()))
        ends[second].append((first, pair[1].fileno()))
    found = [_process(rank, ends[rank]) for rank in range(count)]
    for each in sockets:
        each.close()
    return found


def _process(rank, links):
    ours, theirs = socketpair()
    known = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    # Pictures are tiny: threads of a linear algebra library would only get in each other's way.
    alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.executor.member",
            str(rank),
            str(theirs.fileno()),
            *(f"{other}={fd}" for other, fd in links),
        ],
        cwd=ROOT,
        env=os.environ | alone | {"PYTHONPATH": os.pathsep.join(filter(None, known))},
        pass_fds=[theirs.fileno(), *(fd for _, fd in links)],
    )
    theirs.close()
    return process, Connection(ours.detach())
