"""Bars: pieces are as long as what they stand for."""

import pytest
from tests import builders

from foretrain.search.report.bars import fates, memory_bars, space_bar, time_bars


def test_stacked_bars_are_as_long_as_their_totals():
    bars = time_bars(builders.search_result().plans)
    lengths = [sum(piece.share for piece in bar.pieces) for bar in bars]
    assert lengths == sorted(lengths)
    assert lengths[-1] == pytest.approx(1.0)


def test_memory_has_one_bar_per_stage():
    best = builders.search_result().best
    assert len(memory_bars(builders.study(), best)) == best.plan.pipeline


def test_plans_of_the_space_add_up():
    result = builders.search_result(priced=8_000, excluded_by_bound=1_310)
    assert sum(fate.plans for fate in fates(result)) == result.space
    assert sum(fate.share for fate in fates(result)) == pytest.approx(1.0)
    assert sum(piece.share for piece in space_bar(result).pieces) == pytest.approx(1.0)


def test_what_became_of_nothing_is_not_told():
    names = [fate.name for fate in fates(builders.search_result())]
    assert names == ["priced", "refused-0", "refused-1", "refused-2"]


def test_most_frequent_reason_comes_first():
    refused = [fate.plans for fate in fates(builders.search_result())[1:]]
    assert refused == [31_744, 6_002, 1_160]
