"""The accuracy of memory that foretrain promises, recomputed with each model left out."""

from dataclasses import asdict

import pytest
from tests.tables import published
from validation.fitting.memory import fit, left_out
from validation.memory import (
    AIMS,
    EFFICIENT,
    LATER,
    MEAN,
    UNDER,
    VALUES,
    peaks,
    score,
    show,
    told_of_later,
    trained,
)
from validation.parts.tables import runs_of

from foretrain.evidence.predict import predict
from foretrain.study.coefficients import DEFAULT, PRIORS, SHIPPED

PRIOR = {name: PRIORS.known[f"memory.{name}"] for name in asdict(DEFAULT.memory)}


@pytest.fixture(scope="module")
def rows():
    runs = published("memory")
    found = list(peaks([run for run in runs if run.source_id == EFFICIENT]))
    return found + list(trained(published("llm_training")))


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


def test_sources_that_came_later_had_no_part_in_a_coefficient():
    memory = [it for name, it in SHIPPED.known.items() if name.startswith("memory.")]
    fitted = {row for it in memory for row in it.rows}
    assert fitted
    assert not [row for row in fitted if row.startswith(LATER)]


def test_sources_that_came_later_are_told_apart_by_what_they_count():
    runs = [run for run in runs_of("memory") if run.source_id in LATER]
    some = [run for run in runs if run.id.endswith(("01", "17", "598"))]
    told = list(told_of_later(some))
    assert any("peft-metamath" in line and "allocator held" in line for line in told)
    assert any("fms-accel" in line and "allocator handed out" in line for line in told)
    assert any("out of memory" in line for line in told)


def test_full_training_in_sixteen_bits_is_within_a_percent():
    """Ten bytes a parameter: three models, one device, the smallest batches."""
    for name in ("fms-accel-0001", "fms-accel-0025", "fms-accel-0307"):
        run = next(run for run in runs_of("memory") if run.id == name)
        assert predict(run, DEFAULT, played=False).value == pytest.approx(run.measured, rel=0.01)
