"""Sweeps: who goes on at a rung, what a cluster makes of it, and who is served first."""

from dataclasses import replace
from itertools import pairwise
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few
from tests.jobs.runs import job, trace
from validation.scheduling.sweeps import apart_of, bound, drawn_cases, hyperband_kinds

from foretrain.cluster.mixed import Fleet, NodeFailures, Nodes, fleet
from foretrain.errors import InputError
from foretrain.jobs.run import run
from foretrain.jobs.summary import summary
from foretrain.jobs.sweeps import as_jobs, submitted
from foretrain.measured.queue_study import Conditions, Placement
from foretrain.measured.sweep import (
    Board,
    Bracket,
    EndingRule,
    Sweep,
    SweepKind,
    geometric,
    hyperband,
    verdicts,
)

FOUR = ((0.9, 0.9, 0.9), (0.8, 0.75, 0.7), (0.5, 0.4, 0.3), (0.7, 0.6, 0.6))
"""Losses of four trials at three rungs: the second looks better at first than it is."""


def four(rule):
    """A sweep of four trials whose rungs are at 1, 2 and 4 hours."""
    bracket = Bracket(trials=4, rungs=(1.0, 2.0, 4.0))
    return Sweep(name="four", brackets=(bracket,), rule=rule, eta=2.0)


def swept(sweep, losses, *, devices=2, policy="fifo"):
    jobs = as_jobs(sweep, arrival=0.0, losses=losses)
    return run(trace(jobs), fleet(devices), policy)


def ran(outcomes):
    """Trials that got to each rung. [rung]"""
    rungs = [each.rung for each in outcomes.trace.jobs]
    found = [
        (rung.place, rung.trial)
        for place, rung in enumerate(rungs)
        if place not in outcomes.cancelled
    ]
    return [
        {trial for at, trial in found if at == place}
        for place in range(max(rung.place for rung in rungs) + 1)
    ]


def judged(rule, losses, *, eta=2.0):
    """Who goes on, of trials that come to one rung one after the other."""
    told = {}
    for count in range(1, len(losses) + 1):
        board = Board([(loss,) for loss in losses[:count]], eta, more=count < len(losses))
        told = {**verdicts(rule, board), **told}
    return [place for place, goes_on in sorted(told.items()) if goes_on]


@pytest.mark.parametrize(
    ("rule", "ends", "device_hours", "rungs"),
    [
        (EndingRule.HALVING, 5.0, 8.0, [{0, 1, 2, 3}, {2, 3}, {2}]),
        (EndingRule.ASHA, 5.0, 9.0, [{0, 1, 2, 3}, {1, 2, 3}, {2}]),
    ],
)
def test_four_trials_on_two_devices_end_as_by_hand(rule, ends, device_hours, rungs):
    # Reference: worked case H1 of the rules of early termination.
    outcomes = swept(four(rule), [FOUR])
    assert max(outcomes.ended) == ends
    assert sum(outcomes.attained) == device_hours
    assert ran(outcomes) == rungs


def test_without_an_ending_rule_all_trials_train_to_the_end():
    sweep = Sweep(name="grid", brackets=(Bracket(trials=4, rungs=(4.0,)),))
    outcomes = swept(sweep, [[each[2:] for each in FOUR]])
    assert max(outcomes.ended) == 8.0
    assert sum(outcomes.attained) == 16.0


@pytest.mark.parametrize("rule", [EndingRule.STOPPING, EndingRule.PRUNING])
def test_the_order_in_which_trials_come_decides_who_goes_on(rule):
    # Worked case H2: gains of .5 .3 .2 .1, and the same the other way round.
    gains = (0.5, 0.3, 0.2, 0.1)
    assert judged(rule, [-gain for gain in gains]) == [0]
    assert judged(rule, [-gain for gain in reversed(gains)]) == [0, 1, 2, 3]


def test_a_median_is_taken_of_three_others_at_least():
    assert judged(EndingRule.MEDIAN, [1.0, 2.0, 3.0, 2.5, 1.5]) == [0, 1, 2, 4]


def test_a_trial_that_was_once_good_is_kept_by_the_median():
    shown = [(1.0, 5.0), (2.0, 2.0), (2.0, 2.0), (2.0, 2.0), (1.9, 9.0)]
    assert verdicts(EndingRule.MEDIAN, Board(shown, 3.0, more=True)) == {4: True}


def test_hyperband_has_the_brackets_of_its_paper():
    found = hyperband(1.0, 81.0, eta=3.0)
    assert [(each.trials, each.rungs[0]) for each in found] == [
        (81, 1.0), (34, 3.0), (15, 9.0), (8, 27.0), (5, 81.0),
    ]  # fmt: skip
    # With floats, 243 is not below the fifth power of 3: no bracket is lost.
    assert len(hyperband(1.0, 243.0, eta=3.0)) == 6


def test_what_a_trial_of_the_first_bracket_is_expected_to_take_is_no_guess():
    sweep = Sweep(name="81", brackets=hyperband(1.0, 81.0, eta=3.0)[:1], eta=3.0)
    assert sweep.demand / 81 == pytest.approx(1 + 2 / 3 + 6 / 9 + 18 / 27 + 54 / 81)


losses = st.lists(st.integers(0, 5).map(float), min_size=1, max_size=12)


@few(40)
@given(losses=losses, rule=st.sampled_from(EndingRule), eta=st.sampled_from([2.0, 3.0, 4.0]))
def test_once_all_came_everybody_has_been_told(losses, rule, eta):
    told = {}
    for count in range(1, len(losses) + 1):
        board = Board([(loss,) for loss in losses[:count]], eta, more=count < len(losses))
        told = {**verdicts(rule, board), **told}
    assert told.keys() == set(range(len(losses)))


@few(40)
@given(losses=losses, eta=st.sampled_from([2.0, 3.0, 4.0]))
def test_halving_keeps_one_in_eta_and_nobody_better_ends(losses, eta):
    kept = judged(EndingRule.HALVING, losses, eta=eta)
    assert len(kept) == int(len(losses) / eta)
    ended = [loss for place, loss in enumerate(losses) if place not in kept]
    assert not kept or max(losses[place] for place in kept) <= min(ended)


kinds = st.lists(
    st.builds(
        lambda rule, eta, steps, more, devices: SweepKind(
            sweep=Sweep(
                name=f"{rule}-{eta}-{steps}-{more}-{devices}",
                brackets=hyperband(10.0, 10.0 * eta**steps, eta=eta)
                if rule is EndingRule.HYPERBAND
                else (
                    Bracket(
                        trials=eta**steps + more,
                        rungs=geometric(10.0, 10.0 * eta**steps, eta=eta),
                    ),
                ),
                rule=rule,
                eta=float(eta),
                devices=devices,
            ),
            vary=0.5,
        ),
        st.sampled_from(EndingRule),
        st.integers(2, 3),
        st.integers(0, 2),
        st.integers(0, 3),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda kind: kind.sweep.name,
)

POLICIES = ("fifo", "srtf", "srtf-estimated", "las", "easy", "aware-sweeps", "max-min")


@few(20)
@given(kinds=kinds, seed=st.integers(0, 99), policy=st.sampled_from(POLICIES), fails=st.booleans())
def test_every_trial_ends_or_is_given_up_under_every_policy_and_on_failing_nodes(
    kinds, seed, policy, fails
):
    """Jobs, device-seconds and Little's law are asserted by every run."""
    random = np.random.default_rng(seed)
    jobs = submitted(kinds, count=4, load=1.2, devices=8, random=random, restart=1.0)
    failing = NodeFailures(between=500.0, repair=30.0, checkpoint=5.0) if fails else None
    conditions = Conditions(failures=failing, placement=Placement.PACKED)
    space = Fleet(nodes=(Nodes(count=2, devices=4),))
    outcomes = run(jobs, space, policy, conditions=conditions, random=random)
    trials = sum(
        bracket.trials
        for sweep in {each.rung.sweep.name: each.rung.sweep for each in jobs.jobs}.values()
        for bracket in sweep.brackets
    )
    at_first = [each for each in jobs.jobs if not each.rung.place]
    assert len(at_first) == trials
    assert summary(outcomes, space).counts.finished == 4
    # A trial runs to a rung only if it ran to the one before.
    began = {
        (each.rung.sweep.name, each.rung.bracket, each.rung.trial, each.rung.place): start
        for each, start in zip(jobs.jobs, outcomes.begun, strict=True)
        if not isnan(start)
    }
    for (*of, place), start in began.items():
        assert not place or began[*of, place - 1] < start


@few(20)
@given(kinds=kinds, seed=st.integers(0, 99))
def test_trials_that_wait_for_their_peers_take_what_was_expected(kinds, seed):
    kinds = [
        replace(kind, sweep=replace(kind.sweep, rule=EndingRule.HALVING), vary=0.0)
        for kind in kinds
    ]
    jobs = submitted(kinds, count=3, load=1.0, devices=8, random=np.random.default_rng(seed))
    outcomes = run(jobs, fleet(8), "fifo")
    sweeps = {each.rung.sweep.name: each.rung.sweep for each in jobs.jobs}
    assert sum(outcomes.attained) == pytest.approx(sum(each.demand for each in sweeps.values()))


def test_a_trial_that_goes_on_at_once_keeps_its_devices():
    """Another job waits for them from the beginning, and gets them when the trial has ended."""
    bracket = Bracket(trials=1, rungs=(1.0, 2.0, 3.0))
    sweep = Sweep(name="one", brackets=(bracket,), rule=EndingRule.STOPPING)
    jobs = (*as_jobs(sweep, arrival=0.0, losses=[[[0.0] * 3]]), job(9, arrival=0.5))
    outcomes = run(trace(jobs), fleet(1), "fifo")
    assert outcomes.begun[-1] == 3.0


def test_peers_of_a_trial_that_fails_go_on_without_it():
    jobs = as_jobs(four(EndingRule.HALVING), arrival=0.0, losses=[FOUR])
    # The best trial is ended by its time limit on the way to the first rung.
    limited = [
        replace(each, work=8.0, ends_after=8.0, estimate=1.0)
        if each.rung.trial == 2 and not each.rung.place
        else each
        for each in jobs
    ]
    outcomes = run(trace(limited), fleet(4), "fifo", conditions=Conditions(grace=0.0))
    assert ran(outcomes)[1:] == [{1, 3}, {3}]


@pytest.mark.parametrize("case", [*drawn_cases(25, seed=7)])
def test_on_one_device_no_schedule_has_winners_sooner_than_the_aware_policy(case):
    assert apart_of(case, 1) == pytest.approx(0.0, abs=1e-12)


@few(30)
@given(
    lengths=st.lists(st.integers(1, 20), min_size=1, max_size=12),
    devices=st.integers(1, 6),
)
def test_a_rung_is_over_as_soon_as_mcnaughton_has_it(lengths, devices):
    """On m machines that is the longest trial, or all of them over m."""
    bracket = Bracket(trials=len(lengths), rungs=(1.0,))
    sweep = Sweep(name="one", brackets=(bracket,), rule=EndingRule.HALVING)
    losses, slow = [[[0.0]] * len(lengths)], [[float(each) for each in lengths]]
    jobs = as_jobs(sweep, arrival=0.0, losses=losses, slowness=slow)
    outcomes = run(trace(jobs), fleet(devices), "aware-sweeps")
    least = max(*lengths, sum(lengths) / devices)
    assert max(outcomes.ended) == pytest.approx(least, rel=1e-5)
    assert len(lengths) > devices or not any(outcomes.stops)


@pytest.mark.parametrize(("restart", "ends"), [(0.0, 1.5), (0.1, 1.6), (0.6, 2.0)])
def test_trials_take_turns_where_a_restart_is_shorter_than_what_that_saves(restart, ends):
    """Three trials of an hour on two devices are there after 1.5 h in turns, or after 2 h."""
    bracket = Bracket(trials=3, rungs=(1.0, 2.0))
    sweep = Sweep(name="three", brackets=(bracket,), rule=EndingRule.HALVING, eta=3.0)
    jobs = as_jobs(sweep, arrival=0.0, losses=[[[0.0, 0.0]] * 3], restart=restart)
    outcomes = run(trace(jobs), fleet(2), "aware-sweeps")
    first = [end for end, each in zip(outcomes.ended, jobs, strict=True) if not each.rung.place]
    assert max(first) == pytest.approx(ends, rel=1e-5)


def test_on_several_devices_no_policy_beats_the_bound():
    random = np.random.default_rng(3)
    jobs = submitted(hyperband_kinds(random), count=12, load=0.9, devices=16, random=random)
    least = bound(jobs, 16)
    for policy in ("fifo", "srtf-estimated", "aware-sweeps"):
        assert summary(run(jobs, fleet(16), policy), fleet(16)).mean >= least


def test_a_sweep_counts_as_one_job_from_its_submission_to_its_winner():
    jobs = as_jobs(four(EndingRule.HALVING), arrival=10.0, losses=[FOUR])
    before = job(1, arrival=9.0, work=4.0, devices=2)
    found = summary(run(trace((before, *jobs)), fleet(2), "fifo"), fleet(2))
    assert found.responses == (4.0, 8.0)
    assert found.waiting == (0.0, 3.0)
    assert (found.counts.submitted, found.counts.finished) == (2, 2)


def test_quotas_keep_the_books_of_sweeps():
    jobs = as_jobs(four(EndingRule.HALVING), arrival=0.0, losses=[FOUR], group="a")
    space = Fleet(nodes=(Nodes(count=2, devices=2),), quota={"a": 2})
    found = summary(run(trace((job(9), *jobs)), space, "fifo"), space)
    assert sorted(found.responses) == [1.0, 5.0]


def test_what_is_no_sweep_is_refused():
    with pytest.raises(InputError, match="none is left at rung 3"):
        Sweep(name="few", brackets=(Bracket(trials=8, rungs=(1.0, 3.0, 9.0)),), eta=3.0)
    with pytest.raises(InputError, match="that ascend"):
        Bracket(trials=8, rungs=(1.0, 1.0))
    with pytest.raises(InputError, match="at most last"):
        geometric(5.0, 4.0, eta=3.0)
    with pytest.raises(InputError, match="above 1"):
        replace(four(EndingRule.ASHA), eta=1.0)


def test_rungs_end_at_the_last_time_and_are_eta_apart():
    rungs = geometric(10.0, 100.0, eta=3.0)
    assert rungs[-1] == 100.0
    assert all(after / before == pytest.approx(3.0) for before, after in pairwise(rungs))
