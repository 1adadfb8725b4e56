"""What a stream counts and tells, who is replaced, and who is given up: streams in threads."""

import itertools
import json
from contextlib import contextmanager

import pytest
from tests.batchcast.at_work import (
    Numbers,
    flat,
    ids_of,
    loader_of,
    shared,
    together,
    wait_until,
)
from tests.batchcast.names import new_name
from tests.batchcast.threads import Dies
from tests.needs import needs

from batchcast import feeder, worker
from batchcast.addresses import connect
from batchcast.attachment import attach
from batchcast.errors import LengthChanged, SampleFailed
from batchcast.messages import TO_READER, Kind, receive, send
from batchcast.stream import share

torch = needs("torch")
pytestmark = pytest.mark.usefixtures("in_threads")

SMALL = "34 KiB"
"""Memory of an arena that holds fewer samples than an epoch."""


@pytest.fixture
def ticks(monkeypatch):
    """Clocks that go on by a second whenever they are looked at."""
    for module in (worker, feeder):
        for clock in ("perf_counter_ns", "thread_time_ns"):
            counted = itertools.count(0, 10**9)
            monkeypatch.setattr(module, clock, counted.__next__)


def same(sample):
    return sample


@pytest.mark.parametrize("transform", [None, same])
def test_workers_tell_what_they_spent_on_each_stage(ticks, transform):
    with (
        shared(Numbers(30), epochs=2, shared=transform) as stream,
        attach(stream.name, batch_size=10, model="a") as loader,
    ):
        for _ in range(2):
            ids_of(loader)
        told = stream.stats()
    spent = told["worker_seconds"]
    assert 2 <= spent["read"] == spent["store"]  # once for all that are read together
    assert spent["transform"] == (spent["read"] if transform else 0.0)
    assert 2 <= spent["cpu"] <= 60  # once a task
    assert spent["cpu"] == int(spent["cpu"])
    assert (told["prepared"], told["workers"], told["restarts"]) == (60, 1, 0)
    assert (told["published"], told["head"], told["failed"]) == (60, 60, 0)
    assert (told["fill"], told["absent"], told["first_failure"]) == (0.0, 0, "")
    assert told["slots"] == stream.slots // 10 * 10
    assert told["readers"]["a"]["samples"] == 60
    assert told["readers"]["a"]["epoch"] == 2


def test_a_feeder_tells_what_it_spent_on_each_stage(ticks):
    with (
        shared(loader_of(30, 10), epochs=1) as stream,
        attach(stream.name, batch_size=10) as loader,
    ):
        assert flat(ids_of(loader)) == list(range(30))
        told = stream.stats()
    spent = told["worker_seconds"]
    assert (spent["read"], spent["transform"], spent["store"]) == (3.0, 0.0, 3.0)
    assert spent["cpu"] == 3.0  # once a batch
    assert told["prepared"] == 30


@contextmanager
def behind(policy, *, samples=120, **asked):
    """A stream whose first reader has one batch, and whose second has an epoch."""
    with (
        together(Numbers(samples), 10, 10, epochs=1, memory=SMALL) as (stream, (slow, fast)),
        attach(stream.name, batch_size=6, policy=policy, model="held", **asked) as held,
    ):
        loop = iter(held)
        had = [next(loop)[1].tolist()]
        for turn in zip(slow, fast, strict=True):
            assert turn[0][1].tolist() == turn[1][1].tolist()
        yield stream, loop, had


def test_a_reader_that_fell_off_catches_up_and_that_is_told():
    with behind("detach") as (stream, loop, had):
        wait_until(lambda: stream.stats()["readers"]["held"]["catching_up"])
        told = stream.stats()["readers"]["held"]
        assert told["detached"] >= 1
        assert told["lag"] > 0
        had += [labels.tolist() for _, labels in loop]
        told = stream.stats()["readers"]["held"]
        assert (told["dropped"], told["lag"], told["samples"]) == (0, 0, 120)
    assert sorted(flat(had)) == list(range(120))


def test_what_a_reader_lost_is_told_to_it_and_to_the_owner():
    with behind("drop") as (stream, loop, had):
        had += [labels.tolist() for _, labels in loop]
        told = stream.stats()["readers"]["held"]
        assert told["dropped"] == 120 - len(flat(had)) > 0
        assert told["detached"] == 0
        assert loop._reader is None
    assert len(set(flat(had))) == len(flat(had))


def test_what_a_reader_could_not_take_in_time_waits_on_disk():
    with behind("spill") as (stream, loop, had):
        had += [labels.tolist() for _, labels in loop]
        told = stream.stats()["readers"]["held"]
        assert (told["dropped"], told["detached"]) == (0, 0)
    assert sorted(flat(had)) == list(range(120))


deaths = []


def dies_first(index):
    """A sample; whoever is the first to prepare the seventh dies."""
    if index == 7 and not deaths:
        deaths.append(index)
        raise Dies
    return torch.full((3,), float(index)), index


def dies_always(index):
    if index == 7:
        deaths.append(index)
        raise Dies
    return torch.full((3,), float(index)), index


@pytest.fixture(autouse=True)
def nobody_died():
    deaths.clear()


@pytest.mark.parametrize("workers", [1, 3])
def test_what_a_worker_left_that_died_is_prepared_by_another(workers):
    with (
        shared(Numbers(40, dies_first), epochs=1, shuffle=False, workers=workers) as stream,
        attach(stream.name, batch_size=8) as loader,
    ):
        assert flat(ids_of(loader)) == list(range(40))
        told = stream.stats()
    assert (told["restarts"], told["failed"], told["workers"]) == (1, 0, workers)


def test_a_sample_on_which_three_workers_died_is_given_up():
    with (
        shared(Numbers(40, dies_always), epochs=1, shuffle=False, on_error="skip") as stream,
        attach(stream.name, batch_size=8) as loader,
    ):
        assert flat(ids_of(loader)) == [each for each in range(40) if each != 7]
        assert loader.stats()["skipped"] == 1
        told = stream.stats()
    assert len(deaths) == told["restarts"] == 3
    assert told["failed"] == 1
    assert "Sample 7 could not be prepared: 3 workers died on it" in told["first_failure"]


def test_a_sample_on_which_three_workers_died_ends_a_stream_that_may_not_skip():
    with shared(Numbers(40, dies_always), epochs=1, shuffle=False) as stream:
        with (
            attach(stream.name, batch_size=8) as loader,
            pytest.raises(SampleFailed, match="3 workers died on it"),
        ):
            ids_of(loader)
        with pytest.raises(SampleFailed, match="3 workers died on it"):
            stream.wait()
        with pytest.raises(SampleFailed, match="3 workers died on it"):
            attach(stream.name, batch_size=8)


def dies_at_once(index):
    raise Dies


def test_a_worker_that_dies_on_the_first_samples_is_told():
    with pytest.raises(SampleFailed, match="The worker that tried the first samples died"):
        share(Numbers(5, dies_at_once), name=new_name())


class Batches:
    """Batches of ten; whoever goes through them the first time dies behind so many."""

    def __init__(self, lives):
        self.lives = lives

    def __iter__(self):
        for n in range(6):
            if n == self.lives and not deaths:
                deaths.append(n)
                raise Dies
            ids = torch.arange(10) + 10 * n
            yield ids[:, None].expand(10, 3).float(), ids


def test_a_feeder_that_died_is_replaced_by_one_that_goes_on_where_it_was():
    with (
        shared(Batches(3), yields="stacks", epochs=2, memory=SMALL) as stream,
        attach(stream.name, batch_size=8) as loader,
    ):
        assert [flat(ids_of(loader)) for _ in range(2)] == [list(range(60))] * 2
        assert stream.stats()["restarts"] == 1


def test_a_feeder_that_died_with_what_cannot_begin_again_is_told():
    with (
        shared(Once(), yields="stacks", epochs=1) as stream,
        attach(stream.name, batch_size=8) as loader,
        pytest.raises(SampleFailed, match="it cannot begin again"),
    ):
        ids_of(loader)


class Once:
    """Batches that can be gone through once."""

    def __init__(self):
        self.turn = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.turn += 1
        if self.turn == 3:
            raise Dies
        return torch.zeros(10, 3), torch.zeros(10)


class Growing:
    """A loader that says how many batches it has, and has one more each time."""

    def __init__(self):
        self.batches = 2

    def __len__(self):
        return 2

    def __iter__(self):
        self.batches += 1
        return iter([(torch.zeros(4, 3), torch.zeros(4))] * (self.batches - 1))


def test_a_loader_with_a_length_has_as_many_samples_in_every_epoch():
    with (
        shared(Growing(), yields="stacks", epochs=3) as stream,
        attach(stream.name, batch_size=4) as loader,
        pytest.raises(LengthChanged, match="gave 8 samples in one epoch and 12 in epoch 1"),
    ):
        flat(ids_of(loader) for _ in range(3))


class Raises:
    def __iter__(self):
        yield torch.zeros(4, 3), torch.zeros(4)
        raise OSError("the disk is gone")


def test_what_a_loader_raises_is_told_with_its_place():
    with (
        shared(Raises(), yields="stacks", epochs=1) as stream,
        attach(stream.name, batch_size=4) as loader,
        pytest.raises(SampleFailed, match="The loader raised OSError: the disk is gone") as told,
    ):
        ids_of(loader)
    assert "in __iter__" in str(told.value)


def test_a_reader_that_leaves_early_lets_the_loader_go_on_with_the_next_epoch():
    with (
        shared(loader_of(400, 8), epochs=3, memory=SMALL) as stream,
        attach(stream.name, batch_size=8) as loader,
    ):
        next(iter(loader))
        for _, labels in loader:
            assert labels.tolist() == list(range(8))
            break
        loader.load_state_dict({**loader.state_dict(), "epoch": 2, "position": 0})
        assert flat(ids_of(loader)) == list(range(400))
        assert stream.wait(5)
        assert stream.stats()["published"] < 3 * 400 or stream.stats()["head"] == 1200


def test_an_owner_hears_once_that_all_have_had_all_and_again_when_more_came():
    with shared(Numbers(20), epochs=1) as stream:
        with attach(stream.name, batch_size=5) as loader:
            assert not stream.wait(0.01)
            ids_of(loader)
            assert stream.wait(5)
        assert stream.wait(0)


def test_a_reader_may_ask_how_a_stream_is_doing():
    with shared(Numbers(20), epochs=1) as stream, connect(stream.name, patience=0) as peer:
        peer.settimeout(5)
        send(peer, Kind.STATS)
        told = json.loads(receive(peer, TO_READER).body)
        assert told == stream.stats()
        assert (told["name"], told["readers"], told["slots"]) == (stream.name, {}, 0)


def test_connections_that_say_nothing_or_nonsense_hold_nobody_up():
    with (
        shared(Numbers(20), epochs=1) as stream,
        connect(stream.name, patience=0),
        connect(stream.name, patience=0) as peer,
    ):
        peer.settimeout(5)
        peer.send(b"what?")
        assert receive(peer, TO_READER).kind is Kind.REFUSED
        assert receive(peer, TO_READER) is None
        with attach(stream.name, batch_size=5) as loader:
            assert sorted(flat(ids_of(loader))) == list(range(20))


def test_tasks_take_a_quarter_of_a_worker_s_share_of_the_arena_at_most():
    with (
        shared(Numbers(200), epochs=1, memory="33 KiB", workers=2) as stream,
        attach(stream.name, batch_size=1) as loader,
    ):
        assert stream.slots < 32
        assert sorted(flat(ids_of(loader))) == list(range(200))


def test_those_who_keep_batches_when_they_leave_hold_only_these():
    with shared(Numbers(60), epochs=1, memory=SMALL) as stream:
        with attach(stream.name, batch_size=10, lend=True, model="a") as loader:
            kept = next(iter(loader))
        wait_until(lambda: stream.stats()["readers"] == {})
        share_kept = pytest.approx(10 / stream.stats()["slots"])
        wait_until(lambda: stream.stats()["fill"] == share_kept)  # what is in work is done first
        assert (kept[0] == kept[1][:, None]).all()


class Padded:
    """Batches that stay whole and are longer every time, of a loader that has a length."""

    def __init__(self):
        self.long = 0

    def __len__(self):
        return 2

    def __iter__(self):
        self.long += 5000
        return iter([torch.zeros(self.long), torch.ones(3)])


def test_whole_batches_may_be_longer_in_a_later_epoch():
    with (
        shared(Padded(), yields="batches", epochs=2) as stream,
        attach(stream.name) as loader,
    ):
        first, second = ([len(batch) for batch in loader] for _ in range(2))
    assert first[1] == second[1] == 3
    assert second[0] == first[0] + 5000


class Unsized:
    """What Growing is, without a length."""

    def __init__(self):
        self.batches = 1

    def __iter__(self):
        self.batches += 1
        return iter([(torch.zeros(4, 3), torch.zeros(4))] * self.batches)


def test_a_loader_without_a_length_may_have_more_samples_in_a_later_epoch():
    with (
        shared(Unsized(), yields="stacks", epochs=2) as stream,
        attach(stream.name, batch_size=4) as loader,
    ):
        first, second = (len(flat(ids_of(loader))) for _ in range(2))
    assert second == first + 4
