"""Bars: pieces are as long as what they stand for."""

import pytest
from tests import builders

from foretrain.search.explain.alive import AliveAt
from foretrain.search.report.bars import fates, memory_bars, moment_bars, space_bar, time_bars


def test_stacked_bars_are_as_long_as_their_totals():
    bars = time_bars(builders.search_result().plans)
    lengths = [sum(piece.share for piece in bar.pieces) for bar in bars]
    assert lengths == sorted(lengths)
    assert lengths[-1] == pytest.approx(1.0)


def test_memory_has_one_bar_per_stage():
    best = builders.search_result().best
    assert len(memory_bars(builders.study(), best)) == best.plan.pipeline


def alive(when, activations):
    held = {"weights": 2.0, "gradients": 4.0, "optimizer": 0.0, "buffers": 1.0}
    return AliveAt(when=when, activations=activations, total=7.0 + activations, **held)


@pytest.mark.parametrize(("capacity", "whole"), [(20.0, 20.0), (8.0, 10.0)])
def test_memory_over_the_step_has_a_bar_for_each_moment_as_long_as_what_is_held(capacity, whole):
    bars = moment_bars([alive("at the loss", 3.0), alive("in the update", 0.0)], capacity)
    assert [bar.label for bar in bars] == ["at the loss", "in the update"]
    lengths = [sum(piece.share for piece in bar.pieces) for bar in bars]
    assert lengths == pytest.approx([10.0 / whole, 7.0 / whole])
    assert [[piece.name for piece in bar.pieces] for bar in bars] == [
        ["weights", "gradients", "activations", "buffers"],
        ["weights", "gradients", "buffers"],
    ]


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
