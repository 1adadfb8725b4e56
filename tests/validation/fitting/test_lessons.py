"""Lessons: what is learned is the likeliest, and holds just as much as it is to."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from tests.validation.fitting.scored_rows import SITUATION, row
from validation.fitting.lessons import (
    EASY,
    LARGE,
    LEAST,
    SOURCE_ROWS,
    TRUST,
    Held,
    Lessons,
    Observed,
    fitted,
    held_out,
    interval_score,
    learned,
    lessons_of,
    observed,
    with_anchor,
)

from foretrain.coefficients.intervals import FEATURES, LEVEL, after_anchor, covered, spread, width
from foretrain.study.coefficients import PRIORS

PRIOR = PRIORS.coefficients.uncertainty
CASES = [
    replace(SITUATION, lower=0.04, higher=0.07),
    replace(SITUATION, divided=True, lower=0.15, higher=0.02),
    replace(SITUATION, experts=True, parameters=5e10, lower=0.01, higher=0.1),
    replace(SITUATION, vague=1.5, assumed=2, sharded=True, higher=0.05),
    replace(SITUATION, device="b200-sxm", devices=2048, host_bound=0.4, lower=0.1),
]


def rows(publishers, *, many, seed=2):
    """Residuals of some publishers; the first one has two sources of unlike numbers of rows."""
    generator = np.random.default_rng(seed)
    return [
        Observed(
            source_id=f"{name}2" if name == "a" and place % 5 == 0 else name,
            publisher=name,
            residual=float(generator.laplace(0.05, 0.2)),
            situation=CASES[(place + ord(name)) % len(CASES)],
        )
        for name in publishers
        for place in range(many)
    ]


ROWS = rows("abcdefghi", many=8)


def factors(drawn, uncertainty):
    """How much wider than an easy case each is beside what the other publishers' runs cover."""
    covers = {
        name: covered([it.situation for it in drawn if it.publisher != name])
        for name in {it.publisher for it in drawn}
    }
    easy = replace(uncertainty, time=1.0)
    return np.array([width(it.situation, easy, covers[it.publisher]) for it in drawn])


def votes(drawn):
    """Every source's rows to the same."""
    sources = [it.source_id for it in drawn]
    return np.array([1.0 / sources.count(each) / len(set(sources)) for each in sources])


def quantile(values, weights, level):
    """The first of the values, ascending, up to which that much weighs."""
    passed = 0.0
    for place in np.argsort(values):
        passed += weights[place]
        if passed >= level - 1e-12:
            return values[place]
    return max(values)


def loss(uncertainty):
    """Less the logarithm of the likelihood, with the width of an easy case that is likeliest."""
    weights, wide = votes(ROWS), factors(ROWS, uncertainty)
    over = np.array([abs(it.residual) for it in ROWS]) / wide
    vague = np.array([it.situation.vague for it in ROWS])
    easy = min(max(weights @ over, EASY[0]), EASY[1])
    apart = [getattr(uncertainty, name) - getattr(PRIOR, name) for name in FEATURES]
    trust = 1.0 / (2.0 * 10 * SOURCE_ROWS * TRUST**2)
    likely = log(easy) + weights @ np.log(wide / vague) + weights @ over / easy
    return likely + trust * sum(each**2 for each in apart)


def test_no_widening_is_likelier_than_the_one_that_is_learned():
    found = fitted(ROWS, PRIOR)
    least = loss(found)
    for name in FEATURES:
        known = getattr(found, name)
        for other in (known + 2e-3, max(0.0, known - 2e-3)):
            assert least <= loss(replace(found, **{name: other})) + 1e-9, name


def test_easy_case_is_as_wide_as_holds_what_it_is_to_of_one_publisher_more():
    """What an unknown choice among plans explains of a residual is no reason for a width."""
    left = [
        max(
            0.0,
            it.residual**2 - (it.situation.lower if it.residual < 0 else it.situation.higher) ** 2,
        )
        for it in ROWS
    ]
    found = fitted(ROWS, PRIOR)
    net = np.sqrt(left) / factors(ROWS, found)
    assert found.time == pytest.approx(quantile(net, votes(ROWS), LEVEL * 10 / 9))


def test_width_of_two_publishers_is_the_largest_that_was_seen():
    """Of three the unknown one weighs a third: no share of two is enough, so it is all of them."""
    few = rows("bc", many=5)
    few = [replace(it, situation=SITUATION) for it in few]
    assert fitted(few, PRIOR).time == pytest.approx(max(abs(it.residual) for it in few))


def test_ends_after_an_anchor_are_percentiles_of_what_is_slower_and_of_what_is_quicker():
    found = with_anchor(ROWS, PRIOR)
    net = np.array([it.residual for it in ROWS]) / factors(ROWS, PRIOR)
    slower, quicker = (quantile(side * net, votes(ROWS), 0.9) for side in (1.0, -1.0))
    assert min(slower, quicker) > LEAST
    assert found.anchored == pytest.approx(slower)
    assert found.anchored * found.anchored_quicker == pytest.approx(quicker)


def test_moved_rows_no_longer_know_of_plans_that_sources_leave_open():
    wide = replace(SITUATION, lower=0.3, higher=0.2)
    scored = [row("a-1", 0.5, situation=wide), row("a-2", situation=None)]
    [plain], [moved] = observed(scored), observed(scored, moved=True)
    assert plain.situation == wide
    assert moved.situation == SITUATION
    assert plain.residual == moved.residual == pytest.approx(log(2.0))


def test_source_teaches_unless_its_repeats_are_a_tenth_apart():
    steady = [row("b-1", measured=1.0), row("b-2", measured=1.09)]
    odd = [row("c-1", measured=1.0), row("c-2", measured=1.12)]
    found = lessons_of([row("a-1"), *steady, *odd], PRIOR)
    assert [it.source_id for it in found.rows] == ["a", "b", "b"]
    assert [it.source_id for it in found.anchored] == ["b"]


def test_intervals_are_learned_from_the_other_publishers():
    drawn = rows("abc", many=8)
    lessons = Lessons(prior=PRIOR, rows=drawn, anchored=drawn[::2])
    for moved in (False, True):
        held = held_out(lessons, drawn, moved=moved)
        assert [it.observed for it in held] == drawn
        for one in (held[3], held[-1]):
            others = lessons.without(one.observed.publisher)
            covers = covered([it.situation for it in others.rows])
            known = after_anchor(learned(others)) if moved else learned(others)
            told = spread(one.observed.situation, known, covers)
            assert (one.low, one.high) == pytest.approx(
                (log(told.low_factor), log(told.high_factor))
            )


def held(residual, low=-0.1, high=0.2, source="a"):
    seen = Observed(source_id=source, publisher=source, residual=residual, situation=SITUATION)
    return Held(observed=seen, low=low, high=high)


@pytest.mark.parametrize(
    ("residual", "inside", "miss"),
    [(-0.3, False, 0.2), (-0.1, True, 0), (0.0, True, 0), (0.2, True, 0), (0.3, False, 0.1)],
)
def test_interval_costs_its_width_and_ten_times_what_it_misses_on_either_side(
    residual, inside, miss
):
    assert held(residual).inside is inside
    assert held(residual).score == pytest.approx(0.3 + 10 * miss)


def test_intervals_are_worth_what_their_rows_say():
    found = interval_score(
        [
            *(held(0.0, source="b") for _ in range(LARGE - 1)),
            *(held(0.5, low=-0.2) for _ in range(5)),
            *(held(0.1) for _ in range(LARGE - 5)),
        ]
    )
    many = 2 * LARGE - 1
    assert found.coverage == pytest.approx((many - 5) / many)
    assert found.sources == {"a": pytest.approx((LARGE - 5) / LARGE)}
    assert found.ratio == pytest.approx(0.3)
    assert found.score == pytest.approx((0.3 * (many - 5) + (0.4 + 10 * 0.3) * 5) / many)
    # One width that holds all but the five farthest reaches 0.1 to either side.
    assert found.constant == pytest.approx((0.2 * many + 10 * 0.4 * 5) / many)


def test_one_width_for_all_holds_as_many_rows_however_few():
    rows = [held(size / 10, low=-0.01, high=0.01) for size in (3, 1, 2)]
    nothing = interval_score(rows)
    assert nothing.coverage == 0.0
    assert nothing.constant == pytest.approx(0.2 + 10 * (0.0 + 0.1 + 0.2) / 3)
