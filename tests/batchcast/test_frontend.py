"""The frontend: whom it lets wait, in, and go, with a clock that the test turns."""

import json
import math
import socket
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
from tests.batchcast.played import NUMBER, columns_of

from batchcast.conductor import counts
from batchcast.errors import StreamError, StreamGarbled
from batchcast.frontend import Frontend
from batchcast.greetings import Hello, Welcome
from batchcast.layout import layout_of_bytes
from batchcast.messages import (
    ENDS,
    GAP,
    TO_READER,
    VERSION,
    ZERO_COPY,
    Grant,
    Kind,
    Message,
    receive,
)
from batchcast.order import Order
from batchcast.service import Service
from batchcast.settings import Settings

HELLO = Hello(
    version=VERSION,
    model="m",
    batch=4,
    of_samples="batch_size",
    policy="block",
    start="epoch",
    spill=0,
    about=None,
    place=None,
)
SETTINGS = Settings(
    name="s",
    readers=2,
    workers=1,
    epochs=3,
    shuffle=False,
    seed=0,
    memory=1 << 20,
    on_error="raise",
    patience=10.0,
)
WELCOME = Welcome(
    layout=NUMBER,
    slots=8,
    samples=20,
    epochs=3,
    seed=0,
    batch=None,
    batches=None,
    draws=(1, 2, 0),
    waits=False,
    noisy=False,
    follows=False,
    told={"dataset": 8},
    pinned=False,
    epoch=0,
    position=0,
    about={},
)


class At:
    """A frontend, and readers that come to it."""

    def __init__(self, *, samples=20, stack, **asked):
        self.now = 100.0
        self.settings = replace(SETTINGS, **asked)
        self.order = Order(samples=samples, epochs=self.settings.epochs, shuffle=False, seed=0)
        self.frontend = Frontend(self.settings, self.order, clock=lambda: self.now)
        self.stack = stack

    def comes(self, model, **asked):
        """A reader says hello; its end of the connection, and the frontend's."""
        own, theirs = map(self.stack.enter_context, socket.socketpair(type=socket.SOCK_SEQPACKET))
        own.settimeout(0.5)
        self.greet(theirs, model, **asked)
        return own, theirs

    def greet(self, peer, model, **asked):
        told = {**replace(HELLO, model=model).as_json(), **asked}
        self.frontend.hear(peer, Message(Kind.HELLO, 0, 0, json.dumps(told).encode()))

    def says(self, peer, kind, first=0, second=0, body=b""):
        self.frontend.hear(peer, Message(kind, first, second, body))

    def opens(self, *, slots=8, first=0):
        self.columns = columns_of(slots)
        self.service = Service(self.order, self.columns, first=first, clock=lambda: self.now)
        self.frontend.open(
            self.service,
            arena=0,
            welcome=lambda epoch, position: replace(WELCOME, epoch=epoch, position=position),
        )
        return self.service


@pytest.fixture
def at():
    with ExitStack() as stack:
        yield lambda **asked: At(stack=stack, **asked)


def heard(own):
    """What the frontend tells a reader: of what kind, and its words."""
    message = receive(own, TO_READER)
    return message.kind, message.body.decode(errors="replace")


def test_those_who_wait_do_so_until_all_are_there_or_the_first_has_lost_patience(at):
    it = at(readers=3)
    assert it.frontend.patience is None
    assert not it.frontend.complete
    it.comes("a")
    it.now += 4
    it.comes("b")
    assert it.frontend.patience == 6.0
    assert not it.frontend.complete
    it.now += 5.5
    assert it.frontend.patience == 0.5
    assert not it.frontend.complete
    it.now += 2
    assert it.frontend.patience == 0.0
    assert it.frontend.complete
    assert it.frontend.absent == 0
    it.opens()
    assert it.frontend.patience is None
    assert it.frontend.absent == 1


def test_a_stream_is_complete_as_soon_as_as_many_wait_as_are_expected(at):
    it = at(readers=3)
    it.comes("a")
    it.comes("b")
    assert not it.frontend.complete
    it.frontend.expected = 2
    assert it.frontend.complete
    it.opens()
    assert it.frontend.absent == 0


def test_it_begins_where_the_one_farthest_behind_is_with_batches_that_all_divide(at):
    it = at(readers=2)
    it.comes("a", batch=4, place=[1, 8], about={"samples": 20, "seed": 0, "shuffle": False})
    assert it.frontend.first_place() == (1, 8)
    it.comes("b", batch=6)
    assert it.frontend.first_place() == (0, 0)
    assert it.frontend.together() == math.lcm(4, 6) == 12


def test_who_waited_is_let_in_where_it_goes_on_and_who_comes_later_where_it_asks(at):
    it = at(readers=2)
    one, _ = it.comes("a", place=[1, 8])
    two, _ = it.comes("b")
    service = it.opens()
    places = [json.loads(heard(own)[1]) for own in (one, two)]
    assert [(each["epoch"], each["position"]) for each in places] == [(1, 8), (0, 0)]
    assert {reader.name: reader.granted for reader in service.readers.values()} == {"a": 28, "b": 0}
    for start, place in (("epoch", (1, 0)), ("next", (2, 0)), ("now", (1, 5))):
        service.current_epoch = lambda: 1
        service.window.published = 25
        own, _ = it.comes(start, start=start)
        found = json.loads(heard(own)[1])
        assert (found["epoch"], found["position"]) == place


def test_a_reader_that_would_begin_after_the_last_epoch_is_refused(at):
    it = at(readers=1)
    own, _ = it.comes("a", place=[3, 0])
    it.opens()
    kind, told = heard(own)
    assert (kind, it.frontend.readers) == (Kind.REFUSED, {})
    assert "would begin after them" in told
    last, _ = it.comes("b", place=[2, 19])
    assert heard(last)[0] is Kind.WELCOME


def test_a_name_is_free_again_once_its_reader_is_gone_though_nobody_heard_of_it(at):
    it = at(readers=9)
    one, _ = it.comes("a")
    two, _ = it.comes("a")
    kind, told = heard(two)
    assert kind is Kind.REFUSED
    assert "'a' is attached" in told
    one.close()
    it.comes("a")
    assert len(it.frontend.peers) == 2
    it.opens()
    three, _ = it.comes("b")
    heard(three)
    four, _ = it.comes("b")
    assert heard(four)[0] is Kind.REFUSED


def test_a_greeting_of_another_version_or_a_second_one_is_refused(at):
    it = at()
    own, _ = it.comes("a", version=VERSION + 1)
    assert "speaks version" in heard(own)[1]
    _, theirs = it.comes("b")
    with pytest.raises(StreamGarbled, match="once"):
        it.greet(theirs, "c")
    it.opens()
    with pytest.raises(StreamGarbled, match="once"):
        it.greet(theirs, "c")


def test_readers_have_keys_of_their_own_and_batches_that_they_or_the_loader_say(at):
    it = at(readers=9, batch=5)
    for name, batch in (("a", 3), ("b", None)):
        it.comes(name, batch=batch, of_samples=None)
    service = it.opens()
    assert [(reader.name, reader.batch) for reader in service.readers.values()] == [
        ("a", 3),
        ("b", 5),
    ]
    assert list(service.readers) == [0, 1]
    assert it.frontend.came == 2


def test_a_reader_that_wants_or_closes_what_it_cannot_is_garbled(at):
    it = at(readers=1)
    _, peer = it.comes("a")
    it.opens()
    for kind, first, second in (
        (Kind.WANT, 0, 0),
        (Kind.WANT, 1, -1),
        (Kind.SEEK, -1, 0),
        (Kind.SEEK, 0, -1),
        (Kind.LEDGER, 0, 0),
    ):
        with pytest.raises(StreamGarbled):
            it.says(peer, kind, first, second)


def test_a_reader_that_asks_is_waited_for_from_then_on_and_says_how_many_it_takes(at):
    it = at(readers=1)
    _, peer = it.comes("a")
    it.opens()
    (reader,) = it.frontend.readers.values()
    it.now = 107.0
    it.says(peer, Kind.WANT, 3, 9)
    assert (reader.want, reader.most, reader.asked) == (3, 9, 107.0)
    it.says(peer, Kind.WANT, 5, 2)
    assert (reader.want, reader.most) == (5, 5)


def test_a_reader_that_seeks_what_is_gone_is_told_and_what_is_there_is_answered_with_it(at):
    it = at(samples=None, readers=1)
    own, peer = it.comes("a")
    it.opens()
    it.order.close(0, 7)
    heard(own)
    it.says(peer, Kind.SEEK, 1, 2)
    message = receive(own, TO_READER)
    assert (message.kind, message.first, message.second) == (Kind.SEEK, 1, 2)
    it.service.window.tail = 5
    it.says(peer, Kind.SEEK, 0, 4)
    kind, told = heard(own)
    assert kind is Kind.REFUSED
    assert "no longer in the stream" in told
    it.says(peer, Kind.SEEK, 0, 5)
    assert heard(own)[0] is Kind.SEEK


def test_a_place_that_has_no_number_yet_gets_one_when_the_epoch_before_it_ends(at):
    it = at(samples=None, readers=1)
    _, peer = it.comes("a")
    it.opens()
    (reader,) = it.frontend.readers.values()
    it.says(peer, Kind.SEEK, 1, 2)
    it.says(peer, Kind.WANT, 3)
    assert reader.epoch == 1
    assert reader.granted > 1 << 50
    it.now += 5
    it.order.close(0, 7)
    it.frontend.epoch_ended()
    assert (reader.epoch, reader.granted, reader.want, reader.asked) == (
        1,
        9,
        3,
        100.0,
    )
    it.order.close(1, 20)
    it.frontend.epoch_ended()
    assert reader.granted == 9


def test_what_a_reader_kept_is_held_until_its_connection_closes_and_then_it_is_forgotten(at):
    it = at(readers=1)
    _, peer = it.comes("a")
    service = it.opens()
    (reader,) = it.frontend.readers.values()
    task = service.task(3, skip=False)
    service.prepared(task, task.slots[:0])
    it.says(peer, Kind.BYE, body=task.slots[:2].tobytes())
    assert (it.frontend.readers, it.frontend.peers) == ({}, [peer])
    assert service.slots.free == 6
    assert it.frontend.have_had_all
    it.frontend.lose(peer)
    assert service.slots.free == 8
    assert it.frontend.peers == []
    assert reader.key not in service.readers


def test_a_reader_that_failed_is_told_why_and_again_whatever_it_asks(at):
    it = at(readers=2)
    (own, peer), (other, _) = it.comes("a"), it.comes("b")
    it.opens()
    assert not it.frontend.dismiss_failed()
    next(iter(it.frontend.readers.values())).failure = StreamError("the disk is full")
    assert it.frontend.dismiss_failed()
    assert [reader.name for reader in it.frontend.readers.values()] == ["b"]
    heard(own)
    assert "the disk is full" in heard(own)[1]
    for kind, answers in ((Kind.WANT, True), (Kind.SEEK, True), (Kind.LEDGER, True)):
        it.says(peer, kind, 1)
        assert ("the disk is full" in heard(own)[1]) == answers
    it.says(peer, Kind.RELEASE)
    own.settimeout(0.01)
    with pytest.raises(TimeoutError):
        heard(own)
    assert heard(other)[0] is Kind.WELCOME
    it.frontend.lose(peer)
    it.says(peer, Kind.WANT, 1)
    with pytest.raises(TimeoutError):
        heard(own)


def test_everybody_has_had_all_when_every_epoch_is_closed(at):
    it = at(readers=1, epochs=1)
    own, peer = it.comes("a")
    service = it.opens(slots=32)
    heard(own)
    (reader,) = it.frontend.readers.values()
    task = service.task(20, skip=False)
    service.prepared(task, task.slots[:0])
    it.says(peer, Kind.WANT, 20)
    (grant,) = service.grants(idle=False)
    assert not it.frontend.have_had_all
    it.says(peer, Kind.LEDGER)
    message = receive(own, TO_READER)
    assert (message.kind, message.json()["count"], message.json()["dropped"]) == (Kind.ENDED, 20, 0)
    assert it.frontend.have_had_all
    assert (reader.epoch, it.frontend.finished, len(grant.slots)) == (1, 1, 20)


def test_what_is_told_of_readers_and_of_the_arena(at):
    it = at(readers=1)
    assert it.frontend.stats() == {}
    zeros = {"slots": 0, "arena_bytes": 0, "fill": 0.0, "published": 0, "head": 0, "failed": 0}
    assert counts(None, None) == zeros
    _, peer = it.comes("a")
    service = it.opens()
    (reader,) = it.frontend.readers.values()
    first, second = (service.task(3, skip=False) for _ in range(2))
    service.prepared(first, first.slots[1:2] - first.slots[0])
    told = counts(service, it.columns)
    assert (told["slots"], told["published"], told["head"], told["failed"]) == (8, 3, 6, 1)
    assert told["fill"] == 1 - 3 / 8
    assert told["arena_bytes"] > 8 * NUMBER.sample_bytes
    it.says(peer, Kind.WANT, 2)
    it.now += 3
    list(service.grants(idle=True))
    reader.lost, reader.detached = 7, 2
    assert it.frontend.stats()["a"] == {
        "policy": "block",
        "epoch": 0,
        "samples": 2,
        "lag": 1,
        "wait_seconds": 3.0,
        "dropped": 7,
        "detached": 2,
        "catching_up": False,
    }
    assert second.first == 3
    reader.granted, reader.live_from = 9, None
    assert it.frontend.stats()["a"]["lag"] == 0
    assert it.frontend.stats()["a"]["catching_up"]


def test_slots_that_a_reader_released_with_what_it_says_are_free(at):
    it = at(readers=1)
    _, peer = it.comes("a")
    service = it.opens()
    task = service.task(4, skip=False)
    service.prepared(task, task.slots[:0])
    it.says(peer, Kind.WANT, 4)
    (grant,) = service.grants(idle=False)
    it.frontend.grant(grant)
    free = service.slots.free
    it.says(peer, Kind.WANT, 1, body=grant.slots[:3].tobytes())
    assert service.slots.free == free + 3
    it.says(peer, Kind.RELEASE, body=grant.slots[3:].tobytes())
    assert service.slots.free == free + 4


def test_a_grant_tells_its_samples_what_was_lost_before_them_and_what_may_be_done(at):
    it = at(readers=1)
    own, _ = it.comes("a")
    it.opens()
    heard(own)
    (reader,) = it.frontend.readers.values()
    it.frontend.grant(Grant(reader, 17, np.array([4, 5]), ZERO_COPY | ENDS, 6))
    message = receive(own, TO_READER)
    assert (message.kind, message.first) == (Kind.GRANT, 17)
    assert (message.second >> GAP, message.second % (1 << GAP)) == (6, ZERO_COPY | ENDS)
    assert message.numbers().tolist() == [4, 5]


@pytest.mark.parametrize("begun", [False, True])
def test_a_reader_that_is_lost_holds_nothing_and_is_waited_for_no_more(at, begun):
    it = at(readers=2)
    _, peer = it.comes("a")
    _, other = it.comes("b")
    if begun:
        service = it.opens()
        task = service.task(8, skip=False)
        service.prepared(task, task.slots[:0])
        it.frontend.lose(other)
        assert service.slots.free == 0
    it.frontend.lose(peer)
    assert it.frontend.readers == {}
    assert it.frontend.peers == ([] if begun else [other])
    if begun:
        assert service.slots.free == 8
    else:
        assert not it.frontend.complete


def test_of_readers_that_wait_for_an_epoch_to_end_each_has_its_own_place(at):
    it = at(samples=None, readers=2)
    peers = [it.comes(name)[1] for name in "ab"]
    it.opens()
    one, two = it.frontend.readers.values()
    for peer, position in zip(peers, (2, 5), strict=True):
        it.says(peer, Kind.SEEK, 1, position)
    it.says(peers[0], Kind.SEEK, 1, 3)
    it.order.close(0, 10)
    it.frontend.lose(peers[1])
    it.frontend.epoch_ended()
    assert one.granted == 13
    assert two.granted > 1 << 50
    it.order.close(1, 20)


def test_what_cannot_be_served_is_refused_as_soon_as_that_is_known(at):
    it = at(samples=None, readers=9)
    own, _ = it.comes("a", policy="detach")
    assert "cannot do" in heard(own)[1]
    early, _ = it.comes("b", of_samples="private")
    stale, _ = it.comes("c", about={"seed": 8})
    it.frontend.layout = WHOLE
    late, _ = it.comes("d", of_samples="private")
    assert "private is for samples" in heard(late)[1]
    later, _ = it.comes("e", about={"seed": 8})
    assert "Share the same data" in heard(later)[1]
    fits, _ = it.comes("f", batch=None, of_samples=None, about=it.frontend.about())
    service = it.opens()
    assert "private is for samples" in heard(early)[1]
    assert "Share the same data" in heard(stale)[1]
    assert heard(fits)[0] is Kind.WELCOME
    assert [(reader.name, reader.batch) for reader in service.readers.values()] == [("f", 1)]


def test_what_a_stream_is_about_tells_how_long_slots_are_where_positions_count_them(at):
    it = at(seed=5, shuffle=True)
    about = {"samples": 20, "seed": 0, "shuffle": False}
    assert it.frontend.about() == about
    it.frontend.layout = NUMBER
    assert it.frontend.about() == about
    it.frontend.layout = WHOLE
    assert it.frontend.about() == {**about, "slot": 1 << 10}


def test_everybody_is_told_whether_it_waits_or_reads(at):
    it = at(readers=1)
    one, _ = it.comes("a")
    it.frontend.tell_all(Kind.REFUSED, b"x: y")
    assert heard(one) == (Kind.REFUSED, "x: y")
    it.opens()
    heard(one)
    it.frontend.tell_all(Kind.REFUSED, b"x: z")
    assert heard(one) == (Kind.REFUSED, "x: z")


def test_a_name_is_free_of_a_reader_that_left_without_hearing_what_it_was_told(at):
    it = at(readers=9)
    one, _ = it.comes("a")
    it.frontend.tell_all(Kind.REFUSED, b"x: y")
    one.close()
    two, _ = it.comes("a")
    two.settimeout(0.01)
    with pytest.raises(TimeoutError):
        heard(two)


WHOLE = layout_of_bytes(1 << 10, whole="its collate_fn is pad")
