"""Orders that scripts draw: who has seeded PyTorch gets what a loader of its own would give."""

import os
import signal
import socket
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from threading import Thread

import pytest
from tests.batchcast.at_work import (
    Numbers,
    alone,
    ids_of,
    shared,
    together,
    wait_until,
    workers_of,
)
from tests.needs import needs

from batchcast import drawn_order
from batchcast.attachment import attach
from batchcast.drawn_order import FIXED, WAITS, DrawnOrders
from batchcast.errors import OtherOrder, StreamGarbled, StreamVersion
from batchcast.generator_states import GeneratorStates
from batchcast.messages import TO_READER, Kind, Message, receive
from batchcast.order import generators_kept
from batchcast.stream import share

torch = needs("torch")


@pytest.fixture(autouse=True)
def _as_before():
    with generators_kept():
        yield


class Noisy:
    """Samples that draw when they are read."""

    def __len__(self):
        return 17

    def __getitem__(self, index):
        return index + torch.rand(())


def shuffled(samples=60, **asked):
    return torch.utils.data.DataLoader(Numbers(samples), 6, shuffle=True, **asked)


def private(seed, *, epochs=2, loader=None):
    """Ids of the epochs of a loader of one's own, after a seed; each loop draws something too."""
    torch.manual_seed(seed)
    return looped(loader or shuffled(), epochs)


def looped(loader, epochs=2):
    found = []
    for _ in range(epochs):
        found.append(ids_of(loader))
        torch.rand(3)
    return found


@contextmanager
def one(loader=None, *, epochs=2, reconnect=0.0, **asked):
    """A stream of a loader, and a reader."""
    with (
        shared(loader or shuffled(), epochs=epochs, **asked) as stream,
        attach(stream.name, reconnect=reconnect) as reader,
    ):
        yield stream, reader


def test_the_seed_of_a_script_decides_the_order_over_a_stream_too():
    want = private(5)
    with one() as (_, reader):
        torch.manual_seed(5)
        assert looped(reader) == want
    assert want[0] != want[1] != private(6)[1]


@pytest.mark.parametrize("asked", [{}, {"num_workers": 1}])
def test_readers_of_a_process_that_come_one_after_the_other_wait_for_nobody(asked):
    torch.manual_seed(5)
    with (
        together(shuffled(**asked), 6, 6, epochs=1) as (_, (first, second)),
        pytest.warns(OtherOrder),
    ):
        assert ids_of(first) == ids_of(second)


@pytest.mark.parametrize("asked", [{}, {"num_workers": 1}])
def test_loops_that_are_begun_before_any_takes_a_batch_have_one_order(asked):
    with together(shuffled(**asked), 6, 6, epochs=1) as (_, (first, second)):
        torch.seed()
        for one, other in zip(first, second, strict=True):
            assert one[1].tolist() == other[1].tolist()


def test_a_loop_that_was_begun_and_never_used_moves_the_order_on():
    def script(loader):
        torch.manual_seed(5)
        iter(loader)
        return ids_of(loader)

    want = script(shuffled(num_workers=1))
    with one(shuffled(num_workers=1)) as (_, reader):
        assert script(reader) == want


def test_a_seed_that_is_given_to_the_stream_decides_instead_and_nobody_is_warned():
    with one(seed=3) as (_, reader):
        torch.manual_seed(5)
        found = looped(reader)
    with one(seed=3) as (_, reader):
        torch.manual_seed(6)
        assert looped(reader) == found


def test_who_has_not_seeded_gets_the_order_of_the_streams_seed_every_time():
    found = []
    for _ in range(2):
        with one() as (_, reader):
            torch.seed()
            found.append(looped(reader))
    assert found[0] == found[1]


def in_turns(seeds):
    """What readers got that were seeded so when they began each loop, and what they were told.

    A loader with a worker draws its order when the loop begins; one without waits for the first
    batch, by which the other reader has seeded.
    """
    found, told = [[] for _ in seeds], []
    with together(shuffled(num_workers=1), *[6] * len(seeds), epochs=2) as (_, readers):
        for epoch in range(2):
            loops = []
            for seed, reader in zip(seeds, readers, strict=True):
                torch.manual_seed(seed + epoch)
                loops.append(iter(reader))
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always", OtherOrder)
                for place, loop in enumerate(loops):
                    found[place].append([labels.tolist() for _, labels in loop])
            told += [each.category for each in heard]
    return found, told


def test_readers_that_draw_alike_get_their_order_and_others_that_of_the_stream_and_a_warning():
    (first, second), told = in_turns([5, 5])
    assert first == second
    assert not told
    torch.manual_seed(5)
    assert first[0] == ids_of(shuffled())
    (first, second), told = in_turns([5, 7])
    assert first == second
    assert told == [OtherOrder, OtherOrder]
    (third, fourth), told = in_turns([8, 9])
    assert third == fourth == first, "the stream's seed decides, whatever they drew"


def test_loops_of_one_process_that_have_begun_do_not_wait_for_each_other():
    """Both loops have begun, and the second one asks for nothing before the first has a batch."""
    with together(shuffled(), 6, 6, epochs=1, patience=1000) as (_, readers):
        torch.manual_seed(5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OtherOrder)
            for (_, mine), (_, other) in zip(*readers, strict=True):
                assert mine.tolist() == other.tolist()


def test_samples_that_a_loader_reads_itself_draw_as_they_do_in_the_script():
    def script(loader):
        torch.manual_seed(5)
        return [rows.tolist() for _ in range(2) for rows in loader], torch.rand(2).tolist()

    def noisy():
        return torch.utils.data.DataLoader(Noisy(), 5)

    want = script(noisy())
    with shared(noisy(), epochs=2) as stream, attach(stream.name) as reader:
        assert script(reader) == want


def test_a_script_that_draws_where_its_samples_would_is_told():
    def script(loader):
        torch.manual_seed(5)
        return [(rows + torch.rand(())).tolist() for rows in loader]

    loader = torch.utils.data.DataLoader(Noisy(), 5)
    with (
        shared(loader, epochs=1) as stream,
        attach(stream.name) as reader,
        pytest.warns(OtherOrder, match="num_workers=1"),
    ):
        script(reader)


@pytest.mark.parametrize("asked", [{}, {"num_workers": 1}])
def test_an_order_is_drawn_when_a_private_loader_draws_it(asked):
    """Without workers that is when the first batch is asked for, not when the loop begins."""

    def script(loader):
        torch.manual_seed(5)
        found = []
        for _ in range(2):
            loop = iter(loader)
            found.append(torch.rand(3).tolist())  # as a model's weights
            found += [labels.tolist() for _, labels in loop]
        return found, torch.rand(3).tolist()

    want = script(shuffled(**asked))
    with one(shuffled(**asked)) as (_, reader):
        assert script(reader) == want


def test_samples_that_a_loader_reads_itself_draw_when_the_first_batch_is_asked_for():
    def script(loader):
        torch.manual_seed(5)
        loop = iter(loader)
        torch.rand(3)
        return [rows.tolist() for rows in loop], torch.rand(3).tolist()

    loader = torch.utils.data.DataLoader(Noisy(), 5)
    want = script(loader)
    with one(loader, epochs=1) as (_, reader):
        assert script(reader) == want


def left_early(reader):
    torch.manual_seed(5)
    for _ in range(2):
        next(iter(reader))


def test_who_leaves_a_loop_whose_samples_would_have_drawn_is_told():
    loader = torch.utils.data.DataLoader(Noisy(), 5)
    with one(loader) as (_, reader), pytest.warns(OtherOrder, match="has left a loop early"):
        left_early(reader)


def test_who_leaves_a_loop_whose_samples_draw_nothing_is_told_nothing():
    with one() as (_, reader), warnings.catch_warnings():
        warnings.simplefilter("error", OtherOrder)
        left_early(reader)


def test_who_seeds_after_a_first_loop_is_told():
    with one() as (_, reader):
        torch.seed()
        ids_of(reader)
        torch.manual_seed(5)
        with pytest.warns(OtherOrder, match="before they seeded"):
            ids_of(reader)


@pytest.mark.parametrize("seed", [-1, 1234567890123])
def test_negative_and_long_seeds_are_seeds_too(seed):
    want = private(seed)
    with one() as (_, reader):
        torch.manual_seed(seed)
        assert looped(reader) == want


@pytest.mark.parametrize("asked", [{}, {"num_workers": 1}])
def test_a_reader_goes_on_within_an_epoch_in_the_order_that_it_had(asked):
    want = private(5, loader=shuffled(**asked))
    with one(shuffled(**asked)) as (_, reader):
        torch.manual_seed(5)
        reader_loop = iter(reader)
        begun = [labels.tolist() for _, labels in islice(reader_loop, 4)]
        state = reader.state_dict()
    torch.manual_seed(99)  # a script that is run again may have drawn otherwise by now
    with alone(shuffled(**asked), None, state=state, epochs=2) as reader:
        rest = ids_of(reader)
    assert begun + rest == want[0]


def test_a_saved_place_in_an_order_that_nobody_has_any_more_is_refused():
    with one() as (_, reader):
        torch.manual_seed(5)
        list(islice(iter(reader), 4))
        state = reader.state_dict()
    with (
        alone(shuffled(), None, state=state, epochs=2, seed=0) as reader,
        pytest.raises(StreamVersion, match="Resume all of its readers together"),
    ):
        ids_of(reader)


def test_a_feeder_that_is_killed_is_followed_by_one_with_the_same_order():
    want = private(5)
    with one(memory="34 KiB") as (stream, reader):
        torch.manual_seed(5)
        loop = iter(reader)
        begun = [labels.tolist() for _, labels in islice(loop, 2)]
        (child,) = workers_of(stream)
        os.kill(child, signal.SIGKILL)
        wait_until(lambda: stream.stats()["restarts"] == 1)
        begun += [labels.tolist() for _, labels in loop]
        torch.rand(3)
        assert [begun, ids_of(reader)] == want


def test_a_stream_that_is_shared_again_goes_on_in_the_order_that_it_had():
    want = private(5)
    again = []
    with one(memory="34 KiB", reconnect=30) as (stream, reader):
        torch.manual_seed(5)
        loop = iter(reader)
        begun = [labels.tolist() for _, labels in islice(loop, 3)]
        stream.close()
        anew = Thread(target=lambda: again.append(share(shuffled(), name=stream.name, epochs=2)))
        anew.start()
        begun += [labels.tolist() for _, labels in loop]
        torch.rand(3)
        assert [begun, ids_of(reader)] == want
        anew.join()
    again[0].close()


def test_a_look_at_the_first_batch_is_a_loop_of_its_own_and_takes_no_epoch_away():
    def script(loader):
        torch.manual_seed(5)
        looks = [next(iter(loader))[1].tolist() for _ in range(2)]
        return [looks, looped(loader)]

    want = script(shuffled())
    with one() as (stream, reader):
        assert script(reader) == want
        assert stream.wait(5.0), "the reader has had all of its epochs"


@dataclass
class Reader:
    """As much of a subscription as matters here."""

    peer: socket.socket
    epoch: int = 0


@pytest.fixture
def orders(monkeypatch):
    """Orders of a stream, on a clock that a test sets; readers of it, and their own ends."""

    class At:
        def __init__(self):
            self.now = 0.0
            self.orders = DrawnOrders(follows=True, patience=10.0, clock=lambda: self.now)
            ends = [socket.socketpair(type=socket.SOCK_SEQPACKET) for _ in range(2)]
            self.own = [own for own, _ in ends]
            self.readers = [Reader(peer) for _, peer in ends]
            self.processes = {peer: place for place, (_, peer) in enumerate(ends)}
            monkeypatch.setattr(drawn_order, "process_of", self.processes.get)

        def tells(self, place, epoch, states=b"", flags=0):
            told = GeneratorStates(torch=states).as_bytes()
            self.orders.told(self.readers[place].peer, Message(Kind.ORDER, epoch, flags, told))

        def hears(self, place):
            message = receive(self.own[place], TO_READER)
            return message.first, GeneratorStates.of(message.body).torch, message.second & 1

    at = At()
    yield at
    for each in (*at.own, *(reader.peer for reader in at.readers)):
        each.close()


def test_an_order_is_known_when_all_have_begun_the_epoch(orders):
    assert orders.orders.of(0, orders.readers) is None
    assert orders.orders.patience is None
    orders.tells(0, 0, b"same")
    assert orders.orders.of(0, orders.readers) is None
    orders.tells(1, 0, b"same")
    assert orders.orders.of(0, orders.readers).states.torch == b"same"
    assert orders.hears(0) == orders.hears(1) == (0, b"same", 0)


def test_readers_of_one_process_do_not_await_each_other(orders):
    orders.processes.update(dict.fromkeys(orders.processes, 7))
    orders.tells(0, 0, b"mine", WAITS)
    assert orders.orders.of(0, orders.readers) is None, "it may begin the other loop as well"
    orders.tells(0, 0, b"mine")
    assert orders.orders.of(0, orders.readers) == (GeneratorStates(), True, False)


def test_who_does_not_begin_is_waited_for_with_patience_and_told_when_it_comes(orders):
    orders.tells(0, 0, b"mine")
    orders.orders.of(0, orders.readers)
    orders.now = 4.0
    assert orders.orders.patience == 6.0
    assert orders.orders.of(0, orders.readers) is None
    orders.now = 10.0
    assert orders.orders.of(0, orders.readers).states.torch == b"mine"
    orders.tells(1, 0, b"other")
    assert orders.hears(1) == (0, b"mine", 0)


def test_nobody_waits_for_a_reader_that_has_passed_the_epoch_or_is_gone(orders):
    orders.tells(0, 0, b"mine")
    orders.readers[1].epoch = 1
    assert orders.orders.of(0, orders.readers).states.torch == b"mine"
    orders.readers[0].epoch = 1
    orders.tells(0, 1, b"next")
    orders.tells(1, 1, b"else")
    orders.orders.forget(orders.readers[1].peer)
    assert orders.orders.of(1, orders.readers[:1]).states.torch == b"next"


def test_who_is_within_an_epoch_has_its_order_and_who_begins_it_follows(orders):
    orders.tells(0, 0, b"new")
    orders.tells(1, 0, b"old", FIXED)
    assert orders.orders.of(0, orders.readers).states.torch == b"old"
    assert orders.hears(0) == (0, b"old", 0)


def test_once_readers_differ_the_seed_decides_for_good(orders):
    orders.tells(0, 0, b"one")
    orders.tells(1, 0, b"two")
    assert orders.orders.of(0, orders.readers).last
    assert orders.hears(0) == (0, b"", 1)
    orders.tells(1, 1, b"two")
    assert orders.orders.of(1, orders.readers).last
    assert not orders.orders.follows


def test_what_is_no_state_of_a_generator_is_refused(orders):
    with pytest.raises(StreamGarbled, match="tells of its generators"):
        orders.orders.told(orders.readers[0].peer, Message(Kind.ORDER, 0, 0, b"nonsense"))
