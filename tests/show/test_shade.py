"""Shades: a better value never has a worse shade."""

from hypothesis import given
from hypothesis import strategies as some

from foretrain.show.charts import SHADES, amounts, distances

values = some.lists(some.floats(min_value=0, max_value=1e9), min_size=1)


@given(values=values)
def test_shades_rise_with_values_and_all_are_explained(values):
    scale = amounts(values, str)
    shades = [scale.shade(value) for value in sorted(values)]
    assert shades == sorted(shades)
    assert len(scale.texts) == len(scale.tops) <= SHADES
    assert set(shades) == set(range(len(scale.texts)))


def test_few_values_have_a_shade_each():
    scale = amounts([512.0, 128.0, 512.0], "{:.0f}".format)
    assert scale.texts == ("128", "512")


def test_distances_from_the_best_have_round_shades():
    scale = distances()
    assert scale.texts == (
        "up to 2 %",
        "up to 5 %",
        "up to 10 %",
        "up to 25 %",
        "up to 50 %",
        "more",
    )
    assert [scale.shade(far) for far in (0.0, 0.02, 0.03, 0.6, 40.0)] == [0, 0, 1, 5, 5]
