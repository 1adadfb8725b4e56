"""Seeds: numbers that somebody else computed, and draws that disturb nobody."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.needs import needs

from batchcast.order import generators_kept, mixed, mixed_all, number_of, seed_of, sow


def test_mixing_zero_gives_the_first_number_of_splitmix64():
    assert mixed(0) == 0xE220A8397B1DCDAF  # the first output of the reference program, seed 0


@given(values=st.lists(st.integers(0, 2**62), max_size=20))
def test_many_numbers_are_mixed_like_each(values):
    assert mixed_all(np.array(values, np.int64)).tolist() == [mixed(value) for value in values]


def test_parts_in_another_order_give_another_seed():
    assert len({seed_of(1, 2, 3), seed_of(1, 3, 2), seed_of(2, 1, 3), seed_of(1, 2)}) == 4
    assert number_of("a") != number_of("b")


def test_draws_within_leave_no_trace():
    torch = needs("torch")

    def draws():
        old = np.random.rand()  # noqa: NPY002 - transforms draw from the old one too
        return random.random(), old, torch.rand(()).item()

    sow(1)
    want = draws()
    sow(1)
    with generators_kept():
        sow(2)
        assert draws() != want
    assert draws() == want
