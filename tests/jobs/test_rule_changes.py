"""Which rule to change: single changes, the same jobs, and how sure a difference is."""

from dataclasses import replace
from random import Random
from statistics import fmean

import pytest
from tests.jobs.runs import job, trace

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.errors import InputError
from foretrain.jobs.findings import of_changes
from foretrain.jobs.rule_changes import rule_changes, single_changes
from foretrain.jobs.run import run
from foretrain.jobs.simulate import simulate
from foretrain.jobs.summary import summary
from foretrain.measured.job import Log
from foretrain.measured.limit import Party, PartyLimit, QuotaQueue
from foretrain.measured.queue_study import Conditions, Drawn, QueueStudy
from foretrain.measured.site import BackfillRules, Partition, PriorityWeights, SiteRules

NODES = Fleet(nodes=(Nodes(count=16, devices=1),))
LIMIT = PartyLimit(each=Party.USER, devices=4)


def drawn(seed, count=200):
    random = Random(seed)
    return trace(
        job(
            place,
            arrival=60.0 * place,
            work=float(random.randint(20, 600)),
            devices=random.choice((1, 1, 2, 4)),
            user=random.choice("uvvvv"),
        )
        for place in range(count)
    )


def asked(site, seeds=(1,), policy="slurm", shared=NODES):
    def simulates(rules):
        asked = Conditions(site=rules)
        try:
            return [
                summary(run(drawn(seed), shared, policy, conditions=asked), shared)
                for seed in seeds
            ]
        except InputError:
            return None

    return rule_changes(site, shared, policy, simulates=simulates)


def test_a_limit_that_keeps_people_waiting_is_the_rule_to_change_and_who_it_kept_gains():
    found = asked(SiteRules(limits=(LIMIT,)))
    best = found[0]
    assert (best.rule, best.change) == ("limits[0]", "4 devices for each user to none")
    assert best.high < 0
    assert best.p < 0.01
    assert best.gains.startswith("user v: ")
    assert "limits[0] from 4 devices for each user to none is the one to try" in next(
        of_changes(found)
    )


def test_a_change_waits_as_a_site_that_has_it_waits():
    site = SiteRules(limits=(LIMIT,))
    own = run(drawn(1), NODES, "slurm", conditions=Conditions(site=site))
    before = fmean(summary(own, NODES).waiting)
    for each in asked(site):
        if each.rule != "limits[0]":
            continue
        limit = replace(LIMIT, devices=8)
        other = SiteRules(limits=() if each.change.endswith("none") else (limit,))
        runs = run(drawn(1), NODES, "slurm", conditions=Conditions(site=other))
        waits = fmean(summary(runs, NODES).waiting)
        assert (each.waiting, each.difference) == (waits, waits - before)


def test_a_rule_that_decides_nothing_changes_nothing_and_nobody_gains():
    site = SiteRules(priority=PriorityWeights(size=100.0), backfill=None)
    wide = Fleet(nodes=(Nodes(count=400, devices=1),))
    found = asked(site, shared=wide)
    assert {(each.difference, each.p, each.gains, each.loses) for each in found} == {
        (0.0, 1.0, "", "")
    }
    assert "none shortens waiting" in next(of_changes(found))


def test_with_seeds_the_differences_are_those_of_seeds():
    found = asked(SiteRules(limits=(LIMIT,)), seeds=(1, 2, 3))
    assert found[0].low < found[0].difference < found[0].high


def test_chances_allow_for_how_many_changes_were_tried():
    found = asked(SiteRules(limits=(LIMIT,), priority=PriorityWeights(age=10.0)))
    known = sorted(each.p for each in found if each.p is not None)
    assert all(each <= 1.0 for each in known)
    assert known[0] > 0.0 or found[0].difference


def test_every_stated_rule_is_tried_in_both_directions_and_no_change_is_none():
    site = SiteRules(
        partitions=(
            Partition(name="a", nodes=((0, 9),)), Partition(name="b", nodes=((10, 15),)),
        ),
        priority=PriorityWeights(age=10.0, fairshare=5.0, size=2.0),
        backfill=BackfillRules(reserves=1, per_user=3),
        limits=(LIMIT,),
    )  # fmt: skip
    edits = list(single_changes(site, NODES, "slurm"))
    assert {each.rule for each in edits} == {
        "backfill.on", "backfill.interval", "backfill.depth", "backfill.window",
        "backfill.reserves", "backfill.per_user", "priority.age", "priority.fairshare",
        "priority.size", "priority.small_first", "priority.half_life", "partitions.nodes",
        "limits[0]",
    }  # fmt: skip
    assert all(each.site != site for each in edits)
    assert len({repr(each.site) for each in edits}) == len(edits)
    moved = [each.change for each in edits if each.rule == "partitions.nodes"]
    assert moved == ["a +1, b -1 nodes", "a -1, b +1 nodes", "a on all nodes", "b on all nodes"]


def test_queues_are_changed_where_the_policy_has_them():
    site = SiteRules(queues=(QuotaQueue(name="q", devices=8.0, borrows=2.0, lends=1.0),))
    rules = [each.rule for each in single_changes(site, NODES, "kueue")]
    assert rules == [
        "queues.devices", "queues.weight", "queues.strict", "queues.reclaims", "queues.borrows",
        "queues.lends",
    ]  # fmt: skip
    assert [each.rule for each in single_changes(site, NODES, "volcano")] == rules[:2]


def test_a_policy_without_rules_has_none_to_change():
    with pytest.raises(InputError, match="fifo follows none"):
        asked(SiteRules(), policy="fifo")


@pytest.mark.parametrize("jobs", [Log(trace=drawn(1, 60)), Drawn(jobs=60, ends=False)])
def test_a_study_asks_with_a_key(jobs):
    study = QueueStudy(
        fleet=NODES,
        jobs=jobs,
        policies=("slurm",),
        loads=(0.8,) if isinstance(jobs, Drawn) else (),
        conditions=Conditions(site=SiteRules(limits=(replace(LIMIT, devices=16),))),
        rules=True,
    )
    answer = simulate(study)
    assert answer.changes
    assert answer.changes[0].waiting - answer.changes[0].difference == pytest.approx(
        answer.policies["slurm"].mean_waiting
    )
    assert not simulate(replace(study, rules=False)).changes
