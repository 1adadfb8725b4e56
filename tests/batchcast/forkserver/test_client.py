"""Clean processes: one thread, nothing but what they were given, gone when nobody wants them."""

import json
import os
import resource
import signal
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.batchcast.at_work import wait_until
from tests.batchcast.forkserver import tasks

from batchcast.forkserver import client
from batchcast.forkserver.client import start


@contextmanager
def running(run, *descriptors, **asked):
    """A process, and what it tells line by line."""
    read, write = os.pipe()
    process = start(run, [write, *descriptors], **asked)
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            yield process, map(json.loads, pipe)
    finally:
        process.end()


def runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_process_has_one_thread_and_the_descriptors_that_it_was_given():
    busy = threading.Thread(target=time.sleep, args=(1,), daemon=True)
    busy.start()
    handle = os.open("/", os.O_RDONLY)
    os.set_inheritable(handle, True)
    with running(tasks.looks_around) as (process, told):
        found = next(told)
        assert found["pid"] == process.pid
    os.close(handle)
    assert found["threads"] == 1
    assert found["input"] == "/dev/null"
    assert found["descriptors"][:3] == [0, 1, 2]
    assert len(found["descriptors"]) == 3 + 1


def test_a_process_that_leads_is_in_a_session_of_its_own():
    with running(tasks.looks_around, leads=True) as (process, told):
        assert next(told)["session"] == process.pid
    with running(tasks.looks_around) as (process, told):
        assert next(told)["session"] not in {process.pid, os.getsid(0)}


def test_ends_are_told_as_they_were():
    for run, status in ((partial(tasks.ends, 7), 7), (tasks.kills_itself, -signal.SIGKILL)):
        process = start(run, [])
        assert process.wait(30)
        assert process.status == status
        process.close()


def test_a_signal_reaches_a_process_and_its_end_is_waited_for():
    with running(tasks.sleeps) as (process, told):
        assert next(told) == process.pid
        assert not process.wait(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30)
        assert process.status == -signal.SIGTERM


def test_whatever_a_leader_started_ends_with_it_and_what_comes_after_is_done(tmp_path):
    after = partial(tasks.leaves, str(tmp_path / "after"))
    with running(tasks.has_child, leads=True, after=after) as (process, told):
        pids = next(told)
        assert all(map(runs, pids))
        process.send_signal(signal.SIGKILL)
        assert process.wait(30)
        assert (tmp_path / "after").exists()
        wait_until(lambda: not any(map(runs, pids)), 1.0)


def test_a_process_that_nobody_wants_any_more_ends():
    with running(tasks.has_child, leads=True) as (process, told):
        pids = next(told)
        process.close()
        wait_until(lambda: not any(map(runs, pids)), 1.0)


def test_a_server_that_was_killed_is_replaced():
    with running(tasks.sleeps) as (process, told):
        next(told)
        pid, before = process.pid, client._servers.server.pid
        os.kill(before, signal.SIGKILL)
        assert process.wait(5)
        assert process.status is None
        os.kill(pid, signal.SIGKILL)
    with running(tasks.looks_around) as (_, told):
        assert next(told)["threads"] == 1
    assert client._servers.server.pid != before


def test_a_function_that_is_not_there_is_the_end_of_a_process():
    with running(partial(tasks.ends, "x")) as (process, told):
        assert list(told) == []
        assert process.wait(30)
        assert process.status == 1


def test_a_process_whose_limits_changed_has_another_server():
    with running(tasks.looks_around) as (_, told):
        next(told)
    before, (soft, hard) = client._servers.server.pid, resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    try:
        with running(tasks.looks_around) as (_, told):
            next(told)
        assert client._servers.server.pid != before
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
