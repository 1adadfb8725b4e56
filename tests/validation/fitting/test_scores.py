"""Scores: sources weigh the same, and one run moves its framework."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests import builders, examples
from tests.validation.fitting.scored_rows import on, row
from validation.fitting.scores import anchored, score, scored_rows

from foretrain.errors import InputError
from foretrain.evidence.validate import Status

FEW = examples.few(50)
RATIOS = some.lists(some.floats(0.1, 10.0), min_size=1, max_size=20)


def rows_of(source, ratios):
    return [row(f"{source}-{place}", ratio) for place, ratio in enumerate(ratios)]


def test_every_source_weighs_the_same_however_many_rows_it_has():
    found = score([*rows_of("a", [1.1] * 5), *rows_of("b", [1.3] * 50)])
    assert found.mean == pytest.approx(0.2)
    assert found.median == pytest.approx(0.2)
    assert found.pooled.mean == pytest.approx((5 * 0.1 + 50 * 0.3) / 55)


def test_sources_with_few_rows_are_pooled_and_not_averaged():
    found = score([*rows_of("a", [1.1] * 5), *rows_of("b", [3.0] * 4)])
    assert set(found.sources) == {"a"}
    assert found.mean == pytest.approx(0.1)
    assert found.pooled.rows == 9


def test_no_rows_have_no_score():
    found = score([])
    assert (found.mean, found.median, found.pooled) == (None, None, None)


@FEW
@given(RATIOS)
def test_a_score_does_not_ask_for_the_order_of_rows(ratios):
    assert score(rows_of("a", ratios), least=1).mean == pytest.approx(
        score(rows_of("a", ratios[::-1]), least=1).mean
    )


@FEW
@given(ratios=RATIOS, factor=some.floats(0.1, 10.0))
def test_a_factor_common_to_all_predictions_is_anchored_away(ratios, factor):
    plain = [it.predicted for it in anchored(rows_of("a", ratios))]
    scaled = [it.predicted for it in anchored([r.scaled(factor) for r in rows_of("a", ratios)])]
    assert scaled == pytest.approx(plain)


def test_the_row_with_the_fewest_devices_moves_the_others_and_is_not_among_them():
    rows = [row("a-1", 1.0, place=on(16)), row("a-2", 0.5, place=on(8)), row("a-3", 0.6)]
    moved = anchored(rows)
    assert [it.run.id for it in moved] == ["a-3", "a-1"]
    assert [1 + it.error for it in moved] == pytest.approx([1.2, 2.0])


def test_of_rows_on_as_many_devices_the_first_id_moves_the_others():
    assert [it.run.id for it in anchored([row("a-2"), row("a-1")])] == ["a-2"]


def test_groups_of_one_are_not_anchored():
    assert anchored([row("a-1"), row("a-2", precision="fp16")]) == ()


def test_rows_that_are_not_to_judge_are_not_scored(validation):
    kept = scored_rows(*validation, {"a": "house"})
    assert [it.run.id for it in kept] == ["a-1"]
    assert kept[0].publisher == "house"


@pytest.fixture
def validation():
    """Two runs and what is said of them: one is scored, the other skipped."""
    said = builders.validation().rows[0]
    runs = [row("a-1").run, row("a-2").run]
    rows = [replace(said, id="a-1"), replace(said, id="a-2", status=Status.SKIPPED)]
    return runs, rows


def test_a_prediction_of_nothing_is_refused():
    with pytest.raises(InputError, match="above 0"):
        row("a-1", 0.0)
