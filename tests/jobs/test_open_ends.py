"""Logs that begin and end in the middle: who runs or waits at either end is there, not lost."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from tests.jobs.runs import job, rigid_trace, trace

from foretrain.cluster.mixed import fleet
from foretrain.errors import InputError
from foretrain.jobs.findings import of_log
from foretrain.jobs.policies.table import POLICIES
from foretrain.jobs.replay import clock, replay
from foretrain.jobs.run import run
from foretrain.jobs.simulate import simulate
from foretrain.jobs.summary import summary
from foretrain.measured.job import Dependency, End, Log, Trace
from foretrain.measured.queue_study import Conditions, QueueStudy
from foretrain.measured.site import PriorityWeights, SiteRules
from foretrain.study.traces.read import read_log

DAY = datetime(2026, 3, 2, tzinfo=UTC)
HEAD = "JobID|User|Submit|Start|ElapsedRaw|Timelimit|State|AllocTRES|ReqTRES"
DEVICES = 16
AGED = SiteRules(priority=PriorityWeights(age=1000.0, size=500.0))


def moment(seconds):
    return (DAY + timedelta(seconds=round(seconds))).strftime("%Y-%m-%dT%H:%M:%S")


def drawn(seed, count=400):
    """Jobs that come somewhat faster than the devices can do them."""
    random, now, jobs = Random(seed), 0, []
    for place in range(count):
        now += random.randint(1, 400)
        limit, devices = 60 * random.randint(2, 90), random.choice((1, 1, 2, 4, 8))
        work = float(random.randint(30, limit))
        jobs.append(
            job(place, arrival=float(now), work=work, devices=devices, estimate=float(limit))
        )
    return trace(jobs)


def row(each, begun, *, until):
    """What sacct prints of a job at a moment; None where it does not know it yet."""
    held = f"gres/gpu={each.devices}"
    known = f"{each.name}|u|{moment(each.arrival)}"
    limit = str(timedelta(seconds=each.estimate)).rjust(8, "0")
    if each.arrival > until:
        return None
    if begun > until:
        return f"{known}|Unknown|0|{limit}|PENDING||{held}"
    ran, state = each.work, "COMPLETED"
    if begun + each.work > until:
        ran, state = until - begun, "RUNNING"
    return f"{known}|{moment(begun)}|{ran:.0f}|{limit}|{state}|{held}|{held}"


def cut(jobs, begun, *, since, until):
    """What sacct prints of a window."""
    told = [
        row(each, start, until=until)
        for each, start in zip(jobs.jobs, begun, strict=True)
        if start + each.work >= since
    ]
    return "\n".join([HEAD, *filter(None, told)]) + "\n"


@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("policy", ["fifo", "easy", "sjf", "slurm"])
def test_a_log_cut_at_both_ends_is_replayed_as_it_was(tmp_path, policy, stated):
    jobs = drawn(7)
    conditions = Conditions(site=AGED)
    whole = run(jobs, fleet(DEVICES), policy, conditions=conditions)
    since, until = 20_000.0, 50_000.0
    path = tmp_path / "sacct.txt"
    path.write_text(cut(jobs, whole.begun, since=since, until=until))
    log = read_log(path, since=moment(since) if stated else None)
    assert log.trace.found
    assert log.trace.opened >= since - jobs.jobs[0].arrival - 60_000.0
    assert log.running
    assert log.pending
    # The periods of the site's priorities begin when they did.
    first = next(each.arrival for each in jobs.jobs if each.name == log.trace.jobs[0].name)
    clock = log.later(first % 300.0)
    [found] = replay(clock, policies=[policy], shared=fleet(DEVICES), conditions=conditions)
    assert (found.gap, found.error) == (0.0, 0.0)


def test_a_log_from_its_first_job_on_is_taken_for_what_it_is(tmp_path):
    path, alarms = tmp_path / "sacct.txt", 0
    for seed in range(30):
        jobs = drawn(seed, 100)
        begun = run(jobs, fleet(DEVICES), "fifo").begun
        path.write_text(cut(jobs, begun, since=0.0, until=1e9))
        alarms += bool(read_log(path).trace.opened)
    assert alarms <= 1


def test_a_log_that_was_cut_is_taken_for_what_it_is(tmp_path):
    path, missed = tmp_path / "sacct.txt", 0
    for seed in range(30):
        jobs = drawn(seed)
        begun = run(jobs, fleet(DEVICES), "fifo").begun
        path.write_text(cut(jobs, begun, since=20_000.0, until=1e9))
        missed += not read_log(path).trace.opened
    assert missed <= 3


GANGS = sorted(name for name, each in POLICIES.items() if not each.fluid)


@pytest.mark.parametrize("policy", GANGS)
def test_who_ran_when_a_trace_opens_holds_its_devices_and_who_waited_comes_then(policy):
    # j0 holds all devices until 100; j1 was submitted before it, and waits for what is not told.
    jobs = trace([job(1, work=10.0, devices=4), job(2, arrival=5.0, work=95.0, devices=4)])
    opened = Trace(name="cut", jobs=jobs.jobs, opened=50.0, found={"j002": 5.0})
    outcomes = run(opened, fleet(4), policy, conditions=Conditions(period=1.0))
    assert outcomes.begun[1] == 5.0
    assert outcomes.begun[0] >= 50.0
    told = summary(outcomes, fleet(4))
    assert len(told.responses) == 1
    assert told.makespan == max(outcomes.ended) - 50.0
    assert told.utilisation <= 1.0 + 1e-9


def test_of_what_was_held_before_a_trace_opens_nothing_counts_as_used():
    jobs = rigid_trace((0.0, 100.0, 2), (60.0, 10.0, 2))
    opened = Trace(name="cut", jobs=jobs.jobs, opened=50.0, found={"j000": 0.0})
    told = summary(run(opened, fleet(4), "fifo"), fleet(4))
    assert told.utilisation == (2 * 50.0 + 2 * 10.0) / (4 * 50.0)


def test_age_counts_from_before_a_log_begins():
    held = job(0, work=1000.0, devices=4)
    old, new = job(1, arrival=1.0, devices=1), job(2, arrival=600.0, devices=4)
    opened = Trace(name="cut", jobs=(held, old, new), opened=600.0, found={"j000": 0.0})
    weights = SiteRules(priority=PriorityWeights(age=1000.0, longest_age=1200.0), backfill=None)
    begun = run(opened, fleet(4), "slurm", conditions=Conditions(site=weights)).begun
    assert begun[1] == 1000.0


def test_who_is_not_eligible_yet_stands_in_nobodys_way():
    jobs = trace([job(0, work=10.0, devices=4, eligible=50.0), job(1, arrival=1.0, devices=4)])
    assert list(run(jobs, fleet(4), "fifo").begun) == [50.0, 1.0]


REQUEUED = """JobID|User|Submit|Start|ElapsedRaw|State|AllocTRES
7|u|2026-03-02T00:00:00|2026-03-02T00:00:00|50|NODE_FAIL|gres/gpu=4
7|u|2026-03-02T00:00:50|2026-03-02T00:01:30|60|COMPLETED|gres/gpu=4
8|u|2026-03-02T00:00:10|2026-03-02T00:00:50|40|COMPLETED|gres/gpu=4
"""


def test_a_run_that_was_requeued_does_not_begin_before_the_run_before_it_has_ended(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(REQUEUED)
    log = read_log(path)
    assert [(each.name, each.after) for each in log.trace.jobs] == [
        ("7", ()), ("8", ()), ("7#2", (Dependency("7"),)),
    ]  # fmt: skip
    slow = run(log.trace, fleet(4), "sjf")
    assert slow.begun[2] >= slow.ended[0]
    assert list(run(log.trace, fleet(8), "fifo").begun) == [0.0, 10.0, 50.0]


ARRAY = (
    HEAD
    + """
1|u|2026-03-02T00:00:00|2026-03-02T00:00:00|50|00:02:00|COMPLETED|gres/gpu=4|gres/gpu=4
9_[2-4,8%2]|u|2026-03-02T00:00:10|Unknown|0|00:02:00|PENDING||gres/gpu=1
"""
)


def test_tasks_of_an_array_that_wait_are_jobs_each(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(ARRAY)
    log = read_log(path)
    assert [each.name for each in log.trace.jobs] == ["1", "9_2", "9_3", "9_4", "9_8"]
    assert {each.end for each in log.trace.jobs[1:]} == {End.PENDING}
    assert {each.work for each in log.trace.jobs[1:]} == {120.0}


@pytest.mark.parametrize("tasks", ["9-2", "x", "1-9999999", "1-4:0", "1,,2"])
def test_tasks_that_are_no_numbers_are_left_out_with_their_line(tmp_path, tasks):
    path = tmp_path / "sacct.txt"
    path.write_text(ARRAY.replace("2-4,8%2", tasks))
    [left] = read_log(path).left_out
    assert (left.reason, left.first[0].line) == ("cannot be read", 3)


def test_who_waits_and_who_runs_at_an_end_are_told_and_counted(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(ARRAY)
    log = read_log(path)
    counts = summary(run(log.trace, fleet(4), "fifo"), fleet(4)).counts
    assert (counts.submitted, counts.finished, counts.waiting) == (5, 1, 4)
    assert any("4 jobs had not begun" in each for each in of_log(log))


def test_a_log_may_not_begin_after_all_of_its_jobs(tmp_path):
    path = tmp_path / "sacct.txt"
    path.write_text(ARRAY)
    with pytest.raises(InputError, match="no job that was submitted after its beginning"):
        read_log(path, since="2027-01-01")
    with pytest.raises(InputError, match=r"jobs\.since is 'soon', neither seconds nor a date"):
        read_log(path, since="soon")


@pytest.mark.parametrize("seed", [0, 3])
def test_a_site_whose_rules_are_told_is_replayed_on_its_own_clock(tmp_path, seed):
    # The log begins at any second; cycles and periods of the site come at those of midnight.
    jobs, conditions = drawn(seed), Conditions(site=AGED)
    begun = run(jobs, fleet(DEVICES), "slurm", conditions=conditions).begun
    path = tmp_path / "sacct.txt"
    path.write_text(cut(jobs, begun, since=0.0, until=50_000.0))
    log = read_log(path)
    study = QueueStudy(
        fleet=fleet(DEVICES), jobs=log, policies=("slurm",), policy="slurm", conditions=conditions
    )
    [found] = simulate(study).replays
    assert (found.gap, found.error) == (0.0, 0.0)
    [other] = replay(log, policies=["slurm"], shared=fleet(DEVICES), conditions=conditions)
    assert other.gap > 0.0


def test_a_log_in_which_nobody_starts_at_a_tick_tells_no_clock():
    log = Log(trace=rigid_trace((0, 10, 1), (5, 10, 1)), begun={"j000": 0.0, "j001": 5.0})
    assert clock(log, fleet(2), Conditions(site=AGED)) == 0.0
    assert clock(replace(log, begun={}), fleet(2), Conditions(site=AGED)) == 0.0
