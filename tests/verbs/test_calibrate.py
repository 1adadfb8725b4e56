"""Calibrate: a fit to a few runs over what is known."""

from dataclasses import replace
from pathlib import Path

import pytest

from foretrain.calibrate.free import free_of
from foretrain.coefficients.coefficient import Kind
from foretrain.errors import InputError
from foretrain.files.coefficients import PRIORS, SHIPPED
from foretrain.files.measurements import read_runs
from foretrain.verbs.calibrate import Fitting, calibrate, fittable

TABLES = Path(__file__).parents[2] / "validation" / "tables"
FREE = ("matrix.sustained", "links.ethernet")


@pytest.fixture(scope="module")
def runs():
    """A few runs of one node."""
    listed = [f"mpt-{number:04}" for number in (1, 5, 9)]
    return [run for run in read_runs(TABLES / "llm_training.csv") if run.id in listed]


def fitting(**changes):
    question = {
        "free": FREE,
        "kept_apart": frozenset(),
        "publishers": None,
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
    found = calibrate(runs, fitting(), priors=SHIPPED)
    compute, link = found.moved
    assert compute.rows == 3
    assert 0 < abs(compute.score) < 1
    assert link.rows == 0
    assert found.calibration.known["links.ethernet"] == SHIPPED.known["links.ethernet"]
    assert found.calibration.known["matrix.sustained"].kind is Kind.MEASURED
    assert found.calibration.known["matrix.sustained"].source == "foretrain calibrate runs.csv"


def test_nobody_is_left_out_unless_publishers_are_named(runs):
    assert not calibrate(runs, fitting(), priors=SHIPPED).folds
    folds = calibrate(runs, fitting(publishers={"mpt": "mosaic"}), priors=SHIPPED).folds
    assert set(folds) == {"mosaic"}


def test_runs_without_a_step_time_are_refused(runs):
    with pytest.raises(InputError, match="Runs need a measured step time"):
        calibrate([], fitting())
    with pytest.raises(InputError, match="Runs need a measured step time"):
        calibrate(runs, fitting(kept_apart={"mpt"}))


def test_doubtful_repeats_that_scatter_silence_their_whole_source(runs):
    odd = replace(runs[0], measured=2 * runs[0].measured, doubt="twice as slow", repeat="same")
    its = [replace(runs[0], repeat="same"), odd, runs[1]]
    with pytest.raises(InputError, match="must agree within 10%"):
        calibrate(its, fitting())
