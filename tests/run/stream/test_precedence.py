"""Precedence: a worker that competes with many readers for a core keeps ahead of them."""

import os
import socket

from foretrain.run.stream.fork import fork


def told_by_child(tell):
    """What a forked process says of itself."""

    def run(peer: socket.socket) -> None:
        peer.send(str(tell()).encode())

    child = fork(run, close=[], dies_with_us=True)
    try:
        return int(child.peer.recv(64))
    finally:
        child.end()


def test_a_forked_process_has_a_session_of_its_own():
    assert told_by_child(lambda: os.getsid(0)) not in {os.getsid(0), 0}


def test_a_forked_process_is_never_nicer_than_the_one_that_forked_it():
    assert told_by_child(lambda: os.getpriority(os.PRIO_PROCESS, 0)) <= os.getpriority(
        os.PRIO_PROCESS, 0
    )


def test_a_process_that_may_not_be_preferred_runs_all_the_same(monkeypatch):
    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "setpriority", refuse)
    assert told_by_child(os.getpid) > 0
