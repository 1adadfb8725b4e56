"""The allocator's coefficients: found again where rows follow them, and priors where none do."""

from dataclasses import asdict, replace
from math import exp, log

import pytest

from foretrain.calibrate.memory import (
    MemoryRow,
    fit,
    left_out,
    percentile_range,
    percentiles,
    predicted,
    ratio,
    residual,
)
from foretrain.coefficients.memory import Reserve
from foretrain.files.coefficients import PRIORS

PRIOR = {name: PRIORS.known[f"memory.{name}"] for name in Reserve.__dataclass_fields__}
KNOWN = Reserve(reserve=1.5e9, fragmentation=0.05, temporaries=0.06)


def rows(known=KNOWN, *, models=30):
    """Runs of many models, of which every second tells what its allocator handed out."""
    drawn = (
        MemoryRow(
            id=f"{model}",
            source="a" if model % 2 else "b",
            model=f"m{model}",
            measured=1.0,
            counted=1e9 * (2 + 3 * model),
            kept=1e9 * (1 + model % 7) / 7 * (2 + 3 * model),
            allocated=bool(model % 2),
        )
        for model in range(models)
    )
    return [replace(row, measured=predicted(row, known)) for row in drawn]


def test_without_rows_the_priors_stand():
    fitted = fit([], PRIOR)
    for name, value in asdict(fitted.values).items():
        assert value == PRIOR[name].value


def test_many_exact_rows_bring_coefficients_near_those_they_were_made_with():
    errors = [abs(residual(row, fit(rows(), PRIOR).values)) for row in rows()]
    before = [abs(residual(row, fit([], PRIOR).values)) for row in rows()]
    assert max(errors) < 0.02
    assert sum(errors) < sum(before) / 3


def test_fits_stay_within_their_priors_interval_and_inside_their_own():
    wild = [replace(row, measured=3 * row.measured) for row in rows()]
    for fitted in (fit(rows(), PRIOR), fit(wild, PRIOR)):
        for name, value in asdict(fitted.values).items():
            assert PRIOR[name].low <= value <= PRIOR[name].high
            assert getattr(fitted.low, name) <= value <= getattr(fitted.high, name)


def test_more_rows_of_a_model_do_not_count_more():
    once = rows(models=4)
    again = [*once, *(replace(once[0], id=f"again {turn}") for turn in range(5))]
    assert asdict(fit(again, PRIOR).values) == pytest.approx(asdict(fit(once, PRIOR).values))


def test_what_the_allocator_handed_out_knows_nothing_of_what_is_outside():
    inside = replace(rows()[1], measured=1e9)
    far = replace(KNOWN, reserve=9e9, fragmentation=0.5)
    assert predicted(inside, far) == predicted(inside, KNOWN)


def test_a_model_is_judged_by_the_others_alone():
    lone = replace(rows()[0], measured=9 * rows()[0].measured)
    others = rows()[1:]
    found = left_out([lone, *others], PRIOR)
    assert found[lone.id] == residual(lone, fit(others, PRIOR).values)
    assert ratio(found[lone.id]) < -0.85


def test_percentiles_of_two_groups_count_the_same_however_many_rows_they_have():
    many = [replace(row, source="many", model="m") for row in rows()]
    few_rows = [replace(row, source="few", model="m", id=f"few {row.id}") for row in rows(models=5)]
    residuals = {row.id: 0.0 for row in many} | {row.id: log(1.2) for row in few_rows}
    found = percentiles([*many, *few_rows], residuals)
    assert found.p10 == pytest.approx(0.0, abs=0.02)
    assert found.p90 == pytest.approx(log(1.2), abs=0.02)
    assert found.p10 < found.p50 < found.p90


def test_percentiles_range_over_groups_left_out():
    drawn = rows(models=6)
    residuals = {row.id: 0.01 * place for place, row in enumerate(drawn)}
    low, high = percentile_range(drawn, residuals)
    for name, value in asdict(percentiles(drawn, residuals)).items():
        assert low[name] <= value + 0.01
        assert high[name] >= value - 0.01


def test_ratio_is_predicted_over_measured():
    assert ratio(log(2.0)) == pytest.approx(-0.5)
    assert ratio(0.0) == 0.0
    assert exp(-log(1.25)) - 1 == pytest.approx(ratio(log(1.25)))


def test_a_run_that_had_enough_says_nothing_and_one_that_had_too_little_pulls():
    [row, *others] = rows()
    had = replace(row, id="had", bound=True, allocated=False)
    enough, short, misread = (
        replace(had, measured=times * had.measured) for times in (2, 0.97, 0.5)
    )
    before = fit(others, PRIOR)
    assert fit([*others, enough], PRIOR) == before
    assert fit([*others, misread], PRIOR) == before
    assert predicted(short, fit([*others, short], PRIOR).values) < predicted(short, before.values)
    assert "had" not in left_out([*others, short], PRIOR)
