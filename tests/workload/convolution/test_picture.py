"""Pictures and windows: how many positions a window has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrain.errors import InputError
from foretrain.workload.convolution.operators import Picture, Window, cube, square

sides = st.integers(1, 600)
odd = st.sampled_from([1, 3, 5, 7, 11])
strides = st.integers(1, 4)


@given(side=sides, size=odd)
def test_window_that_moves_by_one_keeps_the_sides(side, size):
    assert Window(size=size).over(square(side)) == (side, side)


@given(side=sides, size=odd, stride=strides)
def test_half_a_window_of_padding_gives_pixels_over_stride_rounded_up(side, size, stride):
    usual = Window(size=size, stride=stride, padding=(size - 1) // 2)
    assert usual.over(square(side)) == Window(size=size, stride=stride).over(square(side))


@given(side=st.integers(11, 600), size=odd)
def test_window_without_padding_loses_its_size_less_one(side, size):
    assert Window(size=size, padding=0).over(square(side)) == (side - size + 1,) * 2


def test_sides_are_counted_one_by_one():
    window = Window(size=(41, 11), stride=(2, 1))
    assert window.over(Picture(channels=1, sides=(161, 100))) == (81, 100)
    assert window.area(2) == 41 * 11


def test_volume_has_values_in_three_dimensions():
    assert cube(128, channels=4).values == 4 * 128**3


def test_picture_without_pixels_is_refused():
    with pytest.raises(InputError, match="Give a larger image"):
        Picture(channels=3, sides=(0, 5))
