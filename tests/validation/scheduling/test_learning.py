"""Learning: what a larger batch is worth, by hand and in its limits."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.validation.scheduling.profiles import SMALL
from validation.scheduling.learning import Learning, gain

LEARNING = Learning(SMALL)
positive = st.floats(1e-6, 1e6)


def test_without_noise_a_larger_batch_is_worth_no_more():
    assert gain(16.0, signal=1.0, noise=0.0) == 1.0


def test_with_nothing_but_noise_it_is_worth_its_size():
    assert gain(16.0, signal=0.0, noise=1.0) == 16.0


@given(signal=positive, noise=positive, scale=st.floats(1, 1e4))
def test_a_step_is_worth_between_one_and_the_scale(signal, noise, scale):
    assert 1.0 - 1e-9 <= gain(scale, signal=signal, noise=noise) <= scale * (1.0 + 1e-9)


def test_equal_signal_and_noise_make_a_double_batch_worth_four_thirds():
    assert LEARNING.gain(8, 0) == pytest.approx(2.0 / 1.5)


def test_noise_grows_in_the_second_epoch_and_so_does_the_worth():
    assert LEARNING.gain(8, 1) == pytest.approx(4.0 / 2.5)


def test_between_two_batches_signal_and_noise_lie_on_a_line():
    assert LEARNING.gain(6, 1) == pytest.approx(4.0 / (3.0 / 1.5 + 1.0))


def test_epochs_begin_where_the_one_before_ends():
    assert [LEARNING.epoch(done) for done in (0.0, 9.9, 10.0, 20.0)] == [0, 0, 1, 1]
    assert [LEARNING.until(done) for done in (0.0, 10.0, 20.0)] == [10.0, 20.0, inf]
    assert LEARNING.work == 20.0


def test_steps_of_a_batch_are_those_that_were_made():
    assert [LEARNING.steps(8, done) for done in (0.0, 5.0, 10.0, 20.0)] == [0.0, 4.0, 8.0, 14.0]
    assert LEARNING.steps(6, 10.0) == 9.0
