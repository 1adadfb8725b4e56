"""What is handed over arrives as it was; what cannot be is told in one message."""

import json
import multiprocessing
import os
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Lock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batchcast.at_work import alone, flat, ids_of
from tests.batchcast.forkserver import tasks
from tests.examples import few
from tests.needs import needs

from batchcast.errors import ArgumentError
from batchcast.forkserver.client import start
from batchcast.forkserver.parcel import _ParcelUnpickler, packed

torch = needs("torch")

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def opened(parcel):
    """What a parcel holds, opened here: the surroundings are this process' own."""
    parts = parcel._parts()
    return _ParcelUnpickler(parts[1], parts[2:], None).load()


@few(20)
@given(value=VALUES)
def test_values_arrive_as_they_were(value):
    with closing(packed(value, what="it")) as parcel:
        assert opened(parcel) == value


def test_arrays_and_tensors_arrive_beside_the_pickle_and_share_what_they_shared():
    array, tensor = np.arange(1000.0), torch.arange(1000.0)
    value = {"a": array, "b": tensor, "c": tensor[10:20], "d": torch.zeros(0), "e": array[::2]}
    with closing(packed(value, what="it")) as parcel:
        assert parcel.sizes[1] < 6000  # the pickle holds the strided array alone
        found = opened(parcel)
    for key, each in value.items():
        assert np.array_equal(np.asarray(found[key]), np.asarray(each))
    found["b"][12] = -1
    assert found["c"][2] == -1
    assert tensor[12] == 12


def test_a_parcel_is_opened_where_it_was_packed_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WP_TEST", "here")
    read, write = os.pipe()
    value = {"x": torch.ones(5), "y": np.full(3, 2.0)}
    with closing(packed(value, what="it")) as parcel:
        process = start(partial(tasks.opens, parcel), [write, *parcel.descriptors])
    os.close(write)
    with os.fdopen(read) as pipe:
        told = json.loads(pipe.read())
    process.end()
    assert told == {
        "type": "dict",
        "cwd": str(tmp_path),
        "env": "here",
        "sums": {"x": 5.0, "y": 6.0},
    }


def test_what_spawned_processes_can_share_is_shared():
    counter = multiprocessing.get_context("spawn").Value("i", 3)
    shared = torch.zeros(4).share_memory_()
    with closing(packed({"n": counter, "t": shared}, what="it")) as parcel:
        found = _opened_with_descriptors(parcel)
        found["n"].value = 5
        found["t"][0] = 7
    assert counter.value == 5
    assert shared[0] == 7


def _opened_with_descriptors(parcel):
    from batchcast.forkserver import parcel as module

    module._arrived = parcel.descriptors[1:]
    try:
        return opened(parcel)
    finally:
        module._arrived = ()


@pytest.mark.parametrize("value", [lambda: 1, (n for n in range(3)), Lock()])
def test_what_does_not_pickle_is_told_with_what_to_write(value):
    with pytest.raises(ArgumentError, match=r"The data cannot be handed to another process: .*"):
        packed(value, what="The data")
    with pytest.raises(ArgumentError, match=r"write functions and classes at the top of a module"):
        packed(value, what="The data")


def test_what_cannot_be_made_there_is_told():
    with (
        pytest.raises(ArgumentError, match=r"could not be made there: ValueError: invalid literal"),
        alone([tasks.Refuses()], 1),
    ):
        pass


def test_a_source_whose_code_starts_threads_is_loaded_by_every_worker():
    with alone(tasks.StartsThreads(30), 5, workers=2, epochs=1) as loader:
        assert sorted(flat(ids_of(loader))) == list(range(30))


SCRIPT = """
import sys
from batchcast.attachment import attach
from batchcast.stream import share

class Squares:
    def __len__(self):
        return 6
    def __getitem__(self, index):
        return index * index

def read():
    with share(Squares(), name={name!r}, epochs=1, shuffle=False) as stream:
        with attach({name!r}, batch_size=6) as loader:
            print(*[batch.tolist() for batch in loader])

{start}
"""


def ran(tmp_path, start, *, prompt=False):
    text = SCRIPT.format(name=f"script-{os.getpid()}", start=start)
    path = tmp_path / "script.py"
    path.write_text(text)
    command = [sys.executable, "-c", text] if prompt else [sys.executable, str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False, timeout=100
    )


def test_a_script_shares_what_it_defines_itself(tmp_path):
    done = ran(tmp_path, "if __name__ == '__main__':\n    read()")
    assert done.stdout == "[0, 1, 4, 9, 16, 25]\n", done.stderr


def test_a_script_without_a_guard_gets_one_error_and_starts_nothing_again(tmp_path):
    done = ran(tmp_path, "print('begins', flush=True)\nread()")
    assert done.stdout == "begins\nbegins\n"
    assert done.stderr.count("ArgumentError: This script started a process that uses") == 1
    assert "if __name__ == '__main__':" in done.stderr


def test_what_a_prompt_defines_is_to_be_put_into_a_file(tmp_path):
    done = ran(tmp_path, "read()", prompt=True)
    assert done.stdout == ""
    assert "import them from a .py file" in done.stderr.splitlines()[-1]


def test_parcels_leave_no_descriptor_open():
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        packed(torch.zeros(3).share_memory_(), what="it").close()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 3  # the tensors' own
