"""What is measured before a run, with clocks that go on by what each thing is said to take."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from tests.ensemble.run.studies import PLAIN, WIDE, study
from tests.needs import needs

from foretrain.ensemble.result import MemberState
from foretrain.ensemble.run import inputs, looks, probe
from foretrain.ensemble.run import probe as handing
from foretrain.ensemble.run.home import load
from foretrain.ensemble.run.inputs import bytes_of, counted, lag_of
from foretrain.ensemble.run.looks import Report, added, bottleneck
from foretrain.ensemble.run.probe import BYTES, Blank, Effort, handing_costs
from foretrain.ensemble.run.probe import FEWEST_HANDED as FEWEST

torch = needs("torch")


class Clock:
    """Seconds that pass, and those of them that a processor worked."""

    def __init__(self):
        self.now = self.cpu = 50.0

    def spend(self, seconds, cpu):
        self.now += seconds
        self.cpu += cpu


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(probe, "perf_counter", lambda: found.now)
    for name in ("process_time", "processor_time"):
        monkeypatch.setattr(probe, name, lambda: found.cpu)
    return found


@pytest.fixture
def holds(monkeypatch):
    """Bytes that the process holds, one look after the other."""
    found = iter([100.0, 175.0])
    monkeypatch.setattr(probe, "_held", lambda: next(found))


@pytest.fixture
def loaded(tmp_path):
    return load(study(tmp_path, PLAIN, WIDE, name="here"))


class Slow:
    """Samples of 24 bytes that take two seconds each, and a processor half of that."""

    def __init__(self, clock, count):
        self.clock, self.count, self.places = clock, count, []

    def __len__(self):
        return self.count

    def __getitem__(self, place):
        self.places.append(place)
        self.clock.spend(2.0, 1.0)
        return np.zeros(4, np.float32), {"y": 1}


def of(loaded, samples):
    return replace(loaded, source=replace(loaded.source, samples_of=samples, shared=None))


@pytest.mark.parametrize(
    ("count", "long_enough", "looked_at"), [(24, 0.1, 5), (24, 13.0, 7), (24, 14.0, 8), (4, 9.0, 3)]
)
def test_a_sample_costs_the_mean_of_those_behind_the_first(
    clock, holds, loaded, count, long_enough, looked_at
):
    samples = Slow(clock, count)
    found = probe.sample_costs(long_enough, of(loaded, samples))
    assert len(samples.places) == 1 + looked_at
    assert len(set(samples.places)) == 1 + looked_at
    assert all(np.diff(samples.places) % count == inputs.STRIDE % count)
    assert found == {
        "prepare": 1.0,
        "seconds": 2.0,
        "size": 24,
        "memory": 75.0,
        "count": count,
    }


def test_of_a_data_set_with_one_sample_nothing_can_be_said_but_its_size(clock, holds, loaded):
    found = probe.sample_costs(0.1, of(loaded, Slow(clock, 1)))
    assert (found["prepare"], found["seconds"], found["size"]) == (1e-9, 1e-9, 24)


def test_samples_of_a_loader_are_those_of_its_batches(loaded):
    batches = [(torch.zeros(4, 2), torch.zeros(4)), (torch.zeros(3, 2), torch.zeros(3))]
    source = replace(loaded.source, samples_of=None, batches_of=batches)
    assert list(probe.sizes_of_samples(source)) == [12] * 7
    first = probe.distinct_samples(source, 3)
    assert [[part.shape for part in sample] for sample in first] == [[(2,), ()]] * 3
    assert len(probe.distinct_samples(source, 9)) == 4


def test_a_few_samples_of_a_data_set_lie_apart(clock, loaded):
    samples = Slow(clock, 24)
    source = of(loaded, samples).source
    assert len(probe.distinct_samples(source, 5)) == 5
    assert samples.places == [n * inputs.STRIDE % 24 for n in range(5)]
    assert len(probe.distinct_samples(replace(source, samples_of=Slow(clock, 3)), 5)) == 3


def test_a_sample_of_a_batch_is_that_of_each_of_its_fields():
    batch = {"x": torch.arange(6).reshape(3, 2), "y": [torch.arange(3), ["a", "b", "c"]]}
    found = inputs.nth_sample(batch, 2)
    assert found["x"].tolist() == [4, 5]
    assert [found["y"][0].item(), found["y"][1]] == [2, "c"]


@pytest.mark.parametrize(("long_enough", "times"), [(0.1, 5), (10.0, 5), (10.1, 6), (13.0, 7)])
def test_something_is_timed_once_it_is_warm_for_as_long_as_is_asked(clock, long_enough, times):
    runs = []

    def run():
        runs.append(clock.now)
        clock.spend(2.0, 0.5)

    assert probe.time_of(run, long_enough) == (2.0, 0.5)
    assert len(runs) == probe.WARM + times


def test_a_step_costs_what_it_takes_and_what_the_member_does_with_samples_itself(
    loaded, holds, monkeypatch
):
    timed = iter([(8.0, 4.0), (10.0, 5.0)])
    monkeypatch.setattr(probe, "time_of", lambda run, seconds: (run(), next(timed))[1])
    wide = replace(loaded.study.recipes[1], batch=20)
    found = probe.step_costs(wide, 0.1, loaded)
    assert found["rate"] == pytest.approx(1 / (10 / 20 + 8 / probe.DISTINCT))
    assert found["cpu"] == pytest.approx(5 / 20 + 4 / probe.DISTINCT)
    assert (found["memory"], found["device_memory"]) == (75.0, 0.0)


def test_a_step_of_a_member_without_a_transform_costs_the_step_alone(loaded, holds, monkeypatch):
    monkeypatch.setattr(probe, "time_of", lambda run, seconds: (run(), (10.0, 5.0))[1])
    found = probe.step_costs(loaded.study.recipes[0], 0.1, loaded)
    assert (found["rate"], found["cpu"]) == (0.5, 1.0)


def test_members_are_of_a_kind_unless_what_takes_time_differs(loaded):
    plain, wide = loaded.study.recipes
    twin = replace(plain, name="twin", optimizer=replace(plain.optimizer, options={"lr": 9.0}))
    assert probe.kind_of(plain) == probe.kind_of(twin)
    for other in (
        wide,
        replace(plain, batch=9),
        replace(plain, options={"width": 9}),
        replace(plain, device="auto"),
        replace(plain, optimizer=replace(plain.optimizer, name="adam")),
    ):
        assert probe.kind_of(other) != probe.kind_of(plain)


def test_what_the_stream_does_for_each_reader_is_told_apart_by_more_of_them(monkeypatch):
    asked = []
    # of the stream's processes, and of the one that reads
    takes = {1: iter([(5.0, 2.0), (3.0, 2.5)]), 4: iter([(7.0, 8.0), (4.5, 9.0)])}

    def streamed(sample, count, batch, *, readers, lend):
        asked.append((count, batch, readers))
        return next(takes[readers])

    monkeypatch.setattr(handing, "streaming_time", streamed)
    monkeypatch.setattr(handing, "collating_time", lambda sample, batch: 0.25)
    effort = Effort(most=1000, tries=2)
    found = handing_costs("x", BYTES / 512, 8, effort=effort)
    assert found == {"store": 2.5, "deliver": 2.5, "collate": 0.25}
    assert asked == [(512, 8, 1)] * 2 + [(512, 8, 4)] * 2


@pytest.mark.parametrize(
    ("size", "count"), [(0, 8192), (1, 8192), (BYTES / 512, 512), (1e12, FEWEST)]
)
def test_so_many_samples_are_handed_on_as_fill_some_memory(monkeypatch, size, count):
    asked = []

    def streamed(sample, n, *_, **__):
        asked.append(n)
        return 1.0, 0.5

    monkeypatch.setattr(handing, "streaming_time", streamed)
    found = handing_costs(np.zeros(1), size, 2)
    assert set(asked) == {count}
    assert (found["store"], found["deliver"]) == (1.0, 0.5)


@pytest.mark.parametrize("readers", [1, 2])
def test_handing_on_is_measured_behind_the_first_quarter(monkeypatch, readers):
    shared, attached = [], []
    cpu, own = iter([100.0, 172.0]), iter([50.0, 84.0])

    def attach(name, *, batch_size, lend):
        assert not lend
        attached.append((name, batch_size))
        return nullcontext(range(-(-100 // batch_size)))

    def share(source, *, name, epochs):
        shared.append((len(source), source[5], name, epochs))
        return nullcontext()

    monkeypatch.setattr(handing, "share", share)
    monkeypatch.setattr(handing, "attach", attach)
    monkeypatch.setattr(handing, "time_of_descendants", lambda: next(cpu))
    monkeypatch.setattr(handing, "process_time", lambda: next(own))
    # of 100 samples in batches of 8 the first 32 are more than a quarter: 68 are left
    assert handing.streaming_time("x", 100, 8, readers=readers) == (72.0 / 68, 34.0 / 68)
    ((count, sample, name, epochs),) = shared
    assert (count, sample, epochs) == (100, "x", 1)
    assert attached == [(name, 8)] * readers


def test_putting_a_batch_together_is_measured_once_it_is_warm(monkeypatch):
    made = []
    monkeypatch.setattr(handing, "batch_of", made.append)
    monkeypatch.setattr(handing, "process_time", iter([3.0, 11.0]).__next__)
    assert handing.collating_time("x", 5) == 8.0 / (handing.WARM_SHARE * 5)
    assert made == [["x"] * 5] * (handing.WARM_SHARE + 1)
    assert len(Blank("x", 3)) == 3


def test_bytes_of_a_sample_are_those_of_all_its_fields():
    assert bytes_of({"x": torch.zeros(3, 2), "y": [np.zeros(2), (1, "text")]}) == 24 + 16 + 16


def told(samples, seconds, **others):
    return Report(state=MemberState.TRAINING, samples=samples, seconds=seconds, **others)


def test_a_look_tells_rates_and_waits_since_the_one_before(monkeypatch):
    now = iter([10.0, 12.0, 16.0, 20.0])
    monkeypatch.setattr(looks, "monotonic", lambda: next(now))
    monkeypatch.setattr(looks, "memory_of_descendants", lambda: 1.0)
    seen = looks.Looks(["a", "b"], _began=8.0)
    first = seen.look({"a": told(10, 2.0, waited=0.5)}, None)
    assert first.seconds == 2.0
    assert [each.rate for each in first.members] == [5.0, 0.0]
    assert [each.wait for each in first.members] == [0.25, 0.0]
    assert [each.state for each in first.members] == [MemberState.TRAINING, MemberState.WAITING]
    second = seen.look({"a": told(40, 6.0, waited=1.5), "b": told(4, 1.0, waited=7.0)}, None)
    assert [each.rate for each in second.members] == [7.5, 4.0]
    assert [each.wait for each in second.members] == [0.25, 1.0]
    again = seen.look({"a": told(6, 2.0), "b": told(4, 1.0)}, None)  # its process is a new one
    assert [each.rate for each in again.members] == [3.0, 0.0]


def test_what_sets_the_pace_is_told_of_what_was_spent_since_the_last_look(monkeypatch):
    now = iter([10.0, 12.0, 14.0])
    monkeypatch.setattr(looks, "monotonic", lambda: next(now))
    monkeypatch.setattr(looks, "memory_of_descendants", lambda: 1.0)
    found = []
    monkeypatch.setattr(looks, "bottleneck", lambda each: found.append(each) or bottleneck(each))
    seen = looks.Looks(["a", "b"], _began=8.0)
    seen.begin(looks.StreamNow(read=1.0, transform=2.0, store=3.0, workers=2, fill=0.5))
    stream = looks.StreamNow(read=2.0, transform=5.0, store=3.5, workers=2, fill=0.25)
    reports = {"a": told(10, 2.0, waited=0.5), "b": told(10, 2.0, waited=1.0)}
    assert seen.look(reports, stream).fill == 0.25
    (pressure,) = found
    # of two workers, two seconds each
    assert (pressure.reading, pressure.decoding, pressure.storing) == (0.25, 0.75, 0.125)
    assert (pressure.waiting, pressure.fill) == (0.25, 0.25)
    later = looks.StreamNow(read=2.0, transform=13.0, store=3.5, workers=2, fill=0.75)
    seen.look({"a": told(20, 4.0, waited=2.5), "b": told(30, 4.0, waited=2.0)}, later)
    assert (found[1].reading, found[1].decoding, found[1].storing) == (0.0, 1.0, 0.0)
    assert (found[1].waiting, found[1].fill) == (0.5, 0.75)
    assert seen.overall({"a": told(20, 4.0, waited=2.0), "b": told(30, 4.0, waited=1.0)})
    # of eight seconds that two workers had in four: one of reading, eleven of decoding
    assert (found[2].reading, found[2].decoding, found[2].storing) == (0.125, 1.0, 0.0625)
    assert (found[2].waiting, found[2].fill) == (0.25, 0.5)


def test_a_run_in_which_nobody_trained_had_no_bottleneck():
    seen = looks.Looks(["a"])
    assert seen.overall({"a": told(10, 2.0)}) is None
    assert seen.look({"a": Report()}, looks.StreamNow()).bottleneck is None
    assert seen.fills == []


def test_what_a_stream_counts_is_full_of_what_is_prepared():
    spent = {"read": 1.0, "transform": 2.0, "store": 3.0, "cpu": 4.0}
    stats = {"fill": 0.75, "head": 30, "published": 20, "slots": 40, "worker_seconds": spent}
    found = counted(stats, workers=3)
    assert (found.read, found.transform, found.store, found.workers) == (1.0, 2.0, 3.0, 3)
    assert found.fill == 0.5
    assert counted({**stats, "published": 0, "fill": 0.25}, workers=1).fill == 0.0
    assert counted({**stats, "slots": 0, "head": 20, "fill": 0.0}, workers=1).fill == 0.0
    assert counted(None, workers=1) is None
    assert lag_of({"readers": {"a": {"lag": 7}}}, "a") == 7
    assert lag_of({"readers": {}}, "a") == lag_of(None, "a") == 0


def test_what_a_member_did_in_parts_of_a_run_adds_up():
    before = told(10, 2.0, waited=0.5, cpu=1.5, dropped=1, skipped=2, epoch=1, loss=3.0)
    now = told(20, 3.0, waited=0.25, cpu=2.5, dropped=3, skipped=5, epoch=2, loss=1.0)
    both = added(before, now)
    assert both == told(30, 5.0, waited=0.75, cpu=4.0, dropped=4, skipped=7, epoch=2, loss=1.0)
    assert added(None, now) is now
    finals = {state for state in MemberState if Report(state=state).final}
    assert finals == {MemberState.DONE, MemberState.STOPPED, MemberState.FAILED}
