"""Logs: a small sample of each format, and everything that can be wrong with one."""

import gzip

import pytest

from foretrain.errors import InputError
from foretrain.files.traces.openb import read_openb_nodes
from foretrain.files.traces.read import FORMATS, read_log, read_trace
from foretrain.measured.job import End

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
    assert log.left_out == {"hold no device": 1, "have not run": 1}


def test_nodes_of_openb_become_a_fleet(tmp_path):
    text = "sn,cpu_milli,memory_mib,gpu,model\nn0,64,2,2,T4\nn1,64,2,2,T4\nn2,64,2,8,G2\n"
    fleet = read_openb_nodes(written(tmp_path, text))
    assert [(each.kind, each.count, each.devices) for each in fleet.nodes] == [
        ("G2", 1, 8),
        ("T4", 2, 2),
    ]


def test_helios_tells_when_jobs_began(tmp_path):
    log = read_log(written(tmp_path, HELIOS))
    assert rows(log.trace) == [("7", 0.0, 600.0, 8, End.FINISHED), ("9", 30.0, 30.0, 1, End.KILLED)]
    assert log.begun == {"7": 60.0, "9": 30.0}


def test_pai_names_no_columns_and_asks_for_parts_of_devices(tmp_path):
    log = read_log(written(tmp_path, PAI), format="pai")
    assert rows(log.trace) == [
        ("j1/worker", 0.0, 300.0, 2, End.FINISHED),
        ("j2/tensorflow", 50.0, 10.0, 1, End.FAILED),
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
    assert log.left_out == {"are steps of jobs": 1, "hold no device": 2}


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


def test_jobs_of_unknown_models_scale_as_is_assumed(tmp_path):
    path = written(tmp_path, TIRESIAS)
    job = read_trace(path, serial=0.0).jobs[1]
    assert job.curve.rate(8, nodes=1, kind="", done=0.0) == 1.0
    assert job.curve.rate(16, nodes=1, kind="", done=0.0) == 2.0


WRONG = """job_id,num_gpu,submit_time,iterations,model_name,duration,interval
0,1,5,606,vgg19,164,30

1,8,30,133,vgg11,-147,23
0,2,31,133,vgg11,147,23
3,64,32,133,vgg11,147,23
4,2,,133,vgg11,lasting,23
5,2,33
"""


def test_everything_that_is_wrong_is_told_at_once_with_its_line(tmp_path):
    path = written(tmp_path, WRONG)
    with pytest.raises(InputError) as error:
        read_trace(path, devices=32)
    told = str(error.value)
    assert told.startswith(f"{path} has 7 problems.")
    for line in (
        "line 3: is blank: a gap in the log.",
        "line 4: duration is '-147'; nothing takes less than no time.",
        "line 5: a job called job-000000 stands in line 2.",
        "line 6: job job-000003 held 64 devices; the cluster has 32.",
        "line 7: submit_time is empty.",
        "line 7: duration is 'lasting', neither seconds nor",
        "line 8: has 3 cells, but there are 7 columns.",
    ):
        assert line in told


def test_a_column_that_no_format_has_is_told(tmp_path):
    text = PHILLY.replace("cluster", "clutser", 1)
    with pytest.raises(
        InputError, match=r"line 1: unknown column 'clutser'. Did you mean 'cluster'"
    ):
        read_trace(written(tmp_path, text))


def test_a_state_that_is_not_known_is_told(tmp_path):
    text = HELIOS.replace("CANCELLED", "VANISHED")
    with pytest.raises(InputError, match="line 4: unknown state 'VANISHED'"):
        read_trace(written(tmp_path, text))


def test_a_negative_time_with_colons_is_told(tmp_path):
    text = "came,ran,gpus\n0,-01:00:00,1\n"
    columns = {"arrival": "came", "duration": "ran", "devices": "gpus"}
    with pytest.raises(InputError, match="line 2: ran is '-01:00:00'; nothing takes less"):
        read_trace(written(tmp_path, text), columns=columns)


def test_a_log_that_lacks_one_column_of_a_format_is_told_which(tmp_path):
    text = SACCT.replace("AllocTRES", "ReqTRES", 1)
    with pytest.raises(InputError, match="To be read as sacct it lacks AllocTRES"):
        read_trace(written(tmp_path, text))


def test_a_job_cannot_begin_before_it_comes(tmp_path):
    text = HELIOS.replace(
        "2020-04-01 00:01:00,2020-04-01 00:11", "2020-03-31 00:01:00,2020-04-01 00:11"
    )
    with pytest.raises(InputError, match="line 2: job 7 began before it was submitted"):
        read_trace(written(tmp_path, text))


def test_formats_that_are_not_known_are_named(tmp_path):
    path = written(tmp_path, "a,b\n1,2\n")
    with pytest.raises(InputError, match=r"unknown format 'phily'. Did you mean 'philly'"):
        read_trace(path, format="phily")
    with pytest.raises(InputError, match="Name one: philly"):
        read_trace(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_trace(tmp_path / "nowhere.csv")


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_file_is_refused_in_every_format(name, tmp_path):
    with pytest.raises(InputError):
        read_trace(written(tmp_path, ""), format=name)
