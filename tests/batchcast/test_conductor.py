"""Faults: whoever dies or stops, the others hear of it at once and nobody loses a sample."""

import os
import signal
import time
from functools import partial
from itertools import islice
from pathlib import Path

import pytest
from tests.batchcast.at_work import (
    Elsewhere,
    Numbers,
    below,
    files_of,
    flat,
    ids_of,
    loader_of,
    read_elsewhere,
    shared,
    wait_until,
    workers_of,
)
from tests.batchcast.names import new_name
from tests.needs import needs

from batchcast.attachment import attach
from batchcast.errors import ProducerLost, StreamNotFound
from batchcast.stream import share

torch = needs("torch")

ALL = list(range(120))
SMALL = "34 KiB"
SOON = 1.0
"""Seconds within which a death must be noticed."""


def slowly(index):
    """A sample that takes a moment."""
    time.sleep(0.002)
    return torch.full((3,), float(index)), index


def test_the_others_go_on_when_a_reader_is_killed():
    with shared(Numbers(120), epochs=1, readers=2, memory=SMALL) as stream:
        with (
            Elsewhere(read_elsewhere, stream.name, batch_size=5, pause=60) as stuck,
            attach(stream.name, batch_size=10) as loader,
        ):
            stuck.next()
            stuck.kill()
            began = time.monotonic()
            assert sorted(flat(ids_of(loader))) == ALL
        assert time.monotonic() - began < SOON
        assert stream.wait(timeout=5)


@pytest.mark.parametrize("source", [Numbers(120, slowly), loader_of(120, 10)])
def test_samples_of_a_worker_or_feeder_that_is_killed_are_prepared_by_another(source):
    with (
        shared(source, epochs=3, memory=SMALL, seed=3) as stream,
        attach(stream.name, batch_size=10) as loader,
    ):
        (child,) = workers_of(stream)
        os.kill(child, signal.SIGKILL)
        wait_until(lambda: stream.stats()["restarts"] == 1, SOON)
        killed = [flat(ids_of(loader)) for _ in range(3)]
    with (
        shared(source, epochs=3, memory=SMALL, seed=3) as stream,
        attach(stream.name, batch_size=7) as loader,
    ):
        assert [flat(ids_of(loader)) for _ in range(3)] == killed
    assert all(sorted(epoch) == ALL for epoch in killed)


def hangs_once(hung, index):
    """A sample; the first who asks for the seventh never gets it."""
    if index == 7 and not hung.exists():
        hung.touch()
        time.sleep(600)
    return torch.full((3,), float(index)), index


@pytest.mark.parametrize("source", [Numbers(120), loader_of(120, 10)])
def test_a_reader_that_comes_when_all_have_left_and_the_workers_have_died_gets_all(source):
    with shared(source, memory=SMALL) as stream:
        with attach(stream.name, batch_size=10) as loader:
            assert sorted(flat(ids_of(loader))) == ALL
        for pid in workers_of(stream):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: stream.stats()["restarts"])
        with attach(stream.name, batch_size=10, start="next") as loader:
            assert sorted(flat(ids_of(loader))) == ALL


def test_a_worker_that_hangs_can_be_killed_and_its_samples_come(tmp_path):
    hung = tmp_path / "hung"
    with (
        shared(Numbers(20, partial(hangs_once, hung)), epochs=1, shuffle=False) as stream,
        Elsewhere(read_elsewhere, stream.name, batch_size=20) as reader,
    ):
        wait_until(hung.exists)
        os.kill(workers_of(stream)[0], signal.SIGKILL)
        assert reader.next() == list(range(20))


def test_readers_and_owner_hear_at_once_that_the_conductor_was_killed():
    with (
        shared(Numbers(120), epochs=1, memory=SMALL) as stream,
        attach(stream.name, batch_size=10) as loader,
    ):
        loop = iter(loader)
        next(loop)
        os.kill(stream.pid, signal.SIGKILL)
        began = time.monotonic()
        with pytest.raises(ProducerLost, match="reconnect=60"):
            list(loop)
        with pytest.raises(ProducerLost):
            stream.wait()
        with pytest.raises(ProducerLost):
            stream.stats()
        assert time.monotonic() - began < SOON


@pytest.mark.parametrize("source", [Numbers(120), loader_of(120, 16, shuffle=True)])
def test_a_reader_goes_on_when_the_conductor_was_killed_and_the_stream_is_shared_anew(source):
    arguments = {"name": new_name(), "epochs": 2, "memory": SMALL, "seed": 5}
    with (
        share(source, **arguments) as stream,
        attach(stream.name, batch_size=9) as loader,
    ):
        whole = [flat(ids_of(loader)) for _ in range(2)]
    with (
        share(source, **arguments) as stream,
        attach(stream.name, batch_size=9, reconnect=10) as loader,
    ):
        loop = iter(loader)
        before = [next(loop)[1].tolist() for _ in range(4)]
        os.kill(stream.pid, signal.SIGKILL)
        stream.close()
        with share(source, **arguments):
            after = flat(labels.tolist() for _, labels in loop)
            assert flat(before) + after == whole[0]
            assert flat(ids_of(loader)) == whole[1]


def test_a_stream_that_does_not_come_back_is_given_up():
    with (
        shared(Numbers(120), epochs=1, memory=SMALL) as stream,
        attach(stream.name, batch_size=10, reconnect=0.1) as loader,
    ):
        os.kill(stream.pid, signal.SIGKILL)
        with pytest.raises(StreamNotFound):
            ids_of(loader)


def share_elsewhere(name, source, arguments):
    """Share and tell the processes of the stream, then wait for an end that does not come."""
    with share(source, name=name, **arguments) as stream:
        yield [stream.pid, *below(stream.pid)]
        time.sleep(60)


@pytest.mark.parametrize(
    ("source", "workers"), [(Numbers(120), 2), (loader_of(120, 10, num_workers=1), 1)]
)
def test_nothing_is_left_of_a_stream_whose_owner_is_killed(source, workers):
    name = new_name()
    arguments = {"epochs": 1, "memory": SMALL, "workers": workers}
    with Elsewhere(share_elsewhere, name, source, arguments) as owner:
        pids = owner.next()
        with attach(name, batch_size=10) as loader:
            next(iter(loader))
            owner.kill()
            wait_until(lambda: not any(map(is_alive, pids)), SOON)
            with pytest.raises(ProducerLost):
                [ids_of(loader) for _ in range(5)]
    wait_until(lambda: not files_of(name), SOON)


def is_alive(pid):
    """Whether a process still runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_whoever_is_stopped_for_a_while_loses_nothing():
    with (
        shared(Numbers(120), epochs=2, readers=2, memory=SMALL) as stream,
        Elsewhere(read_elsewhere, stream.name, batch_size=15, epochs=2) as reader,
        attach(stream.name, batch_size=10) as loader,
    ):
        loop, got = iter(loader), []
        for pid in (reader.pid, stream.pid, workers_of(stream)[0]):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.1)
            os.kill(pid, signal.SIGCONT)
            got += [labels.tolist() for _, labels in islice(loop, 3)]
        got += [labels.tolist() for _, labels in loop]
        assert flat(got) + flat(ids_of(loader)) == flat(reader.rest())
    assert sorted(flat(got)) == ALL


@pytest.mark.parametrize("policy", ["block", "detach", "spill", "drop"])
def test_a_slow_reader_holds_the_others_up_only_if_it_may(policy):
    with shared(Numbers(120), epochs=2, readers=2, memory=SMALL) as stream:
        slow = {"batch_size": 6, "policy": policy, "pause": 0.02, "epochs": 2, "model": "slow"}
        with (
            Elsewhere(read_elsewhere, stream.name, **slow) as other,
            attach(stream.name, batch_size=10) as loader,
        ):
            epochs = [flat(ids_of(loader)) for _ in range(2)]
            behind = stream.stats()["readers"]["slow"]["samples"]
            got = flat(other.rest())
            lost = 240 - len(got)
    assert (behind < 150) == (policy != "block")
    assert (lost > 0) == (policy == "drop")
    assert got == flat(epochs) or policy == "drop"


@pytest.mark.parametrize("start", ["epoch", "now", "next"])
def test_a_reader_that_comes_late_begins_where_it_asked_to(start):
    with (
        shared(Numbers(120), epochs=2, memory=SMALL) as stream,
        attach(stream.name, batch_size=10) as loader,
    ):
        loop = iter(loader)
        first = [next(loop)[1].tolist() for _ in range(6)]
        late = {"batch_size": 15, "start": start, "epochs": 2}
        with Elsewhere(read_elsewhere, stream.name, **late) as other:
            wait_until(lambda: len(stream.stats()["readers"]) == 2)
            whole = flat(first) + flat(labels.tolist() for _, labels in loop)
            second = flat(ids_of(loader))
            got = flat(other.rest())
    if start == "epoch":
        assert got == whole + second
    elif start == "next":
        assert got == second
    else:
        assert got == (whole + second)[-len(got) :]
        assert 120 < len(got) < 240


def test_a_stream_runs_on_one_core():
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        with (
            shared(Numbers(120), epochs=1, readers=2, workers=2, memory=SMALL) as stream,
            Elsewhere(read_elsewhere, stream.name, batch_size=7) as other,
            attach(stream.name, batch_size=25) as loader,
        ):
            assert flat(ids_of(loader)) == flat(other.rest())
    finally:
        os.sched_setaffinity(0, cores)


def test_a_reader_at_the_end_of_an_epoch_goes_on_with_a_stream_that_does_not_know_that_end():
    arguments = {"name": new_name(), "epochs": 2, "memory": SMALL}
    with (
        share(loader_of(40, 8), **arguments) as stream,
        attach(stream.name, batch_size=8, reconnect=10) as loader,
    ):
        loop = iter(loader)
        first = [next(loop)[1].tolist() for _ in range(5)]
        assert loader.position == 40
        os.kill(stream.pid, signal.SIGKILL)
        stream.close()
        with share(loader_of(40, 8), **arguments):
            assert list(loop) == []
            assert flat(ids_of(loader)) == flat(first) == list(range(40))


def computed(index):
    """A sample that PyTorch would compute in several threads."""
    return torch.rand(600, 600).exp(), index


def test_a_loader_computes_beside_a_process_with_threads():
    torch.set_num_threads(2)
    torch.rand(500, 500).matmul(torch.rand(500, 500)).exp().sort()
    data = Numbers(4, computed)
    loader = torch.utils.data.DataLoader(data, batch_size=2)
    with shared(loader, epochs=1) as stream, attach(stream.name, batch_size=4) as reader:
        assert [labels.tolist() for _, labels in reader] == [[0, 1, 2, 3]]
