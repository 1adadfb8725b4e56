"""Lines of throughput: doubling is always equally long, and every value lies on the drawing."""

import pytest

from foretrain.show.charts import scaling


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
