"""Streams whose processes are threads of a test: quick, and seen by whoever watches lines.

Whatever belongs to processes themselves is tried with real ones: how they start, die, and draw.
"""

import os
import socket
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Thread

import pytest

from batchcast import feeder, stream, worker, worker_pool
from batchcast.errors import BatchcastError, as_text
from batchcast.forkserver.parcel import _ParcelUnpickler
from batchcast.messages import Kind, send
from batchcast.source import slot_within
from batchcast.zygote import Zygote, _pair

PATIENCE = 20.0
"""Seconds within which a thread ends that nobody needs any more."""


class Dies(BaseException):
    """Ends a thread as a process ends that is killed."""


class InThread:
    """Stands for a process."""

    pid = os.getpid()

    def __init__(self, run, *, after, failures):
        self._run, self._after, self._failures = run, after, failures
        self._thread = Thread(target=self._live, daemon=True)
        self._thread.start()

    def _live(self):
        try:
            self._run()
        except Dies:
            pass
        except BaseException as error:
            self._failures.append(error)
        finally:
            self._after()

    def wait(self):
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "a thread of the stream hangs"

    end = wait

    def close(self):
        """There is nothing to close."""


class Processes:
    """Starts threads where a stream starts processes."""

    def __init__(self):
        self.failures = []
        self._conductors = {}

    def start(self, serve, descriptors, *, leads, after):
        """Stands for the fork server: a conductor."""
        own = [os.dup(each) for each in descriptors]

        def end():
            self._forget(self._conductors.pop(own[2]))
            os.close(own[2])
            after()

        return InThread(partial(serve, own), after=end, failures=self.failures)

    def zygote(self, making, *, forget):
        self._conductors[making.lock] = forget.__self__
        return Loaded(making, self.failures)

    def _forget(self, conductor):
        """Close what the kernel closes when a process ends."""
        for peer in conductor._listening.peers:
            peer.close()
        for reader in conductor._frontend.readers.values():
            if reader.spill is not None:
                reader.spill.close()
        conductor.forget()


class Loaded(Zygote):
    """A zygote that does not fork."""

    def __init__(self, making, failures):
        self._making, self._failures = making, failures
        self.is_ready = self._forks = False
        self.peer, self._told = _pair()
        try:
            self._source()
        except BatchcastError as error:
            send(self._told, Kind.REFUSED, as_text(error))
        else:
            send(self._told, Kind.READY, first=1)

    def _source(self):
        """The source, anew for everybody as a process has it."""
        parts = self._making.origin._parts()
        loaded = _ParcelUnpickler(parts[1], parts[2:], None).load()()
        return replace(loaded, slot=slot_within(self._making.memory))

    def child(self):
        ours, theirs = _pair()
        source = self._source()
        run = worker.work if source.batches_of is None else feeder.feed
        after = partial(_hang_up, theirs)
        return ours, InThread(partial(run, theirs, source), after=after, failures=self._failures)

    def end(self):
        self.peer.close()
        self._told.close()
        self._making.origin.close()


def _hang_up(peer):
    with suppress(OSError):
        peer.shutdown(socket.SHUT_RDWR)
    peer.close()


@pytest.fixture
def in_processes():
    """Streams of this test are processes, though others of its file are not."""


@pytest.fixture
def in_threads(monkeypatch, request):
    """Streams of a test are threads of it; an error that would end one fails the test."""
    if "in_processes" in request.fixturenames:
        yield
        return
    processes = Processes()
    monkeypatch.setattr(stream, "start", processes.start)
    monkeypatch.setattr(worker_pool, "Zygote", processes.zygote)
    for module in (worker, feeder):  # these are settings of a whole process
        monkeypatch.setattr(module, "keep_memory", lambda: None)
    yield
    assert not processes.failures
