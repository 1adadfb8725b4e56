"""simulate: policies on the same jobs, capacities, and runs that are not done twice."""

from dataclasses import replace

import pytest

from foretrain.app.progress import Kept, processes
from foretrain.cluster.mixed import Fleet, NodeFailures, Nodes, fleet
from foretrain.errors import InputError
from foretrain.jobs.asked import capacity_table
from foretrain.jobs.simulate import simulate
from foretrain.measured.job import End, Job, LeftOut, Log, LogEntry, Trace
from foretrain.measured.queue_study import (
    Conditions,
    Drawn,
    Placement,
    QueueStudy,
    Target,
    TargetQuantity,
)
from foretrain.throughput import rigid

TRACE = Trace(
    name="by hand",
    jobs=tuple(
        Job(name=name, arrival=arrival, work=work, curve=rigid(1), devices=1, group=group)
        for name, arrival, work, group in (("a", 0.0, 10.0, "x"), ("b", 1.0, 2.0, "y"))
    ),
)


def study(**changes):
    given = {"fleet": fleet(1), "jobs": Log(trace=TRACE), "policies": ("fifo", "srtf")}
    return QueueStudy(**{**given, **changes})


def drawn(**changes):
    given = {"fleet": fleet(4), "jobs": Drawn(jobs=60), "loads": (0.5, 0.9), "seeds": 2}
    return study(**{**given, **changes})


def test_two_jobs_by_hand():
    answer = simulate(study())
    means = {name: result.mean_response for name, result in answer.policies.items()}
    assert means == {"fifo": 10.5, "srtf": 7.0}
    [point] = answer.points
    [pair] = point.pairs
    assert (pair.first, pair.second, pair.difference, pair.p) == ("srtf", "fifo", 3.5, None)


def test_groups_are_told_apart():
    parts = simulate(study()).policies["srtf"].groups
    assert [(part.name, part.mean_response) for part in parts] == [("x", 12.0), ("y", 2.0)]


def test_jobs_of_the_warm_up_are_not_counted():
    assert simulate(study(warm_up=0.5)).policies["fifo"].mean_response == 11.0


def test_a_run_is_noted_for_drawing():
    history = simulate(study()).histories[0]
    assert (history.policy, max(history.queue)) == ("fifo", 1)
    assert [(span.job, span.start, span.end) for span in history.spans] == [
        ("a", 0.0, 10.0),
        ("b", 10.0, 12.0),
    ]


def test_a_restart_takes_time():
    answer = simulate(study(restart=5.0))
    assert answer.policies["srtf"].makespan == 17.0


def test_equal_studies_have_equal_answers_on_one_core_and_on_two():
    alone = simulate(drawn())
    with processes(2) as engine:
        together = simulate(drawn(), engine=engine)
    assert alone.points == together.points


def test_every_policy_sees_the_same_jobs():
    counts = [result.jobs for result in simulate(drawn()).policies.values()]
    assert counts[0] == counts[1]


def test_runs_that_were_kept_are_not_done_again(tmp_path):
    kept = Kept(tmp_path / "kept")
    first = simulate(drawn(), kept=kept)
    files = sorted((tmp_path / "kept").iterdir())

    def never(function, cases):
        assert not cases
        return ()

    assert simulate(drawn(), kept=kept, engine=never).points == first.points
    assert len(files) == 8


def test_a_result_that_was_cut_short_is_done_again(tmp_path):
    kept = Kept(tmp_path)
    first = simulate(study(), kept=kept)
    for file in tmp_path.iterdir():
        file.write_text(file.read_text()[:40])
    assert simulate(study(), kept=kept).points == first.points


def test_the_fewest_nodes_keep_the_target_and_one_less_does_not():
    target = Target(quantity=TargetQuantity.MEAN, seconds=6.5, most=4)
    answer = simulate(study(target=target))
    needs = {each.policy: each.nodes for each in answer.capacity.policies}
    assert needs == {"srtf": 2, "fifo": 2}
    assert simulate(study(fleet=fleet(2))).policies["fifo"].mean_response <= 6.5


@pytest.mark.parametrize(
    ("quantity", "field", "told"),
    [
        (TargetQuantity.WAITING, "mean_waiting", "mean waiting time"),
        (TargetQuantity.P95_WAITING, "p95_waiting", "waiting time of 95 % of the jobs"),
    ],
)
def test_a_target_may_be_waiting(quantity, field, told):
    target = Target(quantity=quantity, seconds=1e-9, most=16)
    answer = simulate(study(target=target))
    assert answer.capacity.quantity == quantity.value
    for each in answer.capacity.policies:
        if each.nodes is not None:
            alone = simulate(study(fleet=fleet(each.nodes), policies=(each.policy,)))
            assert getattr(alone.policies[each.policy], field) <= 1e-9
    assert any(told in text for text in answer.findings)


def test_a_target_that_no_number_of_nodes_keeps_is_said_to_be_so():
    target = Target(quantity=TargetQuantity.MEAN, seconds=1.0, most=3)
    answer = simulate(study(target=target))
    assert {each.nodes for each in answer.capacity.policies} == {None}
    assert any("does not keep" in text for text in answer.findings)


def test_unknown_policies_are_told_at_once_with_their_keys_and_those_known():
    with pytest.raises(InputError) as told:
        simulate(study(policies=("fif", "fifo", "lass")))
    first, second = str(told.value).splitlines()
    assert first.startswith("simulation.policies[0]: unknown policy 'fif'. Did you mean 'fifo'")
    assert second.startswith("simulation.policies[2]: unknown policy 'lass'. Did you mean 'las'")


def test_jobs_larger_than_the_fleet_are_told_by_name():
    large = Job(name="large", arrival=0.0, work=1.0, curve=rigid(9), devices=9)
    with pytest.raises(InputError, match=r"1 jobs ask for more .* large \(9\)"):
        simulate(study(jobs=Log(trace=Trace(name="log", jobs=(large,)))))


def test_a_log_is_replayed_before_anything_is_asked_of_it():
    jobs = tuple(
        Job(name=f"{number}", arrival=float(number), work=5.0, curve=rigid(1), devices=1)
        for number in range(12)
    )
    begun = {job.name: 5.0 * number for number, job in enumerate(jobs)}
    answer = simulate(study(jobs=Log(trace=Trace(name="log", jobs=jobs), begun=begun)))
    best = answer.replays[0]
    assert (best.simulated, best.gap, best.error) == (best.logged, 0.0, 0.0)
    assert answer.findings[0].startswith("Replayed under")


def test_a_log_that_waited_otherwise_is_said_not_to_be_this_cluster():
    jobs = tuple(
        Job(name=f"{number}", arrival=float(number), work=5.0, curve=rigid(1), devices=1)
        for number in range(12)
    )
    begun = {job.name: 9.0 * number for number, job in enumerate(jobs)}
    answer = simulate(study(jobs=Log(trace=Trace(name="log", jobs=jobs), begun=begun)))
    assert "too far off to trust" in answer.findings[1]


def test_a_log_in_which_nobody_waited_is_held_against_a_cluster_where_jobs_wait():
    log = Log(trace=TRACE, begun={job.name: job.arrival for job in TRACE.jobs})
    answer = simulate(study(jobs=log, policy="fifo"))
    [replayed] = answer.replays
    assert (replayed.gap, replayed.logged, replayed.error) == (0.0, 0.0, None)
    assert "too far off to trust" in answer.findings[1]
    roomy = simulate(study(jobs=log, fleet=fleet(2)))
    assert {(each.gap, each.error) for each in roomy.replays} == {(0.0, 0.0)}


def test_a_log_that_is_idle_in_its_first_half_is_answered():
    jobs = tuple(
        Job(name=f"{place}", arrival=arrival, work=5.0, curve=rigid(1), devices=1, sequence=place)
        for place, arrival in enumerate([0.0, 50.0, 100.0, 150.0, 200.0, 200.0, 200.0, 200.0])
    )
    begun = {job.name: job.arrival + max(0, place - 4) * 5.0 for place, job in enumerate(jobs)}
    answer = simulate(study(jobs=Log(trace=Trace(name="log", jobs=jobs), begun=begun)))
    best = answer.replays[0]
    assert (best.policy, best.gap, best.error, best.logged) == ("fifo", 0.0, 0.0, 15.0)


def test_a_log_whose_jobs_need_a_kind_is_replayed_on_it():
    jobs = tuple(replace(job, kinds=("a100",)) for job in TRACE.jobs)
    kinds = Fleet(nodes=(Nodes(count=1, devices=1, kind="a100"),))
    log = Log(trace=Trace(name="log", jobs=jobs), begun={"a": 0.0, "b": 10.0})
    assert simulate(study(fleet=kinds, jobs=log)).replays[0].error == 0.0


def test_quotas_part_the_fleet():
    shared = Fleet(nodes=(Nodes(count=2, devices=1),), quota={"x": 1})
    answer = simulate(study(fleet=shared))
    assert answer.policies["fifo"].mean_response == 6.0


def test_nodes_that_fail_make_jobs_longer_and_seeds_decide_when():
    failures = NodeFailures(between=4.0, repair=1.0, checkpoint=2.0)
    asked = study(fleet=fleet(1), conditions=Conditions(failures=failures))
    first, again = (simulate(asked).policies["fifo"] for _ in range(2))
    assert first == again
    assert first.mean_response > simulate(study()).policies["fifo"].mean_response


def test_a_fluid_lies_on_no_node():
    packed = Conditions(placement=Placement.PACKED)
    with pytest.raises(InputError, match="divides devices as a fluid"):
        simulate(study(policies=("processor-sharing",), conditions=packed))


def test_a_job_whose_nodes_fail_before_each_checkpoint_is_refused():
    failures = NodeFailures(between=1.0, repair=1.0, checkpoint=1e6)
    long = Job(name="long", arrival=0.0, work=1e5, curve=rigid(1), devices=1)
    asked = study(
        jobs=Log(trace=Trace(name="log", jobs=(long,))), conditions=Conditions(failures=failures)
    )
    with pytest.raises(InputError, match="would never end"):
        simulate(asked)


def test_a_policy_that_never_gives_what_a_job_asks_for_is_told():
    three = Job(name="three", arrival=0.0, work=10.0, curve=rigid(3), devices=3)
    asked = study(
        fleet=fleet(4), jobs=Log(trace=Trace(name="log", jobs=(three,))), policies=("sia",)
    )
    with pytest.raises(InputError, match="would never end"):
        simulate(asked)


def test_a_target_on_several_kinds_is_refused_before_anything_runs():
    both = Fleet(nodes=(Nodes(count=1, devices=1, kind="x"), Nodes(count=1, devices=1, kind="y")))
    target = Target(quantity=TargetQuantity.MEAN, seconds=1.0, most=2)
    with pytest.raises(InputError, match="nodes of one kind"):
        simulate(study(fleet=both, target=target), progress=_must_not_run)


def _must_not_run(what, done, of):
    raise AssertionError(what)


def test_entries_that_a_log_leaves_out_are_told():
    left = (
        LeftOut(reason="hold no device", count=3, first=(LogEntry(line=2), LogEntry(line=4))),
        LeftOut(reason="cannot be read", count=2, first=(LogEntry(line=7, told="state is 'x'."),)),
    )
    answer = simulate(study(jobs=Log(trace=TRACE, left_out=left)))
    assert answer.left_out == left
    assert answer.findings[:2] == (
        "Entries of the log that are not simulated: 5 (hold no device: 3; cannot be read: 2).",
        "Of those that cannot be read: line 7: state is 'x'. And 1 more.",
    )


def test_a_job_larger_than_the_fleet_is_left_out_and_the_others_are_simulated():
    large = Job(name="c", arrival=0.0, work=9.0, curve=rigid(9), devices=9, sequence=17)
    log = Log(trace=Trace(name="log", jobs=(large, *TRACE.jobs)), begun={"c": 0.0, "a": 0.0})
    answer = simulate(study(jobs=log))
    assert answer.policies["fifo"].mean_response == 10.5
    [left] = answer.left_out
    assert left.first == (LogEntry(line=17, told="job c asks for 9, and there are 1."),)


def test_a_job_larger_than_the_quota_of_its_group_is_left_out():
    wide = Job(name="c", arrival=0.0, work=9.0, curve=rigid(2), devices=2, group="x")
    shared = Fleet(nodes=(Nodes(count=3, devices=1),), quota={"x": 1})
    answer = simulate(
        study(fleet=shared, jobs=Log(trace=Trace(name="l", jobs=(wide, *TRACE.jobs))))
    )
    assert [each.count for each in answer.left_out] == [1]


def test_a_job_that_needs_a_kind_which_is_not_there_is_left_out():
    other = replace(TRACE.jobs[0], name="c", kinds=("v100",))
    both = Trace(name="log", jobs=(*TRACE.jobs, other))
    kinds = Fleet(nodes=(Nodes(count=1, devices=1, kind="a100"),))
    answer = simulate(study(fleet=kinds, jobs=Log(trace=both)))
    assert [each.reason for each in answer.left_out] == [
        "need kinds of devices that the fleet has not"
    ]
    assert answer.policies["fifo"].mean_response == 10.5


def test_jobs_that_still_ran_and_those_that_came_again_are_told():
    running = replace(TRACE.jobs[1], end=End.RUNNING)
    log = Log(trace=Trace(name="log", jobs=(TRACE.jobs[0], running)), resubmitted=2)
    answer = simulate(study(jobs=log))
    assert answer.policies["fifo"].mean_response == 10.0
    assert answer.findings[0].startswith("1 job still ran when the log was written")
    assert answer.findings[1].startswith("2 jobs stood in the log under a name that came before")


def test_policies_that_do_the_same_are_told_as_such():
    answer = simulate(study(policies=("fifo", "sjf")))
    assert "sjf has the same mean on these jobs." in answer.findings


def test_a_load_above_what_there_is_has_no_steady_state():
    findings = simulate(drawn(loads=(0.5, 1.5))).findings
    assert next(text for text in findings if "no steady" in text).startswith("At load 1.5")


def test_sharing_leaves_no_waiting_but_for_the_rounding_of_floats():
    [result] = simulate(drawn(policies=("processor-sharing",))).policies.values()
    assert result.mean_waiting == 0.0


def test_nodes_too_few_for_the_quotas_keep_no_target():
    quotas = Fleet(nodes=(Nodes(count=4, devices=1),), quota={"x": 2})
    target = Target(quantity=TargetQuantity.MEAN, seconds=1000.0, most=8)
    answer = simulate(study(fleet=quotas, policies=("fifo",), target=target))
    assert [each.nodes for each in answer.capacity.policies] == [3]


def test_where_no_job_fits_no_time_is_told():
    target = Target(quantity=TargetQuantity.MEAN, seconds=1.0, most=1)
    wide = Job(name="a", arrival=0.0, work=1.0, curve=rigid(2), devices=2)
    log = Log(trace=Trace(name="wide", jobs=(wide,)))
    answer = simulate(study(fleet=fleet(2, per_node=1), jobs=log, target=target))
    assert "(some jobs or quotas do not fit on 1 device)" in answer.findings[-1]
    assert "no room" in {cell for row in capacity_table(answer.capacity).rows for cell in row}


def test_more_rounds_than_anybody_waits_for_are_refused():
    asked = study(policies=("max-min",), conditions=Conditions(period=1e-7))
    with pytest.raises(InputError, match=r"some 1\.3e\+08 rounds of 1e-07 s"):
        simulate(asked)


def test_more_failures_than_anybody_waits_for_are_refused():
    failures = NodeFailures(between=1.0, repair=1.0, checkpoint=15.0)
    long = Job(name="long", arrival=0.0, work=15.0, curve=rigid(1), devices=1)
    asked = study(
        jobs=Log(trace=Trace(name="log", jobs=(long,))), conditions=Conditions(failures=failures)
    )
    with pytest.raises(InputError, match=r"3\.3e\+06 failures of nodes"):
        simulate(asked)


def test_what_jobs_ask_for_and_a_policy_does_not_heed_is_told():
    asking = Trace(
        name="asking",
        jobs=tuple(
            Job(name=name, arrival=0.0, work=1.0, curve=rigid(1), devices=1, **wish)
            for name, wish in (
                ("first", {"priority": 2.0}),
                ("due", {"deadline": 9.0}),
            )
        ),
    )
    policies = ("fifo", "max-min", "max-min-kinds")
    told = " ".join(simulate(study(jobs=Log(trace=asking), policies=policies)).findings)
    assert "1 have a priority, which is not heeded under fifo, max-min." in told
    assert "1 have a deadline, which is not heeded under fifo, max-min, max-min-kinds." in told
    assert "heeded" not in " ".join(simulate(study(policies=policies)).findings)
