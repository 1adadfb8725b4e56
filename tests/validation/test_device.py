"""What the recorder writes is what foretrain reads; what it recorded is listed row by row."""

import csv
from pathlib import Path

import pytest
from recorder import rows
from recorder.campaign import ON_CPU, ON_GPU
from recorder.configuration import Language, Precision, Recompute
from recorder.machine import Machine
from recorder.outcome import Memory, Outcome
from recorder.tables import TableFile
from recorder.timing import DeviceClock, HostClock, Lap, Timing, summarised, timed

from foretrain.evidence.validate import Status, validate
from foretrain.measured.run import TableKind
from foretrain.study.measurement_rows import COLUMNS
from foretrain.study.measurements import read_runs
from foretrain.workload.library.entries import build

FOLDER = Path(__file__).parents[2] / "validation" / "device"
RECORDED = sorted((FOLDER / "recorded").glob("*/*.csv"))
TABLES = [file for file in RECORDED if file.stem in set(TableKind)]

H100 = Machine(
    device="cuda",
    model="NVIDIA H100 80GB HBM3",
    name="H100 SXM 80GB",
    cores=16,
    memory=80 * 2**30,
    driver="1",
    software={"pytorch": "2.13.0"},
)
RECORDING = rows.Recording(source_id="own-h100-2026-11", date="2026-11-22", machine=H100)
TIMING = Timing(
    seconds=0.3,
    phases=(0.1, 0.15, 0.05),
    lower_quartile=0.29,
    least=0.28,
    repeats=10,
    counted=10,
    others=0.0,
)
DONE = Outcome(timing=TIMING, memory=Memory(used=20 * 10**9), parameters=10**9)
FULL = Outcome(timing=None, memory=None, parameters=10**9)


def test_recorder_fills_only_columns_that_tables_have():
    for name, columns in rows.COLUMNS.items():
        assert set(columns) <= set(COLUMNS[TableKind(name)])


@pytest.mark.parametrize("campaign", [ON_GPU, ON_CPU], ids=["GPU", "processor"])
def test_no_two_configurations_of_a_campaign_share_a_name(campaign):
    assert len({training.slug for training in campaign}) == len(campaign)


@pytest.mark.parametrize("campaign", [ON_GPU, ON_CPU], ids=["GPU", "processor"])
def test_campaign_begins_with_one_configuration_of_each_network(campaign):
    names = [training.network.name for training in campaign]
    different = len(set(names))
    assert len(set(names[:different])) == different


def test_gpu_trains_the_networks_that_are_asked_for():
    networks = {training.network.name for training in ON_GPU}
    assert networks == {
        "resnet-50",
        "vgg-16",
        "bert-large",
        "gpt-2-355m",
        "gpt-2-774m",
        "llama-3.2-1b",
        "llama-3.2-3b",
    }
    assert {training.precision for training in ON_GPU} == set(Precision)
    assert {training.recompute for training in ON_GPU} == set(Recompute)


def written(folder, trainings, outcome):
    """The files of a recording, by table."""
    for training in trainings:
        for name, row in RECORDING.rows(training, outcome):
            TableFile(folder / f"{name}.csv", rows.COLUMNS[name]).append(row)
    return {file.stem: read_runs(file) for file in folder.iterdir()}


def test_every_first_configuration_of_a_gpu_is_predicted(tmp_path):
    firsts = {training.network.name: training for training in reversed(ON_GPU)}.values()
    tables = written(tmp_path, firsts, DONE)
    assert set(tables) == set(rows.COLUMNS)
    for name in ("llm_training", "cnn_training", "single_device"):
        found = validate(tables[name], played=False).rows
        assert {row.status for row in found} == {Status.PREDICTED}, [row.reason for row in found]


def test_training_that_ran_out_of_memory_is_listed_and_not_scored(tmp_path):
    language = [each for each in ON_GPU if isinstance(each.network, Language)][:1]
    tables = written(tmp_path, language, FULL)
    assert set(tables) == {"llm_training", "memory"}
    assert all(run.out_of_memory for runs in tables.values() for run in runs)
    assert validate(tables["llm_training"], played=False).rows[0].status is Status.SKIPPED


def test_recording_goes_on_after_the_rows_that_it_has(tmp_path):
    table = TableFile(tmp_path / "table.csv", ("id", "value"))
    assert table.ids() == set()
    table.append({"id": "first", "value": None})
    table.append({"id": "second", "value": 2})
    assert table.ids() == {"first", "second"}
    assert table.path.read_text("utf-8") == "id,value\nfirst,\nsecond,2\n"


def test_rows_are_not_added_under_other_columns(tmp_path):
    TableFile(tmp_path / "table.csv", ("id", "value")).append({"id": "first"})
    with pytest.raises(SystemExit, match="has other columns"):
        TableFile(tmp_path / "table.csv", ("id", "seconds")).ids()


def test_steps_that_others_disturbed_do_not_count_where_enough_others_remain():
    quiet = [Lap(phases=(1.0, 2.0))] * 5
    loud = [Lap(phases=(9.0, 9.0), others=0.5)] * 20
    found = summarised(quiet + loud)
    assert (found.seconds, found.phases, found.counted, found.repeats) == (3.0, (1.0, 2.0), 5, 25)
    assert not found.disturbed


def test_time_of_steps_that_were_all_disturbed_says_so():
    found = summarised([Lap(phases=(float(n),), others=0.5) for n in range(1, 11)])
    assert found.disturbed
    assert found.seconds == 3.0  # of the quicker half


def test_step_is_repeated_as_often_as_asked_after_warming_up():
    calls = []

    def step(mark):
        calls.append(mark())
        mark()

    assert timed(step, HostClock(1), warm_up=2, repeats=10, seconds=0.0).repeats == 10
    assert len(calls) == 12


class Queue:
    """A GPU on which every mark passes a millisecond after the one before."""

    def __init__(self):
        self.marks = 0

    def Event(self, *, enable_timing):  # noqa: N802
        assert enable_timing
        return QueuedMark(self)

    def synchronize(self):
        self.marks += 1000  # whoever reads a clock before waiting sees another time


class QueuedMark:
    def __init__(self, queue):
        self.queue = queue

    def record(self):
        self.queue.marks += 1
        self.passed = self.queue.marks

    def elapsed_time(self, end):
        return float(end.passed - self.passed)


def test_steps_of_a_gpu_are_timed_by_marks_in_its_queue_without_waiting_between_them():
    laps = DeviceClock(Queue()).laps(lambda mark: [mark() for _ in range(4)], 3)
    assert [lap.phases for lap in laps] == [pytest.approx((1e-3, 1e-3, 1e-3))] * 3


@pytest.mark.parametrize("file", TABLES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_recorded_row_is_predicted_or_says_why_not(file):
    found = validate(read_runs(file), played=False).rows
    assert found
    assert all(row.reason for row in found if row.status is not Status.PREDICTED)
    if file.stem in {"llm_training", "cnn_training"}:
        assert all(row.predicted for row in found)


def test_recorded_networks_have_the_parameters_of_the_library():
    sizes = {each.network.name: each.size for each in ON_CPU if _listed(each)}
    files = [file for file in RECORDED if file.stem == "llm_training"]
    lines = [line for file in files for line in file.read_text("utf-8").splitlines(keepends=True)]
    found = {row["model"]: row["params_b"] for row in csv.DictReader(lines)}
    assert set(found) & set(sizes)
    for name in set(found) & set(sizes):
        counted = build(name, sequence=sizes[name]).parameters
        assert float(found[name]) == pytest.approx(counted / 1e9, rel=0.01)


def _listed(training):
    return isinstance(training.network, Language) and training.network.listed
