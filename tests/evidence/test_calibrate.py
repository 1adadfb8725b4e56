"""Calibrate: a fit to a few runs over what is known."""

from dataclasses import replace

import pytest
from tests.small import gpt_study
from tests.tables import published

from foretrain.coefficients.coefficients import Origin
from foretrain.errors import InputError
from foretrain.evidence.calibrate import calibrate
from foretrain.evidence.fit import free_of
from foretrain.evidence.fit_runs import Fitting, fit_runs, fittable, observed
from foretrain.evidence.predict import CATALOGUE
from foretrain.measured.case import case_of
from foretrain.measured.run import Subject
from foretrain.step.alternatives import climb
from foretrain.step.setting import setting
from foretrain.study.coefficients import PRIORS, SHIPPED

FREE = ("matrix.sustained", "links.ethernet")


@pytest.fixture(scope="module")
def runs():
    """A few runs of one node."""
    listed = [f"mpt-{number:04}" for number in (1, 5, 9)]
    return [run for run in published("llm_training") if run.id in listed]


def fitting(**changes):
    question = {
        "free": FREE,
        "kept_apart": frozenset(),
        "left_out": None,
        "name": "mine",
        "date": "2026-11-22",
        "command": "foretrain calibrate runs.csv",
    }
    return Fitting(**(question | changes))


@pytest.mark.parametrize("known", [PRIORS, SHIPPED], ids=["priors", "shipped"])
def test_whatever_is_fittable_can_be_fitted(known):
    names = fittable(known)
    assert "matrix.sustained" in names
    assert all(free_of(name, known.known[name]).spread > 0 for name in names)


def test_neither_the_pace_nor_widths_nor_memory_are_fitted_to_steps():
    groups = {name.split(".")[0] for name in fittable()}
    assert not groups & {"step", "uncertainty", "memory", "memory_errors"}


def test_few_runs_move_little_and_only_what_they_tell_of(runs):
    found = fit_runs(runs, fitting(), priors=SHIPPED)
    compute, link = found.moved
    assert compute.rows == 3
    assert 0 < abs(compute.score) < 1
    assert link.rows == 0
    assert found.calibration.known["links.ethernet"] == SHIPPED.known["links.ethernet"]
    assert found.calibration.known["matrix.sustained"].kind is Origin.MEASURED
    assert found.calibration.known["matrix.sustained"].source == "foretrain calibrate runs.csv"


def test_nobody_is_left_out_unless_groups_are_named(runs):
    assert not fit_runs(runs, fitting(), priors=SHIPPED).folds
    folds = fit_runs(
        runs, fitting(left_out=lambda _: {"mosaic", "software/pytorch"}), priors=SHIPPED
    ).folds
    assert set(folds) == {"mosaic", "software/pytorch"}


def test_runs_without_a_step_time_are_refused(runs):
    with pytest.raises(InputError, match="Runs need a measured step time"):
        fit_runs([], fitting())
    with pytest.raises(InputError, match="Runs need a measured step time"):
        fit_runs(runs, fitting(kept_apart={"mpt"}))


@pytest.mark.parametrize(
    "change",
    [{"subject": Subject.PEAK_MEMORY}, {"subject": Subject.STATE}, {"out_of_memory": True}],
)
def test_only_a_step_that_was_run_to_its_end_tells_of_the_time_of_a_step(runs, change):
    assert observed(runs[0]) is not None
    assert observed(replace(runs[0], **change)) is None


def test_whoever_waits_is_told_what_is_fitted_and_how_far_it_got(runs):
    told = []
    found = fit_runs(
        runs,
        fitting(left_out=lambda _: {"mosaic"}),
        priors=SHIPPED,
        progress=told.append,
    )
    assert told == [
        f"{len(runs)} runs, {len(FREE)} coefficients",
        f"fitted to all runs: {found.error:.3f}",
        "fitted without mosaic",
    ]


def slower(run, times, **changes):
    """A run as if it had taken so many times as long."""
    rate = None if run.token_rate is None else run.token_rate / times
    measured = None if run.measured is None else times * run.measured
    return replace(run, measured=measured, token_rate=rate, **changes)


@pytest.fixture(scope="module")
def several():
    """Runs of ten sizes and lengths."""
    listed = [f"mpt-{number:04}" for number in range(1, 11)]
    return [run for run in published("llm_training") if run.id in listed]


def judged(runs, **asked):
    return calibrate(runs, date="2026-11-23", **asked)


def test_fit_is_judged_on_runs_that_were_left_out_of_it(several):
    found = judged([slower(run, 1.3) for run in several])
    assert found.judged.rows == len(several)
    assert found.judged.helps
    assert found.judged.before - found.judged.after > found.judged.error > 0
    assert (found.doubts, found.accepted) == ((), True)


def test_fit_to_a_few_runs_of_a_mixed_source_is_not_accepted(several):
    """What makes half of the runs slow is not in the rows, and the others pay for it."""
    mixed = [slower(run, 1.8 if place % 3 else 0.7) for place, run in enumerate(several)]
    found = judged(mixed)
    assert not found.judged.helps
    assert not found.accepted
    assert "it does not help: runs that were left out of the fit are predicted" in found.doubts[0]


def test_repeats_of_one_configuration_are_left_out_together(several):
    """Else a run would be predicted from its own twin."""
    twins = [replace(run, id=f"{run.id}-{n}", repeat=run.id) for run in several[:4] for n in "ab"]
    assert judged([slower(run, 1.3) for run in twins]).judged is None


def test_one_figure_of_few_that_is_hard_to_believe_is_not_accepted(several):
    milliseconds = slower(several[0], 1000.0)
    found = judged([milliseconds, *several[1:4]])
    assert [(each.run, each.deviations > 4) for each in found.odd] == [(several[0].id, True)]
    assert not {run.id for run in several[1:]} & {each.run for each in found.odd}
    assert not found.accepted
    assert "1 of 4 runs are not to be believed, mpt-0001 least: " in found.doubts[0]


def test_study_and_runs_each_have_their_own_step_time(several):
    with pytest.raises(InputError, match="a study needs step_time"):
        calibrate(gpt_study())
    with pytest.raises(InputError, match="runs have theirs"):
        calibrate(several, step_time=1.0)


def test_doubtful_repeats_that_scatter_silence_their_whole_source(runs):
    odd = replace(runs[0], measured=2 * runs[0].measured, doubt="twice as slow", repeat="same")
    its = [replace(runs[0], repeat="same"), odd, runs[1]]
    with pytest.raises(InputError, match="must agree within 10%"):
        fit_runs(its, fitting())


def test_a_coefficient_of_a_fold_names_the_runs_that_were_left_in(runs):
    folds = fit_runs(runs, fitting(left_out=lambda run: {run.id}), priors=SHIPPED).folds
    every = {run.id for run in runs}
    for run in runs:
        assert {*folds[run.id].known["matrix.sustained"].rows} == every - {run.id}


def test_of_plans_that_may_be_meant_the_first_that_fits_is_held_against_a_measured_step():
    [run] = [each for each in published("llm_training") if each.id == "mbridge-0043"]
    case = case_of(run, CATALOGUE)
    priced = setting(case.workload, case.cluster, PRIORS.coefficients, software=case.software)
    fitting_plan = climb(priced, case.plausible).plan
    assert fitting_plan != case.plan
    assert observed(run).held.plans.plan(0) == fitting_plan
