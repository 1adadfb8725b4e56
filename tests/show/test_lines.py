"""Lines of throughput: doubling is always equally long, and every value lies on the drawing."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.show.charts import distribution, lines, scaling


def points(line):
    return [tuple(map(float, point.split(","))) for point in line.points.split()]


def test_doubling_is_equally_long_in_both_directions():
    plot = scaling([("a", (8, 16, 32), (100.0, 200.0, 400.0))])
    (first, up), (second, middle), (third, down) = points(plot.lines[0])
    assert second - first == pytest.approx(third - second, abs=0.02)
    assert up - middle == pytest.approx(middle - down, abs=0.02)
    assert [text for _, text in plot.x.ticks] == ["8", "16", "32"]


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_every_point_lies_on_the_drawing_between_ticks(scale):
    plot = scaling([("a", (1, 2), (3 * scale, 9 * scale)), ("b", (1, 2), (scale, 8 * scale))])
    heights = [height for line in plot.lines for _, height in points(line)]
    assert all(0 <= height <= 100 for height in heights)
    assert (plot.y.ticks[0][0], plot.y.ticks[-1][0]) == (pytest.approx(0), pytest.approx(100))


def test_equal_rates_at_a_power_of_ten_can_be_drawn():
    plot = scaling([("a", (1, 2), (100.0, 100.0))])
    assert all(height == 100.0 for _, height in points(plot.lines[0]))


@given(top=st.integers(1, 10**7))
def test_things_are_counted_in_whole_numbers(top):
    plot = lines([("a", (0.0, 1.0), (float(top), 0.0))])
    texts = [text.replace(",", "") for _, text in plot.y.ticks]
    assert all(text.isdecimal() for text in texts)
    assert 2 <= len(texts) <= 8
    assert all(0 <= place <= 100 for place, _ in plot.y.ticks)
    assert [float(text) / top for text in texts] == pytest.approx(
        [place / 100 for place, _ in plot.y.ticks]
    )


@given(low=st.floats(1e-3, 1e3), factor=st.floats(1, 1e9))
def test_texts_below_a_distribution_do_not_meet(low, factor):
    plot = distribution([("a", (low, low * factor))])
    places = [place for place, _ in plot.x.ticks]
    assert all(after - before >= 11 for before, after in pairwise(places))
