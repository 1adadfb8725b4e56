"""Rules that a log follows: found where nobody has told them."""

from dataclasses import replace
from functools import cache
from random import Random

import pytest
from tests.examples import slow
from tests.jobs.runs import job, trace
from validation.rules.sites import HiddenSite, requests, starts
from validation.rules.sites import site as drawn
from validation.rules.sites import trace as trace_of

from foretrain.cluster.mixed import Fleet, Nodes
from foretrain.errors import InputError
from foretrain.jobs import simulate as simulation
from foretrain.jobs.findings import of_inferred
from foretrain.jobs.inferred import as_study, inferred, rules_told
from foretrain.measured.job import Log
from foretrain.measured.limit import Party, PartyLimit
from foretrain.measured.queue_study import QueueStudy
from foretrain.measured.site import BackfillRules, PriorityWeights, Qos, SiteRules
from foretrain.study.queue_study import read_queue_study


def site(**rules):
    """A site of four nodes of two devices, whose urgent jobs go first."""
    return HiddenSite(
        fleet=Fleet(nodes=(Nodes(count=4, devices=2),)),
        rules=SiteRules(
            qualities=tuple(
                Qos(name=name, priority=each)
                for name, each in (("normal", 0), ("high", 10), ("urgent", 100))
            ),
            priority=PriorityWeights(qos=1_000.0),
            **rules,
        ),
        accounts={"u": "a", "v": "a"},
        parts={"gpu": 8},
        alone=False,
        prints=True,
    )


def log_of(hidden, count=40, seed=3):
    jobs = requests(Random(seed), hidden, count)
    begun = starts(hidden, jobs)
    made = trace_of(hidden, jobs)
    names = [each.name for each in made.jobs]
    return Log(
        trace=made,
        begun=dict(zip(names, begun, strict=True)),
        nodes={each.name: -(-each.devices // 2) for each in made.jobs},
    )


@cache
def inferred_of(backfill):
    return inferred(log_of(site(backfill=backfill)))


EASY = BackfillRules(interval=60.0, reserves=1)


@pytest.mark.parametrize("backfill", [None, pytest.param(EASY, marks=slow)])
def test_a_log_waits_as_it_did_under_the_rules_that_it_tells(backfill):
    found = inferred_of(backfill)
    assert found.apart < 0.01
    assert (found.fleet.devices, found.fleet.nodes[0].devices) == (8, 2)
    assert (found.rules.backfill is None) == (backfill is None)
    assert found.rules.priority.qos > 0.0


@slow
def test_shares_are_found_where_each_step_alone_leads_nowhere():
    # Regression on orders and one share after the other left 25 decisions of this log wrong.
    random = Random("23 inferred 17")
    hidden = drawn(random)
    jobs = requests(random, hidden, random.randint(150, 400))
    begun = starts(hidden, jobs)
    made = trace_of(hidden, jobs)
    names = [each.name for each in made.jobs]
    found = inferred(Log(trace=made, begun=dict(zip(names, begun, strict=True))))
    assert (found.wrong, found.apart) == (0, 0.0)
    assert found.broken == 0.0


def test_a_log_in_which_nobody_waited_tells_no_rule():
    jobs = trace([job(0), job(1, arrival=5.0)])
    log = Log(trace=jobs, begun={each.name: each.arrival for each in jobs.jobs})
    with pytest.raises(InputError, match="ever waited"):
        inferred(log)


def test_a_fleet_of_two_kinds_is_refused():
    fleet = Fleet(nodes=(Nodes(count=1, devices=8, kind="a"), Nodes(count=1, devices=8, kind="b")))
    with pytest.raises(InputError, match="one kind"):
        inferred(log_of(site()), fleet)


def test_the_sections_that_are_written_state_the_same_rules(tmp_path):
    found = inferred_of(None)
    limits = (
        PartyLimit(each=Party.USER, devices=4.0),
        PartyLimit(of=Party.QOS, named="high", jobs=2.0),
    )
    limited = replace(
        found.rules,
        limits=limits,
        backfill=replace(EASY, window=7_200.0, resolution=300.0, per_user=3),
    )
    found = replace(found, rules=limited)
    path = tmp_path / "study.toml"
    path.write_text(as_study(found) + "\n[jobs]\ndraw = 5\n")
    study = read_queue_study(path)
    assert study.fleet == found.fleet
    assert study.conditions.site.limits == found.rules.limits
    assert study.conditions.site.backfill == found.rules.backfill
    assert study.conditions.site.priority.period == found.rules.priority.period
    assert study.conditions.site.priority.qos == pytest.approx(found.rules.priority.qos, rel=1e-5)
    assert [each.name for each in study.conditions.site.associations] == ["a", "u", "v"]


def test_an_answer_says_which_rules_with_their_evidence_and_what_cannot_be_known(monkeypatch):
    monkeypatch.setattr(simulation, "inferred", lambda *_log, tell: inferred_of(None))
    study = QueueStudy(
        fleet=Fleet(nodes=(Nodes(count=999, devices=1),)),
        jobs=log_of(site(backfill=None)),
        policies=("slurm",),
        infer_rules=True,
        infer_fleet=True,
    )
    answer = simulation.simulate(study)
    assert answer.inferred is not None
    assert answer.devices == 8
    told = {each.rule: each for each in answer.inferred.rules}
    assert told["nodes"].value == "4 of 2"
    assert "urgent" in told["qualities"].value
    assert "orders of two starts" in told["priority"].evidence
    assert any("cannot tell what users had used" in each for each in answer.findings)


def test_what_the_rules_leave_open_is_said():
    found = inferred_of(None)
    assert not any("not explained" in each for each in of_inferred(found))
    assert any("5 % of what" in each for each in of_inferred(replace(found, broken=0.05)))
    printed = rules_told(replace(found, printed=True))
    assert any("printed priorities" in each.evidence for each in printed)
