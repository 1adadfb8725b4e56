"""Kueue's own objects: queues, cohorts and flavors as rules, workloads as a log."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from tests.jobs.runs import job, trace

from foretrain.cluster.mixed import fleet
from foretrain.errors import InputError
from foretrain.jobs.run import run
from foretrain.measured.job import End
from foretrain.measured.limit import FlavorQuota, QuotaCohort, QuotaQueue
from foretrain.measured.queue_study import Conditions
from foretrain.measured.site import SiteRules
from foretrain.study.problems import Problems
from foretrain.study.quotas import queues_of
from foretrain.study.site import read_site
from foretrain.study.traces.read import read_log


def flavor(name, quota, **limits):
    told = {"name": "nvidia.com/gpu", "nominalQuota": str(quota), **limits}
    return {"name": name, "resources": [{"name": "cpu", "nominalQuota": "99"}, told]}


def thing(kind, name, flavors=(), **spec):
    groups = [{"coveredResources": ["cpu", "nvidia.com/gpu"], "flavors": [*flavors]}]
    return {
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"resourceGroups": groups if flavors else [], **spec},
    }


def told(*items):
    return queues_of(json.dumps({"apiVersion": "v1", "items": items}))


def rules(*items):
    problems = Problems("kueue.json")
    found, _ = read_site(told(*items), problems)
    problems.check()
    return found


def test_cohorts_nest_and_have_quotas_limits_and_weights():
    found = rules(
        thing("Cohort", "company", [flavor("h100", 4)]),
        thing(
            "Cohort",
            "research",
            [flavor("h100", 0, borrowingLimit="2", lendingLimit=1)],
            parentName="company",
            fairSharing={"weight": "2"},
        ),
        thing("ClusterQueue", "vision", [flavor("h100", 8)], cohortName="research"),
    )
    assert found.cohorts == (
        QuotaCohort(name="company", devices=4.0),
        QuotaCohort(name="research", parent="company", borrows=2.0, lends=1.0, weight=2.0),
    )
    assert found.queues == (QuotaQueue(name="vision", cohort="research", devices=8.0),)


def test_several_flavors_stand_apart_in_their_order_with_the_rules_of_choosing_one():
    [queue, other] = rules(
        thing(
            "ClusterQueue",
            "vision",
            [flavor("h100", 8), flavor("spot", 16, borrowingLimit=0)],
            flavorFungibility={"whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "MayStopSearch"},
        ),
        thing("ClusterQueue", "speech", [flavor("spot", 2)]),
    ).queues
    assert [each.name for each in queue.flavors] == ["h100", "spot"]
    assert queue.flavors[1] == FlavorQuota(name="spot", devices=16.0, borrows=0.0)
    assert (queue.next_before_borrowing, queue.stops_before_next) == (True, True)
    assert other.flavors == (FlavorQuota(name="spot", devices=2.0),)
    assert not other.next_before_borrowing


def test_preemption_is_read_with_its_thresholds():
    preemption = {
        "reclaimWithinCohort": "LowerPriority",
        "withinClusterQueue": "LowerOrNewerEqualPriority",
        "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100},
    }
    [queue] = rules(thing("ClusterQueue", "a", [flavor("x", 1)], preemption=preemption)).queues
    assert queue.reclaims
    assert queue.lower_only
    assert queue.preempts
    assert queue.newer_too
    assert (queue.stops_to_borrow, queue.stops_up_to) == (True, 100.0)


@pytest.mark.parametrize(
    ("written", "fair"),
    [
        ("fairSharing: {}", True), ("fairSharing:\n  enable: true", True),
        ("fairSharing:\n  enable: false", False), ("#fairSharing: {}", False),
        ("fairSharing: null", False),
        ("fairSharing:\n  preemptionStrategies: [LessThanInitialShare]\n  enable: false", False),
    ],
)  # fmt: skip
def test_the_configuration_of_the_manager_tells_whether_shares_decide(written, fair):
    text = f"apiVersion: config.kueue.x-k8s.io/v1beta2\n{written}\nmetrics: {{}}\n"
    config = {"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"config.yaml": text}}
    queue = thing("ClusterQueue", "a", [flavor("x", 1)])
    assert rules(config, queue).fair_sharing is fair


BEGIN = datetime(2026, 3, 2, tzinfo=UTC)


def clock(seconds):
    return (BEGIN + timedelta(seconds=float(seconds))).isoformat().replace("+00:00", "Z")


def workload(name, *, came, begun=None, ended=None, gpus=2, pods=1, queue="vision", **spec):
    """A workload of a LocalQueue `main`, in the namespace of its ClusterQueue's name."""
    conditions = [
        {"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": at}
        for kind, reason, at in (
            ("QuotaReserved", "QuotaReserved", begun),
            ("Admitted", "Admitted", begun),
            ("Finished", spec.pop("reason", "Succeeded"), ended),
        )
        if at is not None
    ]
    for each in conditions:
        each["lastTransitionTime"] = clock(each["lastTransitionTime"])
    container = {"resources": {"requests": {"cpu": "4", "nvidia.com/gpu": str(gpus)}}}
    pod_set = {"name": "main", "count": pods, "template": {"spec": {"containers": [container]}}}
    used = {"cpu": "4", "nvidia.com/gpu": str(gpus * pods)}
    admission = {
        "clusterQueue": queue,
        "podSetAssignments": [{"name": "main", "resourceUsage": used}],
    }
    return {
        "kind": "Workload",
        "metadata": {"name": name, "namespace": queue, "creationTimestamp": clock(came)},
        "spec": {"queueName": "main", "podSets": [pod_set], **spec},
        "status": {"conditions": conditions, **({} if begun is None else {"admission": admission})},
    }


def written(folder, *items):
    path = folder / "workloads.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def test_workloads_are_a_log(tmp_path):
    log = read_log(
        written(
            tmp_path,
            workload("a", came=0, begun=10, ended=70, gpus=8, pods=2, priority=5),
            workload("b", came=20, begun=70, ended=100, reason="Failed"),
            workload("c", came=30, begun=90, maximumExecutionTimeSeconds=600),
            workload("d", came=40),
        )
    )
    a, b, c, d = log.trace.jobs
    assert (a.name, a.devices, a.work, a.end) == ("vision/a", 16, 60.0, End.FINISHED)
    assert (a.user, a.group, a.priority - a.nice) == ("vision", "vision", 5.0)
    assert (b.end, c.end, d.end) == (End.FAILED, End.RUNNING, End.PENDING)
    assert c.estimate == 600.0
    assert log.begun == {"vision/a": 10.0, "vision/b": 70.0, "vision/c": 90.0}


def test_a_workload_that_waits_is_of_the_queue_that_its_local_queue_names(tmp_path):
    local = {
        "kind": "LocalQueue",
        "metadata": {"name": "main", "namespace": "speech"},
        "spec": {"clusterQueue": "all-of-speech"},
    }
    waits = workload("w", came=5, queue="speech")
    log = read_log(written(tmp_path, workload("a", came=0, begun=0, ended=9), waits, local))
    assert [each.group for each in log.trace.jobs] == ["vision", "all-of-speech"]


def test_workloads_that_tell_of_no_job_are_left_out_with_their_place(tmp_path):
    log = read_log(
        written(
            tmp_path,
            workload("a", came=0, begun=0, ended=9),
            workload("cpu", came=0, begun=0, ended=9, gpus=0),
            workload("off", came=0, active=False),
            workload("never", came=0, ended=9),
            {"kind": "Workload", "metadata": {"name": "x"}, "spec": 3},
            {"kind": "Workload", "metadata": {"name": "y", "creationTimestamp": "soon"},
             "spec": {"podSets": [{"template": {"spec": {"containers": [
                 {"resources": {"limits": {"nvidia.com/gpu": 2}}}]}}}]}},
        )
    )  # fmt: skip
    assert {each.reason: [one.line for one in each.first] for each in log.left_out} == {
        "hold no device": [2],
        "were deactivated, and do not tell when they ran": [3],
        "have not run": [4],
        "cannot be read": [5, 6],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not JSON"), ('{"items": []}', "holds no Workload"), ('{"items": 3}', "no Workload")],
)
def test_what_holds_no_workload_is_told_with_its_file(tmp_path, text, message):
    path = tmp_path / "workloads.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as told:
        read_log(path)
    assert str(path) in str(told.value)


def test_a_cluster_is_replayed_from_its_workloads(tmp_path):
    """Simulated under rules, written as kubectl prints it, read back: the same waiting."""
    site = SiteRules(
        queues=(
            QuotaQueue(name="vision", cohort="all", devices=4.0),
            QuotaQueue(name="speech", cohort="all", devices=4.0, borrows=2.0),
        )
    )
    jobs = trace(
        job(
            place,
            arrival=float(7 * place % 60),
            devices=1 + place * 5 % 4,
            work=float(20 + place * 13 % 50),
            group=("vision", "speech")[place % 3 == 0],
            nice=-float(place % 2),
        )
        for place in range(40)
    )
    asked = Conditions(site=site)
    first = run(jobs, fleet(8), "kueue", conditions=asked)
    items = [
        workload(
            each.name, came=each.arrival, begun=begun, ended=ended, gpus=each.devices,
            queue=each.group, priority=int(1 - each.nice),
        )
        for each, begun, ended in zip(jobs.jobs, first.begun, first.ended, strict=True)
    ]  # fmt: skip
    log = read_log(written(tmp_path, *items))
    again = run(log.trace, fleet(8), "kueue", conditions=asked)
    assert list(again.begun) == list(first.begun)
    assert max(first.begun) > 60.0  # some have waited
