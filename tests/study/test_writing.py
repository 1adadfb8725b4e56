"""Bytes out: the old file or the new one, whole, and one message."""

import ast
import os
import signal
import stat
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.errors import InputError
from foretrain.study.files import write_text, write_whole

SOURCE = Path(__file__).parents[2] / "src" / "foretrain"

OLD, NEW = "old\n" * 10_000, "new\n" * 30_000


def names(folder):
    return sorted(each.name for each in folder.iterdir())


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_a_text_is_there_as_it_was_written(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "text"
    write_text(path, text)
    assert path.read_bytes() == text.encode()


def test_what_fails_midway_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    write_text(path, OLD)

    def fails(file):
        file.write(NEW.encode())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, fails)
    assert path.read_text() == OLD
    assert names(tmp_path) == ["file"]


def test_a_full_disk_is_one_message_and_leaves_what_was_there(tmp_path, full_disk):
    path = tmp_path / "file"
    write_text(path, OLD)
    with (
        full_disk(),
        pytest.raises(InputError, match=r"/file cannot be written: File too large\.$"),
    ):
        write_text(path, NEW)
    assert path.read_text() == OLD
    assert names(tmp_path) == ["file"]


@contextmanager
def plain_user():
    """Nobody's rights, where root's would open everything."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_folder_in_which_nothing_may_be_made_is_one_message():
    folder = Path(mkdtemp())  # not below a folder that is one user's alone
    path = folder / "file"
    write_text(path, OLD)
    folder.chmod(0o555)
    with plain_user(), pytest.raises(InputError, match="/file cannot be written: Permission"):
        write_text(path, NEW)
    folder.chmod(0o755)
    assert path.read_text() == OLD
    assert names(folder) == ["file"]
    rmtree(folder)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no/file", "No such file"),
        ("n" * 300, "File name too long"),
        ("nul\0", "null"),
        ("loop", "loop"),
        ("file/under", "Not a directory"),
    ],
)
def test_a_place_that_cannot_be_is_one_message(tmp_path, name, reason):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=f"(?i)cannot be written: .*{reason}"):
        write_text(tmp_path / name, NEW)


def test_who_is_killed_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path):
    """A child writes both in turn; whenever it is killed, one of them is there, whole."""
    path = tmp_path / "file"
    write_text(path, OLD)
    for turn in range(20):
        child = os.fork()
        if not child:
            while True:
                write_text(path, NEW)
                write_text(path, OLD)
        time.sleep(0.003 + 0.0007 * turn)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert path.read_text() in {OLD, NEW}


def test_a_new_file_gets_the_permissions_of_any_other_and_a_replaced_one_keeps_its_own(tmp_path):
    plain, path = tmp_path / "plain", tmp_path / "file"
    plain.touch()
    write_text(path, OLD)
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o600)
    write_text(path, NEW)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_stays_one_to_the_new_content(tmp_path):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "file", tmp_path / "link"
    write_text(target, OLD)
    link.symlink_to(target)
    write_text(link, NEW)
    assert link.is_symlink()
    assert target.read_text() == NEW


@few(3)
@given(st.binary(max_size=50))
def test_a_pipe_is_written_as_it_goes(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("pipe") / "pipe"
    os.mkfifo(path)
    reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(path, lambda file: file.write(content))
    assert os.read(reading, 100) == content
    os.close(reading)


WRITERS = {"write_text", "write_bytes", "mkstemp", "NamedTemporaryFile", "savetxt"}
"""Calls that write a file; and `open` with a mode that does."""

DOORS = {
    "study/files.py",  # this door
    "ensemble/run/written.py",  # adds lines to a table that this door began
}


def writes(node):
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    modes = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
    opens = name == "open" and any(
        isinstance(mode, str) and set(mode) & set("wax+") and len(mode) <= 3 for mode in modes
    )
    return opens or (
        name in WRITERS and len(node.args) <= 1 and isinstance(node.func, ast.Attribute)
    )


def test_nothing_else_writes_files():
    others = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if any(writes(node) for node in ast.walk(ast.parse(file.read_text())))
    }
    assert others == DOORS


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is Linux'")
def test_a_device_that_takes_nothing_is_one_message():
    with pytest.raises(InputError, match="/dev/full cannot be written: No space left"):
        write_text(Path("/dev/full"), NEW)
