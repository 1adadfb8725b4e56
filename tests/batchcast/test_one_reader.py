"""What one reader cannot do ends that reader, with an error that says why; the others go on."""

import os
import resource
import signal
import socket
import threading
from contextlib import closing, contextmanager

import numpy as np
import pytest
from tests.batchcast.at_work import (
    Elsewhere,
    Numbers,
    alone,
    flat,
    ids_of,
    read_elsewhere,
    shared,
    wait_until,
)
from tests.needs import needs

from batchcast.acceptor import Acceptor
from batchcast.attachment import attach
from batchcast.errors import ArgumentError, SpillFailed, StreamError
from batchcast.messages import TO_READER, Kind, receive
from batchcast.spill import Spill

torch = needs("torch")
pytestmark = pytest.mark.usefixtures("in_threads")

SMALL = "36 KiB"
ALL = list(range(120))


@pytest.mark.parametrize("told", [False, True])
def test_a_reader_that_never_comes_is_waited_for_so_long_and_may_come_late(told):
    patience = 60 if told else 0.3
    with shared(Numbers(120), epochs=1, readers=3, patience=patience, memory=SMALL) as stream:
        if told:
            threading.Timer(0.2, stream.expect, [1]).start()
        with attach(stream.name, batch_size=10) as loader:
            assert sorted(flat(ids_of(loader))) == ALL
            assert stream.stats()["absent"] == (0 if told else 2)
            with attach(stream.name, batch_size=7) as late:
                assert sorted(flat(ids_of(late))) == ALL


def test_a_patience_below_nothing_is_refused():
    with (
        pytest.raises(ArgumentError, match="patience must be at least 0 s"),
        shared([1], patience=-1),
    ):
        pass


@pytest.mark.usefixtures("in_processes")
def test_a_disk_that_is_full_ends_the_reader_that_spills_and_no_other():
    with shared(Numbers(120), epochs=1, readers=2, memory=SMALL) as stream:
        slow = {"batch_size": 5, "policy": "spill", "model": "slow", "pause": 0.3, "lend": True}
        with Elsewhere(read_elsewhere, stream.name, **slow) as other:
            resource.prlimit(stream.pid, resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
            with attach(stream.name, batch_size=10) as loader:
                assert sorted(flat(ids_of(loader))) == ALL
            *got, error = other.rest()
    assert error.startswith("SpillFailed: What waits on disk in ")
    assert "File too large. The others go on." in error
    assert "policy='block'" in error
    assert len(flat(got)) < 120


def test_a_disk_that_takes_or_gives_a_little_at_a_time_keeps_all(monkeypatch):
    write, read = os.pwrite, os.pread
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: write(file, data[:3], at))
    monkeypatch.setattr(os, "pread", lambda file, size, at: read(file, min(size, 7), at))
    record = [np.arange(5), np.full((2, 3), 7.0)]
    with closing(Spill(1000)) as spill:
        spill.put(0, record)
        back = [np.zeros_like(each) for each in record]
        spill.take(back)
    assert all(map(np.array_equal, back, record))


@pytest.mark.parametrize("call", ["pwrite", "pread"])
def test_a_disk_that_fails_is_told(monkeypatch, call):
    def broken(*_):
        raise OSError(28, "No space left on device")

    record = [np.arange(5)]
    with closing(Spill(1000)) as spill:
        spill.put(0, record)
        monkeypatch.setattr(os, call, broken)
        with pytest.raises(SpillFailed, match="No space left on device"):
            spill.put(1, record) if call == "pwrite" else spill.take(record)


def test_a_folder_for_what_waits_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    with pytest.raises(SpillFailed, match="in /nowhere"):
        Spill(1000)


@contextmanager
def open_files(more):
    """This process may open so many more files, and no more."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = os.open(os.devnull, os.O_RDONLY)
    taken = [os.dup(spare) for _ in range(64)]  # fills the gaps below
    top = max(taken)
    resource.setrlimit(resource.RLIMIT_NOFILE, (top + 1, limits[1]))
    for each in taken[-more:] if more else ():
        os.close(each)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for each in [spare, *taken[: len(taken) - more]]:
            os.close(each)


@pytest.mark.usefixtures("in_processes")
def test_a_reader_that_may_open_no_more_files_is_told_and_the_stream_goes_on():
    with shared(Numbers(40), epochs=1) as stream:
        for more in range(3):
            with open_files(more), pytest.raises(StreamError, match="ulimit -n"):
                attach(stream.name, batch_size=5)
        with open_files(8), attach(stream.name, batch_size=5) as loader:
            assert sorted(flat(ids_of(loader))) == list(range(40))


def test_a_conductor_that_may_open_no_more_files_turns_readers_away(tmp_path):
    acceptor = Acceptor()
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) as listener:
        listener.bind(str(tmp_path / "stream"))
        listener.listen()
        for full in (True, False):
            with closing(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) as peer:
                peer.settimeout(5)
                peer.connect(str(tmp_path / "stream"))
                if full:
                    with open_files(0):
                        assert acceptor.accept(listener) is None
                    message = receive(peer, TO_READER)
                    assert message.kind is Kind.REFUSED
                    assert b"as many files open" in message.body
                else:
                    accepted = acceptor.accept(listener)
                    assert accepted is not None
                    accepted.close()


class Touchy:
    """A function that fails once, on a batch in the middle."""

    def __init__(self):
        self.failed = False

    def __call__(self, samples):
        numbers = [sample[1] for sample in samples]
        if not self.failed and 12 in numbers:
            self.failed = True
            raise ZeroDivisionError("one of these is too small")
        return numbers


@pytest.mark.parametrize("kind", ["collate", "private"])
def test_what_a_reader_s_own_function_raises_is_raised_and_the_loop_may_go_on(kind):
    touchy = Touchy()
    own = {"collate": touchy}
    if kind == "private":
        own = {"collate": list, "private": lambda sample: touchy([sample])[0]}
    with alone(Numbers(40), 5, epochs=2, shuffle=False, memory=SMALL, **own) as loader:
        loop, got = iter(loader), []
        with pytest.raises(ZeroDivisionError, match="too small"):
            got.extend(loop)
        got.extend(loop)  # as a DataLoader: the batch is lost, the next one comes
        assert flat(got) == [each for each in range(40) if not 10 <= each < 15]
        assert flat(loader) == list(range(40))


@pytest.mark.usefixtures("in_processes")
def test_a_reader_that_is_killed_with_batches_in_its_hands_holds_nobody_up():
    with shared(Numbers(120), epochs=1, readers=2, memory=SMALL) as stream:
        held = {"batch_size": 30, "model": "held", "pause": 60, "lend": True}
        with (
            Elsewhere(read_elsewhere, stream.name, **held) as other,
            attach(stream.name, batch_size=10) as loader,
        ):
            other.next()
            other.kill(signal.SIGKILL)
            assert sorted(flat(ids_of(loader))) == ALL
            wait_until(lambda: stream.stats()["fill"] == 0)
