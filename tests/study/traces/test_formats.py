"""Formats of logs, cell by cell: what every cell says of a job, and what makes a line none."""

import pytest

from foretrain.measured.job import End
from foretrain.study.traces.format import Row
from foretrain.study.traces.read import FORMATS
from foretrain.study.traces.record import NotAJob, Record

CELLS = {
    "helios": {
        "job_id": "7", "user": "u1", "vc": "vc3", "type": "train", "gpu_num": "8",
        "state": "COMPLETED", "submit_time": "100", "start_time": "130", "duration": "50",
    },
    "pai": {
        "job_name": "a", "task_name": "worker", "inst_num": "3", "status": "Terminated",
        "start_time": "100", "end_time": "160", "plan_gpu": "50", "gpu_type": "V100",
    },
    "philly": {"timestamp": "100", "duration": "50", "num_gpus": "4", "cluster": "x"},
    "tiresias": {
        "job_id": "7", "num_gpu": "4", "submit_time": "100", "duration": "50",
        "model_name": "vgg",
    },
    "sacct": {
        "JobID": "7", "User": "u1", "Partition": "p", "Submit": "100", "Start": "130",
        "Elapsed": "50", "Timelimit": "2:00", "State": "COMPLETED",
        "AllocTRES": "cpu=8,gres/gpu:a100=4,node=1", "Priority": "9342",
    },
    "swf": {
        "job number": "7", "submit time": "100", "wait time": "30", "run time": "50",
        "allocated processors": "4", "requested processors": "6", "requested time": "120",
        "status": "1", "user": "3", "queue": "2",
    },
}  # fmt: skip

BEGUN = {"arrival": 100.0, "ran": 50.0, "line": 9}
RECORDS = {
    "helios": Record(
        **BEGUN, name="7", devices=8, begun=130.0, user="u1", group="vc3"
    ),
    "pai": Record(
        **BEGUN | {"ran": 60.0}, name="a/worker", devices=2, kinds=("V100",)
    ),
    "philly": Record(**BEGUN, name="line-000009", devices=4, group="x"),
    "tiresias": Record(**BEGUN, name="job-000007", devices=4, group="vgg"),
    "sacct": Record(
        **BEGUN, name="7", devices=4, begun=130.0, estimate=120.0, user="u1", group="p",
        kinds=("a100",), nodes=1, priority=9342.0, again=True,
    ),
    "swf": Record(
        **BEGUN, name="job-0000007", devices=4, begun=130.0, estimate=120.0, user="3", group="2"
    ),
}  # fmt: skip


def record(name, **changed):
    """The record of a line with some cells changed; spaces in names of columns are underscores."""
    cells = CELLS[name] | {
        column: changed[column.replace(" ", "_")]
        for column in FORMATS[name].columns
        if column.replace(" ", "_") in changed
    }
    row = Row(cells, 9)
    found = FORMATS[name].record(row)
    assert not row.problems
    return found


@pytest.mark.parametrize("name", CELLS)
def test_line_is_the_job_that_its_cells_tell(name):
    assert record(name) == RECORDS[name]


@pytest.mark.parametrize(
    ("name", "changed", "reason"),
    [
        ("helios", {"gpu_num": "0"}, "hold no device"),
        ("helios", {"start_time": ""}, "have not run"),
        ("pai", {"status": "Waiting"}, "had not begun"),
        ("sacct", {"State": "PENDING", "Start": "Unknown"}, "wait, and do not tell in ReqTRES"),
        ("pai", {"plan_gpu": ""}, "hold no device"),
        ("pai", {"plan_gpu": "0"}, "hold no device"),
        ("pai", {"start_time": ""}, "have not run"),
        ("sacct", {"JobID": "7.batch"}, "are steps of jobs"),
        ("sacct", {"AllocTRES": "cpu=8"}, "hold no device"),
        ("sacct", {"Start": "Unknown"}, "have not run"),
        *(("swf", {"status": code}, "tell of parts of a job") for code in "234"),
        ("swf", {"run_time": "-1"}, "have not run"),
        ("swf", {"allocated_processors": "-1", "requested_processors": "-1"}, "have not run"),
        ("swf", {"submit_time": "-1"}, "do not tell when they were submitted"),
    ],
)
def test_line_that_is_no_job_says_why(name, changed, reason):
    with pytest.raises(NotAJob, match=reason):
        record(name, **changed)


@pytest.mark.parametrize(
    ("name", "changed", "field", "value"),
    [
        # What still runs has run since it began, unless the log says for how long.
        ("helios", {"state": "RUNNING", "duration": ""}, "ran", None),
        ("helios", {"state": "RUNNING"}, "ran", 50.0),
        ("helios", {"state": "RUNNING"}, "end", End.RUNNING),
        ("helios", {"state": "FAILED"}, "end", End.FAILED),
        # Who waits has not begun, whatever start is expected, and holds nothing yet.
        ("helios", {"state": "PENDING", "start_time": "", "duration": ""}, "end", End.PENDING),
        ("helios", {"state": "PENDING"}, "begun", None),
        ("sacct", {"State": "PENDING", "ReqTRES": "gres/gpu=6"}, "devices", 6),
        ("sacct", {"State": "PENDING", "ReqTRES": "gres/gpu=6"}, "ran", None),
        ("sacct", {"Eligible": "110"}, "eligible", 110.0),
        ("sacct", {"Eligible": "Unknown"}, "eligible", None),
        ("helios", {"state": "CANCELLED by 7"}, "end", End.KILLED),
        ("helios", {"vc": ""}, "group", "train"),
        ("pai", {"status": "Running", "end_time": ""}, "ran", None),
        ("pai", {"status": "Running"}, "ran", 60.0),
        ("pai", {"inst_num": "1", "plan_gpu": "1"}, "devices", 1),
        ("pai", {"inst_num": "4", "plan_gpu": "200"}, "devices", 8),
        ("pai", {"gpu_type": ""}, "kinds", ()),
        ("sacct", {"Timelimit": "UNLIMITED"}, "estimate", None),
        ("sacct", {"Timelimit": "Partition_Limit"}, "estimate", None),
        ("sacct", {"Timelimit": ""}, "estimate", None),
        ("sacct", {"Elapsed": "1:00"}, "ran", 60.0),
        ("sacct", {"ElapsedRaw": "70"}, "ran", 70.0),
        ("sacct", {"AllocTRES": "gres/gpu=8,gres/gpu:v100=8"}, "devices", 8),
        ("sacct", {"AllocTRES": "gres/gpu:v100=2,gres/gpu:a100=1"}, "devices", 3),
        ("sacct", {"AllocTRES": "gres/gpu:v100=2,gres/gpu:a100=1"}, "kinds", ("a100", "v100")),
        ("sacct", {"AllocTRES": "gres/gpu=8"}, "kinds", ()),
        ("swf", {"status": "0"}, "end", End.FAILED),
        ("swf", {"status": "5"}, "end", End.KILLED),
        ("swf", {"status": "-1"}, "end", End.FINISHED),
        ("swf", {"allocated_processors": "-1"}, "devices", 6),
        ("swf", {"allocated_processors": "0"}, "devices", 6),
        ("swf", {"wait_time": "-1"}, "begun", None),
        ("swf", {"wait_time": "0"}, "begun", 100.0),
        ("swf", {"requested_time": "-1"}, "estimate", None),
        ("swf", {"requested_time": "0"}, "estimate", None),
    ],
)
def test_cell_says_what_it_says(name, changed, field, value):
    assert getattr(record(name, **changed), field) == value


def test_status_that_swf_does_not_have_is_wrong():
    row = Row(CELLS["swf"] | {"status": "9"}, 9)
    FORMATS["swf"].record(row)
    assert row.problems == ["status is 9. Known: -1, 0, 1, 5, and 2 to 4 for parts of a job."]
