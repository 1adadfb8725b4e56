"""Sharing: what may be shared, the same bytes however it is prepared, and clear errors."""

import os
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.batchcast.at_work import (
    Elsewhere,
    Numbers,
    alone,
    files_of,
    flat,
    ids_of,
    loader_of,
    read_elsewhere,
    shared,
)
from tests.batchcast.names import new_name
from tests.needs import needs

from batchcast.addresses import running
from batchcast.attachment import attach
from batchcast.errors import (
    ArgumentError,
    LengthChanged,
    SampleFailed,
    StreamError,
    StreamNotFound,
    StreamTaken,
    StreamVersion,
)
from batchcast.order import seed_of, sow
from batchcast.stream import share

torch = needs("torch")


def noisy(sample):
    """A transform with draws of all three generators."""
    drawn = random.random() + np.random.rand()  # noqa: NPY002 - transforms use the old one too
    return sample[0] + torch.rand(3) + drawn, sample[1]


def test_bytes_are_the_same_for_1_2_and_4_workers():
    def drawn(workers, batch):
        with alone(Numbers(30), batch, shared=noisy, workers=workers, epochs=2) as loader:
            return [torch.cat([x for x, _ in loader]) for _ in range(2)]

    one, two, four = drawn(1, 4), drawn(2, 7), drawn(4, 7)
    for each in zip(one, two, four, strict=True):
        assert all(torch.equal(each[0], other) for other in each)
    assert not torch.equal(one[0].sort().values, one[1].sort().values)


def scalar(index):
    return index


class Together(torch.utils.data.Dataset):
    """Samples that are read together only, and say with how many; some draw."""

    def __init__(self, draws):
        self.draws = draws

    def __len__(self):
        return 100

    def __getitems__(self, indices):
        assert indices
        return [(torch.full((3,), n), draws(n) if n in self.draws else 0.0) for n in indices]


def draws(index):
    return random.random() + np.random.rand() + torch.rand(()).item() + index  # noqa: NPY002


@pytest.mark.parametrize("drawing", [(), (57,), range(100)])
def test_samples_that_are_read_together_draw_what_each_alone_would(drawing):
    wanted = []
    for index in range(100):
        sow(seed_of(5, 0, index))
        wanted.append(draws(index) if index in drawing else 0.0)
    with alone(Together(drawing), 10, epochs=1, seed=5, shuffle=False, workers=2) as loader:
        got = [(n, x) for numbers, xs in loader for n, x in zip(numbers, xs.tolist(), strict=True)]
    assert [n.tolist() for n, _ in got] == [[index] * 3 for index in range(100)]
    assert [x for _, x in got] == wanted


@pytest.mark.usefixtures("in_threads")
def test_a_stream_fed_by_a_loader_gives_the_samples_of_the_loader():
    with alone(loader_of(45, 8, shuffle=True), 10, epochs=2, memory="40 KiB") as loader:
        first, second = flat(ids_of(loader)), flat(ids_of(loader))
    assert sorted(first) == sorted(second) == list(range(45))
    assert first != second


@pytest.mark.usefixtures("in_threads")
def test_an_iterable_of_batches_can_be_gone_through_once():
    batches = [(torch.full((4, 3), float(n)), torch.full((4,), n)) for n in range(5)]
    with alone(iter(batches), 3, epochs=1, yields="stacks") as loader:
        assert flat(ids_of(loader)) == [n for n in range(5) for _ in range(4)]
    with (
        alone(iter(batches), 3, epochs=2, yields="stacks") as loader,
        pytest.raises(SampleFailed, match="only once"),
    ):
        flat(ids_of(loader) for _ in range(2))


def torn(index):
    if index > 10 and index % 2 and index != 19:
        raise ValueError(f"no {index}")
    return torch.full((3,), float(index)), index


def failing(samples):
    """Samples of which those with an odd number above 10 cannot be read."""
    return Numbers(samples, torn)


def test_a_sample_that_cannot_be_prepared_is_told_or_passed_over_and_counted():
    with (
        alone(failing(20), 5, epochs=1) as loader,
        pytest.raises(SampleFailed, match="ValueError: no 1"),
    ):
        ids_of(loader)
    with shared(failing(20), epochs=2, on_error="skip") as stream:
        with attach(stream.name, batch_size=5) as loader:
            for _ in range(2):
                assert sorted(flat(ids_of(loader))) == [*range(11), 12, 14, 16, 18, 19]
        assert stream.stats()["failed"] == 8
        assert "no 1" in stream.stats()["first_failure"]
    with shared(failing(20), epochs=1) as stream:
        with Elsewhere(read_elsewhere, stream.name, batch_size=5), pytest.raises(SampleFailed):
            stream.wait()
        with pytest.raises(SampleFailed):
            stream.wait()


def test_a_stream_is_open_also_where_its_connection_has_the_number_of_a_closed_input(monkeypatch):
    """A daemon that closed its standard input gets descriptor 0 for the next that it opens."""
    with shared(Numbers(4)) as stream:
        pid = stream.pid
        with monkeypatch.context() as changed:
            changed.setattr(stream, "_peer", SimpleNamespace(fileno=lambda: 0))
            assert stream.pid == pid
    assert stream.pid is None


def deadly(index):
    if index == 7:
        os._exit(1)
    return torch.full((3,), float(index)), index


def test_a_sample_that_kills_its_worker_is_found():
    with alone(Numbers(20, deadly), 5, epochs=1, workers=2, on_error="skip") as loader:
        assert sorted(flat(ids_of(loader))) == [each for each in range(20) if each != 7]


class Shrinking(Numbers):
    def __getitem__(self, index):
        self.samples = 49 if index == 30 else self.samples  # a sample may be read twice
        return super().__getitem__(index)


@pytest.mark.usefixtures("in_threads")
def test_a_data_set_whose_length_changes_is_an_error():
    with (
        alone(Shrinking(50), 5, epochs=3, memory="36 KiB") as loader,
        pytest.raises(LengthChanged, match="had 50 samples and has 49 now"),
    ):
        flat(ids_of(loader) for _ in range(3))


def large(index):
    return torch.zeros(2**22)


def closure(index):
    return lambda: 1


def with_gradient(index):
    return torch.ones(1, requires_grad=True)


@pytest.mark.parametrize(
    ("sample", "arguments", "error", "told"),
    [
        (large, {"memory": 10**15}, ArgumentError, "smaller memory"),
        (scalar, {"memory": "1 KiB"}, ArgumentError, "at least 2 are needed"),
        (scalar, {"workers": 0}, ArgumentError, "workers must be at least 1"),
        (scalar, {"on_error": "hide"}, ArgumentError, "raise, skip"),
        (scalar, {"name": "a/b"}, ArgumentError, "letters, digits"),
        (scalar, {"nice": 41}, ArgumentError, "from -40 to 40"),
        (scalar, {"shared": len}, SampleFailed, "has no len"),
        (closure, {}, SampleFailed, "cannot go from one process to another"),
        (with_gradient, {}, SampleFailed, r"detach\(\)"),
        (os._exit, {}, SampleFailed, "died"),
        (lambda index: index, {}, ArgumentError, "no lambda"),
    ],
)
def test_what_cannot_be_shared_is_told_at_once(sample, arguments, error, told):
    with pytest.raises(error, match=told):
        share(Numbers(5, sample), **{"name": new_name(), **arguments})


@pytest.mark.usefixtures("in_threads")
@pytest.mark.parametrize("batch", [3, [torch.zeros(4), torch.tensor(1)]])
def test_a_batch_without_samples_is_told_in_words(batch):
    with pytest.raises(
        SampleFailed, match=r"holds .*, which has no samples\. Give tensors"
    ) as told:
        share(iter([batch]), name=new_name(), yields="stacks")
    assert "File" not in str(told.value)


@pytest.mark.usefixtures("in_threads")
def test_two_streams_or_two_readers_of_one_name_are_refused():
    with shared(Numbers(10)) as stream:
        with pytest.raises(StreamTaken, match="runs already"):
            share(Numbers(5), name=stream.name)
        with (
            attach(stream.name, batch_size=5, model="a"),
            pytest.raises(StreamTaken, match="'a' is attached"),
        ):
            attach(stream.name, batch_size=5, model="a")
    with shared(Numbers(10)) as stream, attach(stream.name, batch_size=5, model="a") as loader:
        loader.close()
        with attach(stream.name, batch_size=5, model="a") as again:
            assert sorted(flat(ids_of(again))) == list(range(10))


@pytest.mark.usefixtures("in_threads")
def test_a_stream_that_does_not_run_is_not_found():
    with (
        shared(Numbers(10)) as stream,
        pytest.raises(StreamNotFound, match="Did you mean"),
    ):
        attach(stream.name + "x", batch_size=1, patience=0.05)


@pytest.mark.usefixtures("in_threads")
def test_a_reader_of_another_version_is_refused(monkeypatch):
    with shared(Numbers(10)) as stream:
        monkeypatch.setattr("batchcast.reader_connection.VERSION", 99)
        with pytest.raises(StreamVersion, match="reader version 99"):
            attach(stream.name, batch_size=1)


def arenas_open():
    """Which memory files of streams this process has open."""
    files = [each for each in Path("/proc/self/fd").iterdir() if each.exists()]
    return {each.stat().st_ino for each in files if "memfd:batchcast" in str(each.readlink())}


def test_an_end_is_waited_for_and_nothing_is_left_behind():
    before = arenas_open()
    with shared(loader_of(30, 5, num_workers=1), epochs=1, readers=2) as stream:
        assert not stream.wait(timeout=0.01)
        with (
            Elsewhere(read_elsewhere, stream.name, batch_size=7) as other,
            attach(stream.name, batch_size=10) as loader,
        ):
            assert sorted(flat(ids_of(loader))) == list(range(30))
            assert sorted(flat(other.rest())) == list(range(30))
            assert stream.wait(timeout=5)
        conductor = stream.pid
    del loader  # it maps the arena for as long as it is there
    assert not Path(f"/proc/{conductor}").exists()
    assert stream.name not in running()
    assert not files_of(stream.name)
    assert arenas_open() <= before  # what other tests have left to the collector may be there


@pytest.mark.usefixtures("in_threads")
def test_a_loader_cannot_be_asked_for_samples_again():
    with shared(loader_of(40, 8), epochs=2, memory="34 KiB") as stream:
        with attach(stream.name, batch_size=8) as loader:
            ids_of(loader)
            with pytest.raises(StreamError, match="no longer in the stream"):
                attach(
                    stream.name,
                    batch_size=8,
                    state={**loader.state_dict(), "epoch": 0, "position": 0},
                )
        with pytest.raises(StreamError, match="loader cannot do"):
            attach(stream.name, batch_size=8, policy="detach")


def test_a_stream_that_nobody_holds_frees_its_name_at_once():
    name = new_name()
    for _ in range(2):
        share([1, 2, 3], name=name)
