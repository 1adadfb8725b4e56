"""Axes: everything stands where its numbers say."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from foretrain.show.charts import PlotAxis, axis_of
from foretrain.units import SECONDS

times = some.floats(min_value=1e-3, max_value=1e5)


@given(low=times, factor=some.floats(min_value=1.01, max_value=1e4))
def test_ticks_stand_inside_the_axis_in_rising_order(low, factor):
    axis = PlotAxis(low=low, high=low * factor, quantity=SECONDS)
    places = [place for place, _ in axis.ticks]
    assert places == sorted(places)
    assert all(-1e-6 <= place <= 100 + 1e-6 for place in places)
    assert len(places) >= 1


def test_ends_of_an_axis_are_its_ends():
    axis = PlotAxis(low=2.0, high=12.0, quantity=SECONDS)
    assert (axis.place(2.0), axis.place(7.0), axis.place(12.0)) == (0.0, 50.0, 100.0)
    assert [text for _, text in axis.ticks] == ["2 s", "4 s", "6 s", "8 s", "10 s", "12 s"]


def test_ticks_of_one_axis_have_one_unit():
    axis = PlotAxis(low=50.0, high=100.0, quantity=SECONDS)
    assert [text for _, text in axis.ticks] == ["50 s", "60 s", "70 s", "80 s", "90 s", "100 s"]


def test_ticks_of_a_logarithmic_axis_are_round_in_their_own_units():
    axis = PlotAxis(low=15.0, high=4000.0, quantity=SECONDS)
    texts = [text for _, text in axis.ticks]
    assert texts == [
        "20 s", "1 min", "2 min", "5 min", "10 min", "20 min", "1 h"
    ]  # fmt: skip


@given(low=times, factor=some.floats(min_value=9.0, max_value=200.0))
def test_ticks_of_a_logarithmic_axis_have_room_for_their_texts(low, factor):
    places = [place for place, _ in PlotAxis(low=low, high=low * factor, quantity=SECONDS).ticks]
    assert all(right - left > 7 for left, right in pairwise(places))


def test_wide_axes_are_logarithmic():
    axis = PlotAxis(low=1.0, high=100.0, quantity=SECONDS)
    assert axis.place(10.0) == pytest.approx(50.0)


@given(values=some.lists(times, min_size=1))
def test_every_value_stands_inside_its_axis(values):
    axis = axis_of(values, SECONDS)
    assert all(0 <= axis.place(value) <= 100 for value in values)
