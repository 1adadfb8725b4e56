"""Names of streams: nobody can take one twice, nothing outlives it, and one user's are his own."""

import os
import socket
from contextlib import closing

import pytest
from tests.batchcast.names import new_name

from batchcast.addresses import LONGEST_NAME, checked_name, clear, connect, is_ours, listen, running
from batchcast.errors import ArgumentError, StreamForeign, StreamNotFound, StreamTaken


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """A folder for this test's streams."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "batchcast"


def test_a_name_is_taken_until_its_stream_is_gone(runtime):
    name = new_name()
    with closing(listen(name)) as address:
        assert name in running()
        with pytest.raises(StreamTaken, match="runs already"):
            listen(name)
        with closing(connect(name, patience=0)), closing(address.listener.accept()[0]) as peer:
            assert is_ours(peer)
        clear(name, str(runtime))
        assert name in running()
    assert name not in running()
    clear(name, str(runtime))
    assert not list(runtime.iterdir())
    with pytest.raises(StreamNotFound, match="was found"):
        connect(name, patience=0)


def test_what_a_killed_stream_has_left_is_replaced():
    name = new_name()
    listen(name).close()
    with pytest.raises(StreamNotFound):
        connect(name, patience=0)
    with closing(listen(name)), closing(connect(name, patience=0)):
        assert name in running()


def test_a_stream_is_found_by_who_was_started_without_the_runtime_folder(monkeypatch):
    name = new_name()
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    with closing(listen(name)) as address:
        monkeypatch.undo()
        connect(name, patience=0).close()
        with pytest.raises(StreamTaken):
            listen(name)
    clear(name, address.folder)


def test_a_folder_that_others_may_enter_is_not_used(runtime):
    runtime.mkdir(mode=0o700)
    runtime.chmod(0o750)
    for use in (listen, lambda name: connect(name, patience=0)):
        with pytest.raises(StreamForeign, match=r"mode 750\. .* so nothing was read or written"):
            use(new_name())
    assert not list(runtime.iterdir())


@pytest.mark.parametrize("kind", ["file", "link", "dangling"])
def test_a_squatted_folder_is_one_error_and_is_left_alone(runtime, kind):
    elsewhere = runtime.with_name("elsewhere")
    if kind == "link":
        elsewhere.mkdir(mode=0o700)
    if kind == "file":
        runtime.touch()
    else:
        runtime.symlink_to(elsewhere)
    with pytest.raises(StreamForeign, match="is no folder of user"):
        listen(new_name())
    assert not (elsewhere.exists() and list(elsewhere.iterdir()))


def test_the_other_end_is_asked_for_its_user_and_root_is_not_everybody(monkeypatch):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        assert is_ours(ours)
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        assert not is_ours(ours)


@pytest.mark.parametrize(
    "name", ["", "a b", "../x", ".", "..", "x" * (LONGEST_NAME + 1), "é" * LONGEST_NAME, "a\0b"]
)
def test_a_name_that_is_no_name_is_refused(name):
    with pytest.raises(ArgumentError, match="letters, digits"):
        checked_name(name)
