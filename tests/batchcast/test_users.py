"""Another user of the machine cannot attach, serve, read, delete or make anything be deleted."""

import os
import shutil
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from tests.batchcast.at_work import Numbers, below, flat, ids_of
from tests.batchcast.names import new_name
from tests.ensemble.run.users import ALICE, BOB, as_user, needs_root
from tests.needs import needs

from batchcast import addresses
from batchcast.attachment import attach
from batchcast.errors import StreamError, StreamNotFound
from batchcast.stream import share

needs("torch")
needs_root()


@pytest.fixture
def anybodys(tmp_path, monkeypatch):
    """A folder like /tmp, of this test's own."""
    place = Path("/tmp") / f"foretrain-users-{os.getpid()}"
    place.mkdir()
    place.chmod(0o1777)
    monkeypatch.setattr(addresses, "ANYBODYS", str(place))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    yield place
    shutil.rmtree(place)


def place_of(user, anybodys):
    return Path(anybodys) / f"batchcast-{user}"


def told_by(error):
    return f"{type(error).__name__}: {error}"


# What each user does. All of these run in processes of that user.


def shares(anybodys, name):
    """Share, read all of it, and tell what went wrong."""
    addresses.ANYBODYS = anybodys
    try:
        with (
            share(Numbers(20), name=name, epochs=1) as stream,
            attach(name, batch_size=5) as loader,
        ):
            assert users_of([stream.pid, *below(os.getpid())]) == {os.geteuid()}
            return sorted(flat(ids_of(loader))) == list(range(20)) and stream.wait(5)
    except StreamError as error:
        return told_by(error)


def users_of(pids):
    """Users that processes run as, or might again: also those that they were when they began."""
    status = [Path(f"/proc/{pid}/status").read_text() for pid in pids]
    lines = [line.split()[1:] for text in status for line in text.splitlines() if "Uid:" in line]
    return {int(each) for line in lines for each in line}


def attaches(anybodys, name):
    addresses.ANYBODYS = anybodys
    try:
        attach(name, batch_size=5, patience=0.0)
    except StreamError as error:
        return told_by(error)


def squats(path, kind, target):
    if kind == "file":
        path.touch()
    elif kind == "link":
        path.symlink_to(target)
    else:
        path.mkdir()
        path.chmod(0o777 if kind == "open" else 0o700)
    return True


def pries(folder, name, pids):
    """Everything that a curious user may try, and what came of it."""
    tries = {
        "list": lambda: os.listdir(folder),  # noqa: PTH208
        "connect": lambda: connected(folder / name),
        "unlink": (folder / name).unlink,
        "replace": lambda: folder.rename(folder.with_name("mine")),
        "remove": folder.rmdir,
    }
    for pid in pids:
        tries[f"descriptors of {pid}"] = lambda pid=pid: os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208
        tries[f"arena of {pid}"] = lambda pid=pid: [
            os.open(f"/proc/{pid}/fd/{n}", os.O_RDWR) for n in range(3, 30)
        ]
        tries[f"memory of {pid}"] = lambda pid=pid: os.open(f"/proc/{pid}/mem", os.O_RDONLY)
        tries[f"kill {pid}"] = lambda pid=pid: os.kill(pid, signal.SIGKILL)
    return {told: outcome(each) for told, each in tries.items()}


def outcome(tried):
    try:
        return str(tried())
    except OSError as error:
        return type(error).__name__


def connected(path):
    """What a stream answers to somebody who has got to its socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(5)
        peer.connect(str(path))
        with suppress(OSError):
            peer.send(b"\x12" + bytes(23))  # asks for statistics
        try:
            return peer.recv(1 << 16).decode(errors="replace")
        except ConnectionResetError:
            return ""


# The tests.


def test_a_stream_of_one_user_is_closed_to_another(anybodys):
    name = new_name()
    with share(Numbers(20), name=name) as stream:
        ours = [stream.pid, *below(stream.pid)]
        found = as_user(BOB, pries, place_of(0, anybodys), name, ours)
        assert set(found.values()) == {"PermissionError"}, found
        assert as_user(BOB, attaches, str(anybodys), name).startswith("StreamNotFound")
        with attach(name, batch_size=5) as loader:
            assert sorted(flat(ids_of(loader))) == list(range(20))


def test_plain_users_share_beside_each_other_under_one_name(anybodys):
    """No process of theirs has rights that they gave up, and names in the abstract are nobody's."""
    name = new_name()
    with share(Numbers(20), name=name), bound_in_the_abstract(ALICE, name) as squatter:
        assert as_user(ALICE, shares, str(anybodys), name, starts=True) is True
        assert as_user(BOB, shares, str(anybodys), name, starts=True) is True
        with pytest.raises(BlockingIOError):
            squatter.accept()
    assert not any(any(each.iterdir()) for each in anybodys.iterdir())


@contextmanager
def bound_in_the_abstract(user, name):
    """A name that anybody can bind first, and that streams had once."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as squatter:
        squatter.bind(f"\0foretrain/{user}/{name}")
        squatter.listen()
        squatter.setblocking(False)
        yield squatter


@pytest.mark.parametrize("kind", ["closed", "open", "file", "link"])
@pytest.mark.parametrize("victim", [0, ALICE])
def test_a_squatted_folder_is_one_error_and_nothing_is_read_made_or_deleted(anybodys, kind, victim):
    private = anybodys / "private"
    private.mkdir(mode=0o700)
    (private / "letter").write_text("dear diary")
    for path in (private, private / "letter"):
        os.chown(path, victim, victim)
    assert as_user(BOB, squats, place_of(victim, anybodys), kind, private)
    name = new_name()
    for use in (shares, attaches):
        told = as_user(victim, use, str(anybodys), name)
        assert told.startswith("StreamForeign"), told
        assert f"of user {BOB}" in told
        assert "XDG_RUNTIME_DIR" in told
    assert [path.name for path in private.iterdir()] == ["letter"]
    squatted = place_of(victim, anybodys)
    if kind in {"closed", "open"}:
        assert not any(squatted.iterdir())


def test_a_folder_beside_a_squatted_one_is_used_where_the_user_has_one(anybodys, monkeypatch):
    runtime = anybodys / "runtime"
    runtime.mkdir(mode=0o700)
    assert as_user(BOB, squats, place_of(0, anybodys), "open", None)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    name = new_name()
    with share(Numbers(20), name=name), attach(name, batch_size=5) as loader:
        assert sorted(flat(ids_of(loader))) == list(range(20))
    with pytest.raises(StreamNotFound):
        attach(name, batch_size=5, patience=0.0)


def test_not_even_root_serves_a_user(anybodys):
    place, name = place_of(ALICE, anybodys), new_name()
    place.mkdir(mode=0o700)
    os.chown(place, ALICE, ALICE)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(place / name))
        listener.listen()
        (place / name).chmod(0o777)
        told = as_user(ALICE, attaches, str(anybodys), name)
        assert told.startswith("StreamForeign")
        assert "is served by user 0" in told
        with listener.accept()[0] as peer:
            assert peer.recv(1) == b""  # not a word was said before


def lets_in(anybodys, name, pipe):
    """Listen, and tell whether the first who comes would be let in."""
    addresses.ANYBODYS = anybodys
    with closing(addresses.listen(name)) as address:
        os.write(pipe, b"!")
        with address.listener.accept()[0] as peer:
            return addresses.is_ours(peer)


def test_not_even_root_attaches_to_a_user(anybodys):
    name, (ready, pipe) = new_name(), os.pipe()
    with ThreadPoolExecutor(1) as pool:
        alice = pool.submit(as_user, ALICE, lets_in, str(anybodys), name, hands=pipe)
        assert os.read(ready, 1) == b"!"
        os.close(pipe)
        assert connected(place_of(ALICE, anybodys) / name) == ""
        assert alice.result() is False
    os.close(ready)
    with pytest.raises(StreamNotFound):
        attach(name, batch_size=5, patience=0.0)
