"""The accuracy of memory that foretrain promises, recomputed with each model left out."""

from dataclasses import asdict

import pytest
from validation.fitting.memory import fit, left_out
from validation.memory import (
    AIMS,
    EFFICIENT,
    MEAN,
    TABLES,
    UNDER,
    VALUES,
    peaks,
    score,
    show,
    trained,
)

from foretrain.study.coefficients import DEFAULT, PRIORS
from foretrain.study.measurements import read_runs

PRIOR = {name: PRIORS.known[f"memory.{name}"] for name in asdict(DEFAULT.memory)}


@pytest.fixture(scope="module")
def rows():
    runs = read_runs(TABLES / "memory.csv")
    found = list(peaks([run for run in runs if run.source_id == EFFICIENT]))
    return found + list(trained(read_runs(TABLES / "llm_training.csv")))


@pytest.fixture(scope="module")
def residuals(rows):
    return left_out(rows, PRIOR)


def test_peaks_of_parameter_efficient_training_meet_the_aims(rows, residuals):
    found = score([residuals[row.id] for row in rows if row.source == EFFICIENT])
    assert (found.rows, MEAN, UNDER) == (VALUES, 0.08, 0.10)
    assert (found.mean, found.under) < AIMS
    assert found.under < AIMS[1]


def test_priors_alone_keep_the_limits(rows):
    bare = fit([], PRIOR).values
    assert asdict(bare) == {name: it.value for name, it in PRIOR.items()}
    alone = left_out([row for row in rows if row.source == EFFICIENT][:5], PRIOR)
    assert score(list(alone.values())).mean < MEAN


def test_five_peaks_of_full_training_are_reported(rows):
    assert sum(row.source != EFFICIENT for row in rows) == 5


def test_a_missing_row_misses_the_limit(rows, residuals, capsys):
    assert show(rows, residuals)
    assert not show(rows[1:], residuals)
    assert "MISSED" in capsys.readouterr().out


def test_no_row_of_the_fit_is_kept_for_evaluation(rows):
    assert not {"korthikanti", "korthikanti-mem", "narayanan-sc21"} & {row.source for row in rows}
