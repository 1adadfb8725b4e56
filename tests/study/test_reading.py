"""The door for bytes in: what is no file, too large or damaged is one message, at once."""

import ast
import gzip
import os
import socket
import threading
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import ForetrainError, InputError
from foretrain.study import files
from foretrain.study.documents import MOST_BROKEN, from_json, from_toml, records
from foretrain.study.files import read_text

SOURCE = Path(__file__).parents[2] / "src" / "foretrain"


def read(path):
    return read_text(path, most=1000)


def refusal(path) -> str:
    with pytest.raises(InputError) as error:
        read(path)
    return str(error.value)


def holding(folder, content):
    path = folder / "file"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"x" * 1001, "is larger than 1000 B, the most that is read."),
        (gzip.compress(b"x" * 10**6, mtime=0), "is larger than 1000 B, the most that is read."),
        (gzip.compress(b"some text", mtime=0)[:-9], "cannot be unpacked: its end is missing."),
        (gzip.compress(b"some text", mtime=0)[:3], "cannot be unpacked: its end is missing."),
        (gzip.compress(b"some text", mtime=0)[:10] + b"\x06" * 20, "cannot be unpacked: Error -3"),
        (
            gzip.compress(b"some text", mtime=0)[:-4] + b"\0\0\0\0",
            "cannot be unpacked: Incorrect length",
        ),
        (gzip.compress(b"some text", mtime=0) + b"more", "cannot be unpacked: Not a gzipped file"),
        (gzip.compress(b"\xff", mtime=0), "byte 0 (0xff) is not UTF-8 text. Save it as UTF-8."),
        (b"BZh91AY&SY", "is packed by bzip2. Unpack it, or use gzip."),
        (b"\xfd7zXZ\x00\x00", "is packed by xz. Unpack it, or use gzip."),
        (b"PK\x03\x04....", "is packed by zip. Unpack it, or use gzip."),
        ("text".encode("utf-16"), "is not UTF-8 text: it begins like UTF-16. Save it as UTF-8."),
        (b"caf\xe9", "byte 3 (0xe9) is not UTF-8 text. Save it as UTF-8."),
    ],
)
def test_content_that_cannot_be_used_is_one_message(tmp_path, content, told):
    path = holding(tmp_path, content)
    assert refusal(path).startswith(f"{path}: ")
    assert told in refusal(path)


@pytest.mark.parametrize("before", ["", "a = 1\n" * 3000])
@pytest.mark.parametrize("digit", ["9", "٣"])
def test_digits_that_python_makes_no_number_of_are_told_with_their_line(tmp_path, before, digit):
    path = holding(tmp_path, f"{before}b = {4300 * digit}\n".encode())
    assert int(read_text(path, most=10**6).split("= ")[-1])
    path = holding(tmp_path, f"{before}b = {4301 * digit}\n".encode())
    with pytest.raises(InputError) as error:
        read_text(path, most=10**6)
    line = 1 + before.count("\n")
    assert str(error.value) == (
        f"{path}: line {line} holds a number of 4,301 digits; at most 4,300 are read."
    )


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_text_comes_back_as_it_is_packed_or_not(tmp_path_factory, text):
    folder = tmp_path_factory.getbasetemp()
    for content in (text.encode(), gzip.compress(text.encode())):
        assert read(holding(folder, content)) == text.removeprefix("\ufeff")


def test_what_is_packed_a_thousandfold_takes_no_more_memory_than_what_is_read(tmp_path):
    path = holding(tmp_path, gzip.compress(b"0" * 200 * 2**20))
    tracemalloc.start()
    with pytest.raises(InputError, match="is larger than 4 MiB"):
        read_text(path, most=4 * 2**20)
    assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    tracemalloc.stop()


def test_name_that_no_file_can_have_is_one_message(tmp_path):
    assert "embedded null byte" in refusal(tmp_path / "a\0b")
    long = refusal(tmp_path / ("n" * 300))
    assert "cannot be read: File name too long" in long
    assert len(refusal(tmp_path / ("n" * 100_000))) < 400


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PATIENCE", 0.05)
    loop, broken, pipe = (tmp_path / name for name in ("loop", "broken", "pipe"))
    loop.symlink_to(loop)
    broken.symlink_to(tmp_path / "nowhere")
    os.mkfifo(pipe)
    assert "is a folder; a file is wanted." in refusal(tmp_path)
    assert "Too many levels of symbolic links" in refusal(loop)
    assert "there is no such file" in refusal(broken)
    assert "Not a directory" in refusal(holding(tmp_path, b"") / "inside")
    assert "is a device; a file is wanted." in refusal(Path("/dev/zero"))
    assert "nothing was written to this pipe for 0.05 s" in refusal(pipe)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        assert "cannot be read" in refusal(tmp_path / "socket")


def test_pipe_is_read_to_its_end(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeding = threading.Timer(0.05, lambda: pipe.write_bytes(b"fed"))
    feeding.start()
    assert read(pipe) == "fed"
    feeding.join()


@pytest.mark.parametrize("parse", [from_json, from_toml])
@pytest.mark.parametrize(
    ("json", "toml", "told"),
    [
        ('{"a": ' + "9" * 5000 + "}", "a = " + "9" * 5000, "Exceeds the limit"),
        ('{"a": ' + str(2**63) + "}", f"a = {2**63}", "is a whole number of more than 64 bits"),
        ('{"a": 1, "b": 2, "a": 3}', "a = 1\nb = 2\na = 3", r"written before|overwrite"),
        ("[" * 100_000, "a = " + "[" * 100_000, "nested too deeply"),
        ('{"a":' * 30 + "1" + "}" * 30, "a = " + "[" * 30 + "]" * 30, "nested too deeply"),
        ('{"a": "' + "x" * 20_000 + '"}', f'a = "{"x" * 20_000}"', "has 20,000 letters"),
        ('{"a": [' + "0," * 100_000 + "0]}", f"a = [{'0,' * 100_001}]", "has 100,001 entries"),
        ('{"a" 1}', "a 1", "is not (JSON|TOML)"),
        ('{"a": "\\ud800"}', 'a = "\\ud800"', "is not (TOML|Unicode)|half a surrogate pair"),
    ],
)
def test_document_out_of_all_proportion_is_one_message(parse, json, toml, told):
    with pytest.raises(InputError, match=told) as error:
        parse(json if parse is from_json else toml, "here")
    assert str(error.value).startswith("here: ")
    assert len(str(error.value)) < 500


def test_whole_number_of_a_million_hexadecimal_digits_is_refused():
    with pytest.raises(InputError, match="a: a whole number of thousands of digits"):
        from_toml("a = 0x" + "f" * 1_000_000, "here")


@given(text=st.text() | st.text('{}[]":,0123456789.eE+-\\utrfalsn '))
def test_any_text_is_a_document_or_one_message(text):
    for parse in (from_json, from_toml):
        with suppress(ForetrainError):
            assert isinstance(parse(text, "here"), dict)


def test_quote_that_is_not_closed_costs_one_record():
    text = 'a,b\n1,2\n3,"4\n5,6\n"7\n8",9\n10,"11"12\n13,14\n'
    found = list(records(text, "here"))
    assert [each.cells for each in found if not each.problem] == [
        ["a", "b"], ["1", "2"], ["5", "6"], ["7\n8", "9"], ["13", "14"]
    ]  # fmt: skip
    assert [each.line for each in found if each.problem] == [3, 7]


def test_what_is_hardly_anywhere_csv_is_refused():
    with pytest.raises(InputError, match=f"line {MOST_BROKEN + 1} is not CSV"):
        list(records('"a"b\n' * 2 * MOST_BROKEN, "here"))


def test_record_of_a_million_cells_is_a_problem():
    (found,) = records("," * 10**6, "here")
    assert "has 1,000,001 cells" in found.problem


@given(rows=st.lists(st.lists(st.text('ab,"\n\r\0 é'), min_size=2, max_size=3), max_size=5))
def test_records_are_those_of_the_library_where_all_is_well(rows):
    import csv
    import io

    written = io.StringIO()
    csv.writer(written).writerows(rows)
    assert [each.cells for each in records(written.getvalue(), "here")] == rows


OPENS = {"open", "fdopen", "read_text", "read_bytes"}
PARSES = {"json.loads", "json.load", "tomllib.loads", "tomllib.load", "csv.reader"}
PARSES |= {"csv.DictReader", "gzip.open", "gzip.decompress", "torch.load", "np.load"}
DOORS = {
    "study/files.py": "the doors themselves, for bytes in and out",
    "study/documents.py": "the parsers of TOML, JSON and CSV",
    "app/output.py": "drops what nobody reads, into /dev/null",
    "study/catalogue.py": "entries of this package",
    "study/launch_files.py": "recipes of this package",
    "study/config/hugging_face.py": "defaults of this package",
    "study/config/unknown.py": "names of this package",
    "workload/library/entries.py": "entries of this package",
    "study/coefficients.py": "sets of this package",
    "app/progress.py": "the code of this package, for its fingerprint",
    "study/tracing/kept.py": "code of this package and of loaded modules; what the door read",
    "app/agents.py": "what the agent that started it says, a line at a time and none too long",
    "study/settings.py": "the value of one key of a command line",
    "study/here.py": "the kernel about this machine",
    "ensemble/run/machine.py": "the kernel about energy, memory and processes",
    "ensemble/run/probe.py": "the kernel about this process",
    "batchcast/arena.py": "the kernel about memory",
    "batchcast/addresses.py": "the kernel about sockets",
    "ensemble/run/written.py": "adds lines to a table; PyTorch reads its own format after the door",
    "ensemble/nodes/groups.py": "what another node of the same run sent",
    "ensemble/run/home.py": "what a child process sent",
    "ensemble/run/looks.py": "what a child process sent",
    "batchcast/messages.py": "what a peer of the stream sent",
    "batchcast/stream.py": "what the conductor sent",
}
"""Modules that open or parse something, and why that is no file of a user's behind the door's back.
"""


def called(node):
    function = node.func
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute):
        owner = function.value.id if isinstance(function.value, ast.Name) else ""
        return f"{owner}.{function.attr}"
    return ""


def opens(path):
    """Lines of a module that open a file or parse a text."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and (name := called(node)):
            first = node.args[0] if node.args else ast.Constant("")
            of_path = isinstance(node.func, ast.Attribute) and isinstance(first, ast.Constant)
            ours = name in {"read_text", "read_bytes"}
            if (name.rpartition(".")[2] in OPENS and (of_path or "." not in name) and not ours) or (
                name in PARSES
            ):
                yield node.lineno


def test_files_are_read_through_the_door_alone():
    found = {
        path.relative_to(SOURCE.parent).as_posix().removeprefix("foretrain/"): [*opens(path)]
        for path in sorted(SOURCE.parent.rglob("*.py"))
    }
    assert {path: lines for path, lines in found.items() if lines and path not in DOORS} == {}
