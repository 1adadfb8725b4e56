"""What comes over a socket is checked before any of it is used."""

import json
import os
import socket
import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batchcast.at_work import Numbers, flat, ids_of, shared
from tests.batchcast.names import new_name
from tests.needs import needs

from batchcast import messages
from batchcast.addresses import clear, connect, listen
from batchcast.arena import arena_bytes, make_arena
from batchcast.attachment import attach
from batchcast.errors import StreamError, StreamGarbled
from batchcast.greetings import Hello, Welcome, layout_from
from batchcast.layout import layout_of
from batchcast.messages import (
    FROM_CHILD,
    FROM_READER,
    TO_READER,
    VERSION,
    Kind,
    Message,
    receive,
    send,
    send_json,
)

torch = needs("torch")

LAYOUT = layout_of([(torch.zeros(3), 1)], most=None)
WELCOME = Welcome(
    layout=LAYOUT,
    slots=8,
    samples=8,
    epochs=1,
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
    about={"samples": 8},
)
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


def packet(kind, value):
    return Message(kind, 0, 0, json.dumps(value).encode())


@contextmanager
def served(play):
    """A stream whose other end is played by a function, which gets the reader's connection."""
    name = new_name()
    address = listen(name)

    def run():
        with closing(address), address.listener.accept()[0] as peer:
            receive(peer, FROM_READER)
            play(peer)
            receive(peer, FROM_READER)

    thread = threading.Thread(target=run)
    thread.start()
    yield name
    thread.join()
    clear(name, address.folder)


def unsealed(size):
    descriptor = os.memfd_create("arena")
    os.ftruncate(descriptor, size)
    return descriptor


def arena():
    return make_arena(LAYOUT, 8)


WRONG = {
    "another field": ({"folder": "/"}, arena),
    "no arena": ({}, None),
    "a short arena": ({"slots": 4096}, arena),
    "an arena that can shrink": ({}, lambda: unsealed(arena_bytes(LAYOUT, 8))),
    "a pipe": ({}, lambda: os.pipe()[0]),
    "more slots": ({"slots": 1 << 40}, arena),
    "slots below 0": ({"slots": -1}, arena),
    "a place before the first": ({"position": -1}, arena),
    "a place of another kind": ({"epoch": "0"}, arena),
    "no layout": ({"layout": None}, arena),
    "facts that are none": ({"about": [1]}, arena),
    "what is told is no number": ({"told": {"dataset": "x"}}, arena),
    "draws without end": ({"draws": [1 << 40, 0, 0]}, arena),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_server_that_says_what_cannot_be_is_left_before_anything_is_used(wrong, tmp_path):
    (tmp_path / "private").mkdir()
    changed, made = WRONG[wrong]
    if "folder" in changed:
        changed = {"folder": str(tmp_path / "private")}

    def play(peer):
        descriptors = [] if made is None else [made()]
        send_json(peer, Kind.WELCOME, {**WELCOME.as_json(), **changed}, descriptors=descriptors)
        for each in descriptors:
            os.close(each)

    error = StreamError if made is None else StreamGarbled
    with served(play) as name, pytest.raises(error):
        attach(name, batch_size=4)
    assert (tmp_path / "private").is_dir()


@pytest.mark.parametrize("slots", [[8], [-2], [0, 1 << 40]])
def test_slots_that_an_arena_does_not_have_are_not_read(slots):
    def play(peer):
        descriptor = arena()
        send_json(peer, Kind.WELCOME, WELCOME.as_json(), descriptors=[descriptor])
        os.close(descriptor)
        receive(peer, FROM_READER)
        send(peer, Kind.GRANT, np.array(slots, np.int64).tobytes())

    with (
        served(play) as name,
        attach(name, batch_size=4) as reader,
        pytest.raises(StreamGarbled, match="names slots"),
    ):
        next(iter(reader))


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
TREES = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
)


@given(where=st.sampled_from(sorted(HELLO.as_json())), value=TREES)
def test_a_greeting_is_a_reader_s_or_an_error_whatever_it_holds(where, value):
    told = {**HELLO.as_json(), where: value}
    try:
        assert Hello.of(packet(Kind.HELLO, told)).as_json().keys() == told.keys()
    except StreamGarbled:
        assert json.dumps(told) != json.dumps(HELLO.as_json())


@given(where=st.sampled_from(sorted(LAYOUT.as_json()["leaves"][0])), value=TREES)
def test_a_layout_is_one_or_an_error_whatever_it_holds(where, value):
    told = json.loads(json.dumps(LAYOUT.as_json()))
    told["leaves"][0][where] = value
    with suppress(StreamGarbled):
        assert layout_from(told).sample_bytes < 1 << 49


def test_greetings_travel():
    assert Hello.of(packet(Kind.HELLO, HELLO.as_json())) == HELLO
    assert Welcome.of(packet(Kind.WELCOME, WELCOME.as_json())) == WELCOME
    again = replace(HELLO, place=(1, 2), batch=None, about={"a": 1})
    assert Hello.of(packet(Kind.HELLO, again.as_json())) == again


HEAD = messages._HEAD


@pytest.mark.parametrize(
    "wrong",
    [
        b"\x01",
        HEAD.pack(99, 0, 0),
        HEAD.pack(Kind.STOP, 0, 0),
        HEAD.pack(Kind.WANT, 0, 0) + b"123",
        HEAD.pack(Kind.RELEASE, 0, 0) + np.array([1 << 40], np.int64).tobytes(),
        HEAD.pack(Kind.WANT, -1, 0),
        HEAD.pack(Kind.SEEK, -1, -1),
        HEAD.pack(Kind.LEDGER, 7, 0),
        HEAD.pack(Kind.HELLO, 0, 0) + json.dumps(HELLO.as_json()).encode(),
        HEAD.pack(Kind.HELLO, 0, 0) + b"[" * 100_000,
        HEAD.pack(Kind.BYE, 0, 0) + np.array([-5], np.int64).tobytes(),
    ],
)
def test_a_reader_that_says_what_it_may_not_is_shown_out_and_the_others_go_on(wrong, stream):
    with connect(stream.name, patience=0) as peer:
        send_json(peer, Kind.HELLO, {**HELLO.as_json(), "model": "garbles"})
        greeting = receive(peer, TO_READER)
        for each in greeting.descriptors:
            os.close(each)
        peer.send(wrong)
        answer = receive(peer, TO_READER)
        assert answer.kind is Kind.REFUSED
        assert answer.body.startswith(b"StreamGarbled")
        assert receive(peer, TO_READER) is None
    with attach(stream.name, batch_size=5, start="epoch") as loader:
        assert sorted(flat(ids_of(loader))) == list(range(20))


@pytest.fixture(scope="module")
def stream():
    with shared(Numbers(20)) as running:
        yield running


def test_descriptors_that_nobody_asked_for_are_closed(stream):
    before = len(os.listdir(f"/proc/{stream.pid}/fd"))  # noqa: PTH208
    for _ in range(5):
        with connect(stream.name, patience=0) as peer:
            socket.send_fds(peer, [HEAD.pack(Kind.STATS, 0, 0)], [1, 2])
            answer = receive(peer, TO_READER)
        assert answer.kind is Kind.REFUSED
    assert stream.stats()["name"] == stream.name
    assert len(os.listdir(f"/proc/{stream.pid}/fd")) <= before  # noqa: PTH208


def test_what_is_told_of_a_wrong_greeting_names_its_fault():
    with pytest.raises(StreamError, match="batch must be a whole number from 1"):
        Hello.of(packet(Kind.HELLO, {**HELLO.as_json(), "batch": 0}))


@pytest.mark.parametrize("place", [[1], [1, 2, 3], "ab", {"a": 1, "b": 2}, [1, -1], [True, 0]])
def test_a_place_that_is_none_is_refused(place):
    with pytest.raises(StreamGarbled):
        Hello.of(packet(Kind.HELLO, {**HELLO.as_json(), "place": place}))


@pytest.mark.parametrize(("shape", "fits"), [([1 << 44], True), ([1 << 22, 1 << 22, 2], False)])
def test_a_field_is_as_large_as_a_process_can_address_at_most(shape, fits):
    told = json.loads(json.dumps(LAYOUT.as_json()))
    told["leaves"][0] |= {"dtype": "float64", "shape": shape}
    if fits:
        assert layout_from(told).leaves[0].shape == tuple(shape)
    else:
        with pytest.raises(StreamGarbled):
            layout_from(told)


def test_what_was_sent_before_hanging_up_is_heard_though_something_was_left_unread():
    here, there = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with here:
        send(here, Kind.SLOTS)
        send(there, Kind.NEED, first=7)
        send(there, Kind.OVER, first=1, second=9)
        there.close()
        heard = [receive(here, FROM_CHILD) for _ in range(3)]
    assert [message and message.kind for message in heard] == [Kind.NEED, Kind.OVER, None]
