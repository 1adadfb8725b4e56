"""The allocator's coefficients: found again where rows follow them, and priors where none do."""

from dataclasses import asdict, replace
from math import exp, log

import numpy as np
import pytest
from validation.fitting.memory import (
    NOISE,
    TENTH,
    WHOLE_NOISE,
    MemoryRow,
    fit,
    left_out,
    percentile_range,
    percentiles,
    predicted,
    ratio,
    residual,
)

from foretrain.coefficients.device import Reserve
from foretrain.study.coefficients import PRIORS

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


def uneven():
    """Runs of many models that follow the coefficients but for some percent, and repeats of two."""
    drawn = [
        replace(row, measured=row.measured * (1.0 + 0.06 * (-1) ** (place // 3)))
        for place, row in enumerate(rows(models=12))
    ]
    again = (replace(drawn[place], id=f"again {place}-{turn}") for place in (2, 3) for turn in "ab")
    had = replace(drawn[4], id="had", bound=True, measured=0.95 * predicted(drawn[4], KNOWN))
    return [*drawn, *again, had]


def written(values):
    return Reserve(**dict(zip(PRIOR, values, strict=True)))


def logarithms(values, drawn):
    return np.array([log(predicted(row, written(values))) for row in drawn])


def slopes(values, drawn):
    """What each coefficient does to the logarithms, by small differences. [row, coefficient]"""
    steps = np.diag(1e-5 * np.asarray(values))
    rise = [logarithms(values + step, drawn) - logarithms(values - step, drawn) for step in steps]
    return np.array(rise).T / (2.0 * np.diag(steps))


def test_a_fit_is_where_rows_and_priors_pull_alike_and_as_sure_as_both():
    """Normal equations of a ridge: each group counts once, and by how far it scatters."""
    drawn = uneven()
    fitted = fit(drawn, PRIOR)
    values = np.array([*asdict(fitted.values).values()])
    low, high, start = (
        np.array([getattr(each, end) for each in PRIOR.values()])
        for end in ("low", "high", "value")
    )
    assert np.all((low < values) & (values < high))
    many = [len([row for row in drawn if row.group == each.group]) for each in drawn]
    noise = np.array([NOISE if row.allocated else WHOLE_NOISE for row in drawn])
    share = 1.0 / (np.array(many) * noise**2)
    width = (high - low) / (2.0 * TENTH)
    errors = np.log([row.measured for row in drawn]) - logarithms(values, drawn)
    slope = slopes(values, drawn)
    pull = slope.T @ (share * errors) - (values - start) / width**2
    certainty = slope.T @ (share[:, np.newaxis] * slope) + np.diag(1.0 / width**2)
    spread = TENTH * np.sqrt(np.diag(np.linalg.inv(certainty)))
    assert pull * spread == pytest.approx(np.zeros(3), abs=1e-3)
    ends = [*asdict(fitted.low).values()], [*asdict(fitted.high).values()]
    assert ends[0] == pytest.approx(np.maximum(values - spread, low), rel=1e-3)
    assert ends[1] == pytest.approx(np.minimum(values + spread, high), rel=1e-3)


def test_what_a_run_needs_is_the_sum_of_its_parts():
    known = Reserve(reserve=3.0, fragmentation=0.5, temporaries=0.25)
    inside = replace(rows()[1], counted=10.0, kept=8.0)
    assert predicted(inside, known) == 10.0 + 0.25 * 8.0
    assert predicted(replace(inside, allocated=False), known) == 12.0 * 1.5 + 3.0


def test_run_that_had_a_little_too_little_is_believed_and_one_that_had_much_less_is_not():
    known = Reserve(reserve=0.0, fragmentation=0.0, temporaries=0.0)
    had = replace(rows()[0], counted=1.0, bound=True)
    errors = [residual(replace(had, measured=exp(each)), known) for each in (0.2, -0.09, -0.11)]
    assert errors == pytest.approx([0.0, -0.09, 0.0])


def test_percentiles_are_those_of_softly_stepped_votes():
    """Of three groups the middle one holds the median, and the ends are where a third begins."""
    drawn = rows(models=3)
    found = percentiles(drawn, {"0": -0.5, "1": 0.1, "2": 0.4})
    # The logistic step of a group's third at its residual: log odds of how much of it is passed.
    odds = {"p02": 0.06, "p10": 0.3, "p50": 0.5, "p90": 0.7, "p98": 0.94}
    middle = {"p02": -0.5, "p10": -0.5, "p50": 0.1, "p90": 0.4, "p98": 0.4}
    for name, share in odds.items():
        place = middle[name] + 0.01 * log(share / (1.0 - share))
        assert getattr(found, name) == pytest.approx(place, abs=1e-4)


def test_range_of_percentiles_is_over_what_is_left_without_each_group():
    drawn = [*rows(models=3), *(replace(row, id=f"b{row.id}") for row in rows(models=3))]
    residuals = {row.id: {"m0": -0.5, "m1": 0.1, "m2": 0.4}[row.model] for row in drawn}
    low, high = percentile_range(drawn, residuals)
    assert (low["p02"], high["p02"]) == pytest.approx((-0.5, 0.1), abs=0.05)
    assert (low["p98"], high["p98"]) == pytest.approx((0.1, 0.4), abs=0.05)
