"""Logs of sacct unlike the examples: other columns, arrays, components, what a line submitted."""

from math import inf

import pytest

from foretrain.cluster.mixed import fleet
from foretrain.errors import InputError
from foretrain.jobs.run import run
from foretrain.measured.job import Dependency, DependsOn, End
from foretrain.study.traces.read import read_log

HEAD = "State|AllocTRES|JobID|Start|Submit|Elapsed|ReqTRES|SubmitLine|JobName|User|Timelimit"
TOOK = "2026-03-05T06:00:00|2026-03-05T06:00:00|00:10:00"


def row(name, *, state="COMPLETED", tres="gres/gpu=1", took=TOOK, line="", label="a", limit="1:00"):
    return f"{state}|{tres}|{name}|{took}|gres/gpu=1|{line}|{label}|u|{limit}"


def read(folder, *rows, head=HEAD, end=""):
    path = folder / "log.csv"
    path.write_text("".join(f"{each}{end}\n" for each in (head, *rows)), "utf-8")
    return read_log(path)


def jobs(log):
    return {each.name: each for each in log.trace.jobs}


def test_columns_may_stand_in_any_order_and_lines_may_end_in_a_delimiter(tmp_path):
    """`--parsable` ends lines in one, `--parsable2` does not."""
    text = [row("7"), row("8", state="CANCELLED by 1001", limit="UNLIMITED")]
    plain, ended = (read(tmp_path, *text, end=end) for end in ("", "|"))
    assert plain.trace.jobs == ended.trace.jobs
    assert [(each.end, each.estimate) for each in plain.trace.jobs] == [
        (End.FINISHED, 60.0), (End.KILLED, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("state", "end"),
    [
        ("CANCELLED+", End.KILLED), ("OUT_OF_ME+", End.FAILED), ("NODE_FAIL", End.FAILED),
        ("CONFIGURING", End.RUNNING), ("REQUEUED", End.KILLED),
    ],
)  # fmt: skip
def test_states_are_those_of_slurm_and_may_be_cut_off(tmp_path, state, end):
    assert jobs(read(tmp_path, row("7"), row("8", state=state)))["8"].end is end


@pytest.mark.parametrize(
    ("tres", "devices"),
    [
        ("billing=96,cpu=96,gres/gpu:h100=8,gres/gpu=8,mem=1T,node=1", 8),
        ("billing=96,cpu=96,gres/gpu:h100=8,mem=1T,node=1", 8),
        ("gres/gpu:1g.10gb=1,gres/gpumem=10G,gres/gpuutil=0,license/matlab=2", 1),
    ],
)
def test_devices_are_counted_once(tmp_path, tres, devices):
    assert jobs(read(tmp_path, row("7", tres=tres)))["7"].devices == devices


def test_how_long_a_job_ran_may_be_told_by_its_end(tmp_path):
    took = "2026-03-05T06:00:00|2026-03-05T06:00:00|2026-03-05T06:07:00"
    log = read(tmp_path, row("7", took=took), head=HEAD.replace("Elapsed", "End"))
    assert jobs(log)["7"].work == 420.0


@pytest.mark.parametrize("limit", ["UNLIMITED", "Partition_Limit", "partition_limit", ""])
def test_a_limit_that_is_the_partitions_is_no_estimate(tmp_path, limit):
    assert jobs(read(tmp_path, row("7", limit=limit)))["7"].estimate is None


def test_a_limit_may_be_told_in_minutes_alone(tmp_path):
    head = HEAD.replace("Timelimit", "TimelimitRaw")
    assert jobs(read(tmp_path, row("7", limit="90"), head=head))["7"].estimate == 5400.0


def test_tasks_and_components_and_what_waits_of_an_array_are_jobs(tmp_path):
    """Of 12 two tasks may run at once: one of five has run, and four wait."""
    waits = "Unknown|2026-03-05T06:00:00|00:00:00"
    log = read(
        tmp_path,
        row("12_2"), row("12_2.batch"), row("12_[3-6%2]", state="PENDING", tres="", took=waits),
        row("20+0"), row("20+1"), row("20+1.0"),
    )  # fmt: skip
    assert {*jobs(log)} == {"12_2", "12_3", "12_4", "12_5", "12_6", "20+0", "20+1"}
    assert {each.array for each in log.trace.jobs} == {"12", ""}
    assert log.at_once == {"12": 2}
    assert log.not_kept == {"that the components of a heterogeneous job start together": 2}
    assert [each.count for each in log.left_out] == [2]


def late(minute):
    """A run of ten minutes that was submitted at six."""
    return f"2026-03-05T06:{minute:02}:00|2026-03-05T06:00:00|00:10:00"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("sbatch --dependency=afterok:7:8 job.sh", [("7", "afterok"), ("8", "afterok")]),
        ("sbatch -d afterany:7,singleton -W job.sh", [("7", "afterany"), ("", "singleton")]),
        ("sbatch -dafter:7 job.sh -d 8", [("7", "after")]),
        ("sbatch --exclusive -p gpu job.sh --dependency=afterok:8", []),
        ("sbatch --wrap='a | b' --dependency=afterany:7 ", [("7", "afterany")]),
    ],
)  # fmt: skip
def test_a_line_says_what_its_job_waits_for(tmp_path, line, expected):
    log = read(tmp_path, row("7"), row("8"), row("9", took=late(30), line=line))
    assert [(each.job, each.what.value) for each in jobs(log)["9"].after] == expected
    assert not log.not_kept
    assert not log.left_out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("afterburstbuffer:7", "the dependency afterburstbuffer"),
        ("afterok:6", "not in the log"),
        ("afternotok:7", "ended otherwise"),
        ("after:7+10", "the dependency after"),
    ],
)
def test_what_is_not_kept_of_a_job_is_told_and_the_job_stays(tmp_path, line, told):
    log = read(tmp_path, row("7"), row("9", took=late(30), line=f"sbatch -d {line} job.sh"))
    assert jobs(log)["9"].after == ()
    [(found, count)] = log.not_kept.items()
    assert told in found
    assert count == 1


def test_who_waited_for_a_job_that_was_requeued_waits_for_its_last_run(tmp_path):
    again = "2026-03-05T06:20:00|2026-03-05T06:15:00|00:05:00"
    log = read(
        tmp_path, row("7", state="NODE_FAIL"), row("7", took=again),
        row("9", took=late(30), line="sbatch -d afterok:7 job.sh"),
    )  # fmt: skip
    assert jobs(log)["9"].after == (Dependency("7#2", DependsOn.SUCCESS),)


def test_tasks_wait_for_tasks(tmp_path):
    line = "sbatch --array=0-1%1 --dependency=aftercorr:7 job.sh"
    tasks = [row(f"7_{number}") for number in range(2)]
    log = read(tmp_path, *tasks, *(row(f"8_{n}", took=late(30), line=line) for n in range(2)))
    assert jobs(log)["8_1"].after == (Dependency("7_1", DependsOn.SUCCESS),)
    assert log.at_once == {"8": 1}


def test_jobs_of_one_name_run_one_by_one_as_their_lines_say(tmp_path):
    line = "sbatch --dependency=singleton -L matlab:2,ansys job.sh"
    log = read(tmp_path, *(row(str(7 + each), line=line) for each in range(3)))
    assert jobs(log)["7"].licenses == (("ansys", 1), ("matlab", 2))
    assert list(run(log.trace, fleet(4), "slurm").begun) == [0.0, 600.0, 1200.0]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("2@10", (2, 600.0)), ("1@10:30", (1, 630.0)), ("1@1:00:00", (1, 3600.0)),
        ("1@1-02", (1, 93_600.0)), ("3", (3, inf)), ("0", None),
    ],
)  # fmt: skip
def test_a_line_says_for_how_few_switches_its_job_waits(tmp_path, asked, expected):
    log = read(tmp_path, row("7", line=f"sbatch --switches={asked} job.sh"))
    assert jobs(log)["7"].switches == expected


@pytest.mark.parametrize("head", ["JobID,Submit,Start", "       JobID     Submit    Start"])
def test_a_log_without_bars_between_cells_says_how_to_print_it(tmp_path, head):
    with pytest.raises(InputError, match="--parsable2"):
        read(tmp_path, "7,1,1", head=head)


def test_a_list_of_tasks_that_was_cut_off_is_told(tmp_path):
    waits = "Unknown|2026-03-05T06:00:00|00:00:00"
    cut = row("13_[1,3,...]", state="PENDING", tres="", took=waits)
    [left] = read(tmp_path, row("7"), cut).left_out
    assert "no numbers and ranges such as 7_[1-5,9]" in left.first[0].told


def test_a_log_that_is_no_table_says_what_is_read(tmp_path):
    path = tmp_path / "log.json"
    path.write_text('{"jobs": [{"job_id": 7}], "meta": {"plugin": {}}}', "utf-8")
    with pytest.raises(InputError, match="--parsable2"):
        read_log(path)
