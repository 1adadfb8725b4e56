"""Logs: a small sample of each format, and everything that can be wrong with one."""

import gzip

import pytest

from foretrain.cluster.mixed import fleet
from foretrain.errors import InputError
from foretrain.jobs.run import run
from foretrain.measured.job import LISTED, End
from foretrain.study.traces.formats import read_openb_nodes
from foretrain.study.traces.read import FORMATS, read_log, read_trace

PHILLY = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,11cb48
2017-10-09 06:13:03,2951.0,2,5902.0,6214e9

"""
TIRESIAS = """job_id,num_gpu,submit_time,iterations,model_name,duration,interval
0,1,5,606,vgg19,164,30
1,8,30,133,vgg11,147,23
"""
OPENB = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,\
pod_phase,creation_time,deletion_time,scheduled_time
a,12000,16384,1,1000,,LS,Succeeded,0,100,10
b,6000,12288,2,1000,V100M16|V100M32,BE,Failed,5,40,20
c,6000,12288,0,0,,BE,Failed,5,40,20
d,6000,12288,1,460,,LS,Pending,7,,
"""
HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,\
submit_time,start_time,end_time,duration,queue
7,u1,vcA,8,32,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:01:00,2020-04-01 00:11:00,600,60
8,u2,vcB,0,32,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:01:00,2020-04-01 00:11:00,600,60
9,u2,vcB,1,4,1,CANCELLED,2020-04-01 00:00:30,2020-04-01 00:00:30,2020-04-01 00:01:00,30,0
"""
PAI = """j1,worker,4,Terminated,100,400,600,29,50,V100
j2,tensorflow,1,Failed,150,160,600,29,100,
j3,tensorflow,1,Running,150,,600,29,100,P100
"""
SWF = """; Version: 2.2
; MaxProcs: 8
1 0 10 100 4 -1 -1 4 200 -1 1 3 1 -1 2 -1 -1 -1
2 5 -1 -1 -1 -1 -1 4 200 -1 5 3 1 -1 2 -1 -1 -1
3 9 0 50 2 -1 -1 2 -1 -1 0 4 1 -1 2 -1 -1 -1
"""
SACCT = """JobID|User|Partition|Submit|Start|Elapsed|Timelimit|State|AllocTRES|NNodes
10|ann|gpu|2026-10-01T08:00:00|2026-10-01T08:02:00|\
1-00:00:10|2-00:00:00|\
COMPLETED|billing=9,cpu=8,gres/gpu=4|1
10.batch|||2026-10-01T08:02:00|2026-10-01T08:02:00|1-00:00:10||COMPLETED|cpu=8,gres/gpu=4|1
11|bob|gpu|2026-10-01T08:00:30|2026-10-01T08:01:30|00:05:00|UNLIMITED|CANCELLED by 1001|\
cpu=8,gres/gpu:a100=2|1
12|bob|gpu|2026-10-01T08:00:40|Unknown|00:00:00|01:00:00|CANCELLED||1
13|bob|cpu|2026-10-01T08:00:50|2026-10-01T08:00:50|00:01:00|01:00:00|TIMEOUT|cpu=8|1
"""


def written(folder, text, name="log.csv"):
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def left(log):
    """How many entries were left out, by the reason."""
    return {each.reason: each.count for each in log.left_out}


def told(log):
    """Line and text of the entries that were left out."""
    return [(entry.line, entry.told) for each in log.left_out for entry in each.first]


def rows(trace):
    return [(job.name, job.arrival, job.work, job.devices, job.end) for job in trace.jobs]


def test_philly_has_dates_and_no_states(tmp_path):
    trace = read_trace(written(tmp_path, PHILLY))
    assert rows(trace) == [
        ("line-000003", 0.0, 2951.0, 2, End.FINISHED),
        ("line-000002", 2932.0, 66.0, 1, End.FINISHED),
    ]
    assert trace.jobs[0].group == "6214e9"


def test_a_compressed_log_is_the_log(tmp_path):
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress(PHILLY.encode()))
    assert rows(read_trace(path)) == rows(read_trace(written(tmp_path, PHILLY)))


def test_tiresias_has_seconds(tmp_path):
    trace = read_trace(written(tmp_path, TIRESIAS), format="tiresias")
    assert rows(trace) == [
        ("job-000000", 0.0, 164.0, 1, End.FINISHED),
        ("job-000001", 25.0, 147.0, 8, End.FINISHED),
    ]


def test_openb_leaves_out_what_held_no_device_or_never_ran(tmp_path):
    log = read_log(written(tmp_path, OPENB))
    assert rows(log.trace) == [("a", 0.0, 90.0, 1, End.FINISHED), ("b", 5.0, 20.0, 2, End.FAILED)]
    assert log.trace.jobs[1].kinds == ("V100M16", "V100M32")
    assert log.begun == {"a": 10.0, "b": 20.0}
    assert left(log) == {"hold no device": 1, "have not run": 1}


def test_nodes_of_openb_become_a_fleet(tmp_path):
    text = "sn,cpu_milli,memory_mib,gpu,model\nn0,64,2,2,T4\nn1,64,2,2,T4\nn2,64,2,8,G2\n"
    fleet = read_openb_nodes(written(tmp_path, text))
    assert [(each.kind, each.count, each.devices) for each in fleet.nodes] == [
        ("G2", 1, 8),
        ("T4", 2, 2),
    ]


def test_nodes_of_one_kind_are_those_of_the_fewest_devices(tmp_path):
    text = "sn,cpu_milli,memory_mib,gpu,model\nn0,64,2,2,T4\nn1,64,2,4,T4\n"
    [nodes] = read_openb_nodes(written(tmp_path, text)).nodes
    assert (nodes.kind, nodes.count, nodes.devices) == ("T4", 3, 2)


def test_nodes_without_devices_are_none_of_the_fleet(tmp_path):
    text = "sn,cpu_milli,memory_mib,gpu,model\nn0,64,2,0,T4\nn1,64,2,4,T4\nn2,64,2,0,G2\n"
    [nodes] = read_openb_nodes(written(tmp_path, text)).nodes
    assert (nodes.kind, nodes.count, nodes.devices) == ("T4", 1, 4)


def test_helios_tells_when_jobs_began(tmp_path):
    log = read_log(written(tmp_path, HELIOS))
    assert rows(log.trace) == [("7", 0.0, 600.0, 8, End.FINISHED), ("9", 30.0, 30.0, 1, End.KILLED)]
    assert log.begun == {"7": 60.0, "9": 30.0}


def test_pai_names_no_columns_and_asks_for_parts_of_devices(tmp_path):
    log = read_log(written(tmp_path, PAI), format="pai")
    assert rows(log.trace) == [
        ("j1/worker", 0.0, 300.0, 2, End.FINISHED),
        ("j2/tensorflow", 50.0, 10.0, 1, End.FAILED),
        ("j3/tensorflow", 50.0, 250.0, 1, End.RUNNING),
    ]


def test_swf_is_known_by_its_name(tmp_path):
    log = read_log(written(tmp_path, SWF, "log.swf"))
    assert rows(log.trace) == [
        ("job-0000001", 0.0, 100.0, 4, End.FINISHED),
        ("job-0000003", 9.0, 50.0, 2, End.FAILED),
    ]
    assert log.trace.jobs[0].estimate == 200.0
    assert log.begun["job-0000001"] == 10.0


def test_slurm_leaves_out_steps_and_jobs_that_never_began(tmp_path):
    log = read_log(written(tmp_path, SACCT))
    assert rows(log.trace) == [
        ("10", 0.0, 86410.0, 4, End.FINISHED),
        ("11", 30.0, 300.0, 2, End.KILLED),
    ]
    assert [job.estimate for job in log.trace.jobs] == [172800.0, None]
    assert log.trace.jobs[1].kinds == ("a100",)
    assert left(log) == {"are steps of jobs": 1, "hold no device": 1, "have not run": 1}


OWN = "id,when,how long,cards\nx,0,60,2\ny,10,30,1\n"
MAP = {"name": "id", "arrival": "when", "duration": "how long", "devices": "cards"}


def test_any_table_is_read_by_a_map_of_its_columns(tmp_path):
    trace = read_trace(written(tmp_path, OWN), columns=MAP)
    assert rows(trace) == [("x", 0.0, 60.0, 2, End.FINISHED), ("y", 10.0, 30.0, 1, End.FINISHED)]


def test_a_map_names_fields_that_are_known_and_columns_that_are_there(tmp_path):
    path = written(tmp_path, OWN)
    with pytest.raises(InputError, match=r"unknown field 'arival'. Did you mean 'arrival'"):
        read_trace(path, columns={**MAP, "arival": "when"})
    with pytest.raises(InputError, match="line 1: the column gpus is missing"):
        read_trace(path, columns={**MAP, "devices": "gpus"})


@pytest.mark.parametrize("mark", [";", "\t"])
def test_a_table_that_is_separated_otherwise_is_told_so_once(tmp_path, mark):
    path = written(tmp_path, OWN.replace(",", mark))
    with pytest.raises(InputError) as error:
        read_trace(path, columns=MAP)
    assert f"line 1: is one cell, within which {mark!r} seems to separate; ',' is wanted." in str(
        error.value
    )
    assert "is missing" not in str(error.value)


def test_jobs_of_unknown_models_scale_as_is_assumed(tmp_path):
    path = written(tmp_path, TIRESIAS)
    job = read_trace(path, serial=0.0).jobs[1]
    assert job.curve.rate(8, nodes=1, kind="", done=0.0) == 1.0
    assert job.curve.rate(16, nodes=1, kind="", done=0.0) == 2.0


ODD = """job_id,num_gpu,submit_time,iterations,model_name,duration,interval
0,1,5,606,vgg19,164,30

1,8,30,133,vgg11,-147,23
3,0,32,133,vgg11,147,23
4,2,,133,vgg11,lasting,23
5,2,33
6,2,nan,133,vgg11,1e300,23
7,2.5,34,133,vgg11,0,23
8,2,35,133,vgg11,0,23
9,2,36,133,vgg11,12,23

"""


def test_an_entry_that_is_odd_is_left_out_with_its_line_and_the_others_are_read(tmp_path):
    log = read_log(written(tmp_path, ODD))
    assert [row[:2] for row in rows(log.trace)] == [("job-000000", 0.0), ("job-000009", 31.0)]
    assert left(log) == {
        "cannot be read": 5, "are blank": 1, "hold no device": 1, "ran for no second": 1
    }  # fmt: skip
    for line, text in (
        (4, "duration is '-147'; nothing takes less than no time."),
        (6, "submit_time is empty."),
        (6, "duration is 'lasting', neither seconds nor"),
        (7, "has 3 cells, but there are 7 columns."),
        (8, "submit_time is 'nan', neither seconds nor a date"),
        (8, "duration is 1e+300 s; a job cannot run for that long."),
        (9, "num_gpu is 2.5, not a whole number"),
    ):
        assert any(at == line and text in said for at, said in told(log)), (line, text)


def test_a_log_of_which_nothing_is_left_is_refused_with_the_reasons(tmp_path):
    path = written(tmp_path, "\n".join(ODD.splitlines()[:1] + ODD.splitlines()[3:6]))
    with pytest.raises(InputError) as error:
        read_log(path)
    assert str(error.value).startswith(f"{path} has 4 problems.")
    for text in (
        "holds no job that ran and ended.",
        "line 2: duration is '-147'",
        "line 3: entries that hold no device.",
        "line 4: submit_time is empty.",
    ):
        assert text in str(error.value)


def test_of_entries_that_are_left_out_the_first_are_listed_and_all_are_counted(tmp_path):
    bad = "".join(f"{line},x,5,606,vgg19,164,30\n" for line in range(500))
    log = read_log(written(tmp_path, TIRESIAS + bad))
    [reason] = log.left_out
    assert (reason.count, len(reason.first), reason.first[0].line) == (500, LISTED, 4)


def test_a_column_that_no_format_has_is_told(tmp_path):
    text = PHILLY.replace("cluster", "clutser", 1)
    with pytest.raises(
        InputError, match=r"line 1: unknown column 'clutser'. Did you mean 'cluster'"
    ):
        read_trace(written(tmp_path, text))


def test_a_job_in_a_state_that_is_not_known_is_left_out(tmp_path):
    log = read_log(written(tmp_path, HELIOS.replace("CANCELLED", "VANISHED")))
    assert [job.name for job in log.trace.jobs] == ["7"]
    [(_, _), (line, said)] = sorted(told(log))
    assert (line, said[:24]) == (4, "unknown state 'VANISHED'")


def test_a_negative_time_with_colons_is_told(tmp_path):
    text = "came,ran,gpus\n0,-01:00:00,1\n5,01:00:00,1\n"
    columns = {"arrival": "came", "duration": "ran", "devices": "gpus"}
    log = read_log(written(tmp_path, text), columns=columns)
    assert told(log) == [(2, "ran is '-01:00:00'; nothing takes less than no time.")]


def test_a_log_that_lacks_one_column_of_a_format_is_told_which(tmp_path):
    text = SACCT.replace("AllocTRES", "ReqTRES", 1)
    with pytest.raises(InputError, match="To be read as sacct it lacks AllocTRES"):
        read_trace(written(tmp_path, text))


def test_a_job_that_begins_before_it_comes_is_left_out(tmp_path):
    text = HELIOS.replace(
        "2020-04-01 00:01:00,2020-04-01 00:11", "2020-03-31 00:01:00,2020-04-01 00:11"
    )
    log = read_log(written(tmp_path, text))
    assert [job.name for job in log.trace.jobs] == ["9"]
    assert left(log)["began before they were submitted"] == 1


def test_formats_that_are_not_known_are_named(tmp_path):
    path = written(tmp_path, "a,b\n1,2\n")
    with pytest.raises(InputError, match=r"unknown format 'phily'. Did you mean 'philly'"):
        read_trace(path, format="phily")
    with pytest.raises(InputError, match=r"no format that is known\. Name one: philly"):
        read_trace(path)
    with pytest.raises(InputError, match="there is no such file"):
        read_trace(tmp_path / "nowhere.csv")


SAME_SECOND = """JobID|Submit|Start|Elapsed|State|AllocTRES
9|2026-10-01T08:00:00|2026-10-01T08:00:00|10|COMPLETED|gres/gpu=1
10|2026-10-01T08:00:00|2026-10-01T08:00:10|10|COMPLETED|gres/gpu=1
11|2026-10-01T08:00:00|2026-10-01T08:00:20|10|COMPLETED|gres/gpu=1
"""


def test_jobs_of_one_second_are_in_the_order_of_the_log(tmp_path):
    log = read_log(written(tmp_path, SAME_SECOND))
    assert [job.name for job in log.trace.jobs] == ["9", "10", "11"]
    assert [job.sequence for job in log.trace.jobs] == [2, 3, 4]


def test_a_job_whose_end_is_left_blank_is_not_taken_to_have_finished(tmp_path):
    log = read_log(written(tmp_path, HELIOS.replace("CANCELLED", "")))
    assert [job.name for job in log.trace.jobs] == ["7"]
    assert (4, "state is empty. Fill it in, or leave the line out.") in told(log)


REQUEUED = """JobID|Submit|Start|Elapsed|State|AllocTRES
5|2026-10-01T08:00:00|2026-10-01T08:00:30|60|NODE_FAIL|gres/gpu=2
6|2026-10-01T08:00:10|2026-10-01T08:00:30|90|COMPLETED|gres/gpu=1
5|2026-10-01T08:01:30|2026-10-01T08:02:00|40|REQUEUED|gres/gpu=2
5|2026-10-01T08:03:00|2026-10-01T08:03:00|600|COMPLETED|gres/gpu=2
"""


def test_each_run_of_a_job_that_was_requeued_is_a_submission_of_its_own(tmp_path):
    log = read_log(written(tmp_path, REQUEUED))
    assert rows(log.trace) == [
        ("5", 0.0, 60.0, 2, End.FAILED),
        ("6", 10.0, 90.0, 1, End.FINISHED),
        ("5#2", 90.0, 40.0, 2, End.KILLED),
        ("5#3", 180.0, 600.0, 2, End.FINISHED),
    ]
    assert log.begun == {"5": 30.0, "6": 30.0, "5#2": 120.0, "5#3": 180.0}
    assert (log.resubmitted, log.left_out) == (2, ())


def test_a_name_that_a_requeued_job_would_get_may_be_taken(tmp_path):
    log = read_log(written(tmp_path, REQUEUED.replace("\n6|", "\n5#2|")))
    assert [job.name for job in log.trace.jobs] == ["5", "5#2", "5#3", "5#4"]


def test_an_entry_that_overlapping_extracts_of_a_log_tell_twice_is_one_job(tmp_path):
    body = REQUEUED.splitlines()[1:]
    log = read_log(written(tmp_path, REQUEUED + "\n".join(body[:2]) + "\n"))
    assert len(log.trace.jobs) == 4
    assert left(log) == {"repeat another entry": 2}
    assert told(log)[0] == (6, "see line 2.")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_a_job_that_one_extract_saw_running_the_other_tells_the_end(tmp_path, order):
    seen = ("6|2026-10-01T08:00:10|2026-10-01T08:00:30|15|RUNNING|gres/gpu=1",
            "6|2026-10-01T08:00:10|2026-10-01T08:00:30|90|COMPLETED|gres/gpu=1")  # fmt: skip
    head = REQUEUED.splitlines()[0]
    log = read_log(written(tmp_path, "\n".join([head, *(seen[place] for place in order)])))
    assert rows(log.trace) == [("6", 0.0, 90.0, 1, End.FINISHED)]
    assert (log.running, left(log)) == (0, {"repeat another entry": 1})


def test_a_job_that_still_runs_is_known_for_as_long_as_the_log_saw_it(tmp_path):
    text = SAME_SECOND.replace("20|10|COMPLETED", "20|400|RUNNING")
    log = read_log(written(tmp_path, text))
    assert rows(log.trace)[2] == ("11", 0.0, 400.0, 1, End.RUNNING)
    assert log.running == 1


def test_a_job_that_still_runs_where_no_duration_is_told_ran_until_the_last_moment(tmp_path):
    text = HELIOS.replace("CANCELLED", "RUNNING").replace(":01:00,30,0", ":01:00,,0")
    log = read_log(written(tmp_path, text))
    assert rows(log.trace)[1] == ("9", 30.0, 630.0, 1, End.RUNNING)


def test_a_task_that_ran_when_it_was_last_seen_was_deleted_unless_the_log_ends_there(tmp_path):
    text = OPENB.replace("Succeeded", "Running").replace("Failed", "Running", 1)
    log = read_log(written(tmp_path, text))
    assert [job.end for job in log.trace.jobs] == [End.RUNNING, End.FINISHED]


def test_a_log_of_jobs_that_all_still_run_says_how_long_none_of_them_takes(tmp_path):
    with pytest.raises(InputError, match="holds no job that ran and ended"):
        read_log(written(tmp_path, SAME_SECOND.replace("COMPLETED", "RUNNING")))


def test_a_job_that_still_runs_since_nobody_knows_when_is_left_out(tmp_path):
    text = "came,ran,gpus,state\n0,5,1,done\n0,5,1,completed\n1,,1,running\n2,,1,pending\n"
    columns = {"arrival": "came", "duration": "ran", "devices": "gpus", "end": "state"}
    log = read_log(written(tmp_path, text), columns=columns)
    assert left(log) == {
        "cannot be read": 1,
        "still ran when the log was written, which does not tell since when": 1,
    }


SWAPPED = """1 0 10 100 4 -1 -1 4 200 -1 1 3 1 -1 2 -1 -1 -1
1 0 10 60 4 -1 -1 4 200 -1 2 3 1 -1 2 -1 -1 -1
1 -1 20 40 4 -1 -1 4 200 -1 3 3 1 -1 2 -1 -1 -1
2 -1 0 40 4 -1 -1 4 200 -1 1 3 1 -1 2 -1 -1 -1
3 5 0 40 2.5 -1 -1 4 200 -1 1 3 1 -1 2 -1 -1 -1
4 5 0 40 2 -1 -1 4 200 -1 7 3 1 -1 2 -1 -1 -1
"""


def test_parts_of_a_job_that_was_swapped_out_are_told_by_the_line_of_all_of_it(tmp_path):
    log = read_log(written(tmp_path, SWAPPED, "log.swf"))
    assert rows(log.trace) == [("job-0000001", 0.0, 100.0, 4, End.FINISHED)]
    assert left(log) == {
        "tell of parts of a job, which has a line of its own": 2,
        "do not tell when they were submitted": 1,
        "cannot be read": 2,
    }


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_file_is_refused_in_every_format(name, tmp_path):
    with pytest.raises(InputError):
        read_trace(written(tmp_path, ""), format=name)


AFTER = {"name": "id", "arrival": "came", "duration": "ran", "devices": "gpus", "after": "waits"}


def waiting_for(folder, cell):
    text = f'id,came,ran,gpus,waits\n7,0,50,1,\n8,1,50,1,\n9,2,5,1,"{cell}"\n'
    return read_log(written(folder, text), columns=AFTER)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("", []),
        ("7", [("7", "afterany")]),
        ("7;8", [("7", "afterany"), ("8", "afterany")]),
        ("afterok:7:8,after:7", [("7", "afterok"), ("8", "afterok"), ("7", "after")]),
        ("afternotok: 7", [("7", "afternotok")]),
    ],
)
def test_a_table_says_what_a_job_waits_for_as_slurm_does(tmp_path, cell, expected):
    jobs = {job.name: job for job in waiting_for(tmp_path, cell).trace.jobs}
    assert [(each.job, each.what.value) for each in jobs["9"].after] == expected


@pytest.mark.parametrize(
    "cell", ["afterok:7?afterok:8", "after:7+5", "singleton:", "until:7", "7,"]
)
def test_a_job_that_waits_for_what_is_not_simulated_is_left_out(tmp_path, cell):
    [left] = waiting_for(tmp_path, cell).left_out
    assert (left.count, left.first[0].line) == (1, 4)
    assert "afterok:7:8" in left.first[0].told


def test_jobs_of_a_table_wait_for_each_other_under_every_policy(tmp_path):
    trace = waiting_for(tmp_path, "afterok:7,8").trace
    for policy in ("fifo", "srtf", "easy", "max-min"):
        outcomes = run(trace, fleet(4), policy)
        assert outcomes.begun[2] >= max(outcomes.ended[:2])


def test_jobs_of_a_table_that_wait_for_each_other_are_refused(tmp_path):
    trace = waiting_for(tmp_path, "9").trace
    with pytest.raises(InputError, match="jobs wait for each other: 9 < 9"):
        run(trace, fleet(4), "fifo")
