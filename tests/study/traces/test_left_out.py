"""What of a log is left out and what is refused, in words, and what nearly would be and is not."""

from math import ceil

import pytest
from validation.scheduling.formats.gavel import curve_of, read_gavel, read_throughputs
from validation.scheduling.formats.pollux import read_profile, read_workload
from validation.scheduling.formats.shockwave import read_shockwave

from foretrain.errors import InputError
from foretrain.measured.job import (
    End,
)
from foretrain.study.traces.formats import read_openb_nodes
from foretrain.study.traces.read import FORMATS, read_log
from foretrain.throughput import (
    Phased,
    Point,
    ThroughputCurve,
)


def written(folder, text, name="log.csv"):
    path = folder / name
    path.write_text(text, "utf-8")
    return path


OWN = {"arrival": "came", "duration": "ran", "devices": "gpus", "begun": "at", "end": "state",
       "estimate": "limit", "user": "who", "group": "queue", "kind": "on"}  # fmt: skip
HEAD = ",".join(OWN.values())
WHOLE = "0,1000,1,0,completed,,,,"
"""A job that runs from 0 s to 1,000 s, after which the log was written."""


def own(folder, line):
    """What a table of one's own tells of a second job: the job, or why it is none."""
    log = read_log(written(folder, f"{HEAD}\n{WHOLE}\n{line}\n"), columns=OWN)
    if log.left_out:
        ((reason, told),) = ((each.reason, each.first) for each in log.left_out)
        return reason, [each.told for each in told]
    return log.trace.jobs[1]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("soon,x,0,y,gone,z,,,", "hold no device"),  # a job without devices is read no further
        ("5,,2,,running,,,,", "still ran when the log was written, which does not tell since when"),
        ("5,0,2,20,failed,,,,", "ran for no second"),
        ("5,,2,1000,running,,,,", "ran for no second"),
        ("5,9,2,4,failed,,,,", "began before they were submitted"),
        ("5,,2,20,failed,,,,", "cannot be read"),
    ],
)
def test_a_line_that_tells_of_no_job_says_why(tmp_path, line, reason):
    assert own(tmp_path, line)[0] == reason


@pytest.mark.parametrize(
    ("line", "work", "end"),
    [
        ("5,30,2,20,failed", 30.0, End.FAILED),
        ("5,30,2,5,failed", 30.0, End.FAILED),
        ("5,30,2,20,running", 30.0, End.RUNNING),
        ("5,,2,20,running", 980.0, End.RUNNING),
        # Who waits has not run, whatever else the line says: it may run for its limit.
        ("5,9,2,20,waiting", 60.0, End.PENDING),
        ("5,,2,,pending", 60.0, End.PENDING),
        ("5,30,2,,cancelled by 7", 30.0, End.KILLED),
    ],
)
def test_how_long_a_job_ran_is_told_or_follows_from_when_it_began(tmp_path, line, work, end):
    job = own(tmp_path, f"{line},60,ann,short,a100")
    assert (job.arrival, job.work, job.devices, job.end) == (5.0, work, 2, end)
    assert (job.estimate, job.user, job.group, job.kinds) == (60.0, "ann", "short", ("a100",))


def test_cells_that_may_be_empty_are(tmp_path):
    job = own(tmp_path, "5,30,2,,finished,,,,")
    assert (job.estimate, job.user, job.group, job.kinds) == (None, "", "", ())
    assert job.name == "line-000003"


def test_a_map_without_what_is_needed_is_refused_and_so_is_one_for_another_format(tmp_path):
    path = written(tmp_path, f"{HEAD}\n{WHOLE}\n")
    with pytest.raises(InputError, match=r"no column is given for duration") as told:
        read_log(path, columns={"arrival": "came"})
    assert "no column is given for devices" in str(told.value)
    with pytest.raises(InputError, match="for a CSV, not for the format 'swf'"):
        read_log(path, columns=OWN, format="swf")
    assert len(read_log(path, columns=OWN, format="csv").trace.jobs) == 1


def test_a_line_that_is_no_csv_is_left_out_with_its_fault(tmp_path):
    reason, (told,) = own(tmp_path, '5,30,2,20,"failed,,,,')
    assert reason == "cannot be read"
    assert "is not CSV" in told


def test_a_job_that_ended_before_it_began_is_left_out_with_how_long_that_was(tmp_path):
    text = (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time\n"
        "a,1,1,1,1000,,LS,Succeeded,0,100,10\n"
        "b,1,1,1,1000,,LS,Succeeded,0,10,40\n"
        "c,1,1,0,0,,LS,Odd,0,soon,later\n"
        "d,1,1,1,1000,,LS,Running,0,,40\n"
        "e,1,1,1,1000,,LS,Running,0,90,\n"
    )
    log = read_log(written(tmp_path, text))
    assert [job.name for job in log.trace.jobs] == ["a"]
    assert {each.reason: [entry.line for entry in each.first] for each in log.left_out} == {
        "have not run": [5, 6], "ended before they began": [3], "hold no device": [4]
    }  # fmt: skip
    assert any(e.told == "job b ran -30 s." for each in log.left_out for e in each.first)


NODES = "sn,cpu_milli,memory_mib,gpu,model\n"


def test_nodes_of_a_kind_that_differ_are_counted_in_the_smallest(tmp_path):
    text = NODES + "n0,1,1,8,A\nn1,1,1,3,A\nn2,1,1,3,A\nn3,1,1,4,B\n"
    fleet = read_openb_nodes(written(tmp_path, text))
    assert [(each.kind, each.count, each.devices) for each in fleet.nodes] == [
        ("A", 4, 3), ("B", 1, 4)
    ]  # fmt: skip
    assert all(type(each.count) is int for each in fleet.nodes)


def test_all_that_is_wrong_with_a_list_of_nodes_is_told(tmp_path):
    text = NODES + "n0,1,1,8,A\nn1,1,1,2.5,A\nn2,1,1,3\nn3,1,1,4,\n"
    with pytest.raises(InputError) as told:
        read_openb_nodes(written(tmp_path, text))
    for said in ("line 3: gpu is 2.5", "line 4: has 4 cells", "line 5: model is empty"):
        assert said in str(told.value)


PHILLY = "timestamp,duration,num_gpus\n0,10,1\n"


def test_a_log_with_just_the_columns_that_are_needed_is_known(tmp_path):
    (job,) = read_log(written(tmp_path, PHILLY)).trace.jobs
    assert (job.work, job.devices) == (10.0, 1)


def test_a_column_that_is_wrong_is_one_problem(tmp_path):
    path = written(tmp_path, PHILLY.replace("num_gpus", "num_gpus,gpus"))
    with pytest.raises(InputError) as told:
        read_log(path)
    assert str(told.value).startswith(f"{path}: line 1: unknown column 'gpus'")


@pytest.mark.parametrize("lacking", range(1, 6))
def test_a_format_is_named_of_which_a_log_has_more_than_half_the_columns(tmp_path, lacking):
    needs = FORMATS["helios"].needs
    path = written(tmp_path, ",".join(needs[lacking:]) + "\n")
    with pytest.raises(InputError) as told:
        read_log(path)
    named = f"To be read as helios it lacks {', '.join(needs[:lacking])}." in str(told.value)
    assert named == (lacking < len(needs) / 2)
    assert "To be read as swf" not in str(told.value)
    assert "To be read as tiresias" not in str(told.value)


PROFILE = {
    "placements": "placement,local_bsz,step_time,sync_time\n12,4,0.5,0.25\n",
    "scalability": "num_nodes,num_replicas,local_bsz,step_time,sync_time\n6,8,4,1.5,0.5\n",
    "validation-8": "progress,iteration,metric,grad_sqr,grad_var\n10,5,0.9,1.0,2.0\n",
}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("validation-big", PROFILE["validation-8"], "'big' is no batch. Name it validation-"),
        ("validation-8", PROFILE["validation-8"].split("\n")[0] + "\n", "holds no row that can"),
        ("placements", "placement\n", "has no column local_bsz, step_time, sync_time"),
    ],
)
def test_a_profile_of_which_a_file_is_nothing_is_refused(tmp_path, name, text, says):
    for each, content in (PROFILE | {name: text}).items():
        written(tmp_path, content, f"{each}.csv")
    with pytest.raises(InputError, match=says):
        read_profile(tmp_path)


def test_a_workload_without_a_job_is_refused(tmp_path):
    head = "name,time,application,num_replicas,batch_size\n"
    with pytest.raises(InputError, match="holds no row that can be read"):
        read_workload(written(tmp_path, head))


BATCHES = (16, 32, 64, 128, 256)


def rates_of(model):
    return {
        (f"{model} (batch size {batch})", 1): ThroughputCurve(
            name=model, points=(Point(devices=1, rate=1.0, kind="v100"),)
        )
        for batch in BATCHES
    }


def grown(folder, mode, *, model="ResNet-18", batch=32, steps=10**7):
    line = f"{model} (batch size {batch})\tpython\tlm\t-s\t1\t{steps}\t1\t{mode}\t1\t-1.0\t9\t30"
    (job,) = read_shockwave(written(folder, line), rates_of(model)).jobs
    return job.curve


@pytest.mark.parametrize(("more", "changes"), [(0, False), (1, True)])
def test_a_job_that_ends_where_its_batch_would_grow_never_sees_that(tmp_path, more, changes):
    # ResNet-18 is critical for ten epochs, of as many whole steps as hold 50,000 samples.
    ten = 10 * ceil(50_000 / 32)
    curve = grown(tmp_path, "accordion", steps=ten + more)
    assert isinstance(curve, Phased) == changes


def test_job_types_that_are_none_are_told(tmp_path):
    line = "LM\tpython\tlm\t-s\t1\t9\t1\tstatic\t1\t-1.0\t9\t30"
    with pytest.raises(InputError, match="'LM' is no job type such as"):
        read_shockwave(written(tmp_path, line), {})


def test_rates_are_those_above_nothing_and_of_types_of_jobs(tmp_path):
    text = """{"v100": {"('LM', 2)": {"null": 0.5}, "('GAN', 1)": {"null": 0.0}}}"""
    rates = read_throughputs(written(tmp_path, text, "rates.json"))
    assert {*rates} == {("LM", 2)}
    assert curve_of(rates, "LM", 2).rate(2, nodes=1, kind="v100", done=0.0) == 0.5
    with pytest.raises(InputError, match=r"'LM, 2' is no job type such as \('LM', 1\)"):
        read_throughputs(written(tmp_path, '{"v100": {"LM, 2": {"null": 1.0}}}', "rates.json"))
    with pytest.raises(InputError, match="nobody measured 'LM' on 1 devices"):
        read_gavel(written(tmp_path, "LM\tc\td\ts\t1\t9\t1\t1\t-1\t0"), rates)


def test_columns_of_a_table_of_ones_own_that_nobody_asked_for_are_not_read(tmp_path):
    path = written(tmp_path, "came,ran,gpus,notes\n0,10,1,slow\n")
    (job,) = read_log(path, columns={key: OWN[key] for key in list(OWN)[:3]}).trace.jobs
    assert (job.work, job.devices) == (10.0, 1)


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    with pytest.raises(InputError, match="names a column twice"):
        read_log(written(tmp_path, "timestamp,duration,num_gpus,duration\n0,10,1,20\n"))


@pytest.mark.parametrize(("limit", "estimate"), [("-1", None), ("0", None), ("1", 1.0)])
def test_a_limit_of_nothing_is_none(tmp_path, limit, estimate):
    line = f"1 0 0 9 4 -1 -1 4 {limit} -1 1 3 1 -1 2 -1 -1 -1\n"
    (job,) = read_log(written(tmp_path, line, "log.swf")).trace.jobs
    assert job.estimate == estimate
