"""Seeds: numbers that somebody else computed, and draws that disturb nobody."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.needs import needs

from batchcast.order import (
    Generators,
    draw_numbers,
    fingerprint,
    generators_kept,
    mixed,
    mixed_all,
    number_of,
    numbers_drawn,
    seed_of,
    sow,
)


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


def test_whatever_draws_is_counted_in_numbers_of_the_generator():
    torch = needs("torch")
    for count, draw in (
        (0, lambda: None),
        (2, lambda: torch.empty((), dtype=torch.int64).random_()),
        (999, lambda: torch.randperm(1000)),
        (624 * 4, lambda: torch.randperm(624 * 4 + 1)),
        (200, lambda: torch.multinomial(torch.ones(100), 100, replacement=True)),
    ):
        sow(1)
        draw()
        wanted = torch.rand(3).tolist()
        sow(1)
        assert numbers_drawn(draw) == count
        assert torch.rand(3).tolist() == wanted
        sow(1)
        draw_numbers(count)
        assert torch.rand(3).tolist() == wanted


def test_any_draw_changes_what_comes_next():
    torch = needs("torch")
    untouched = fingerprint(3)
    for draw in (random.random, np.random.rand, lambda: torch.rand(1), lambda: None):
        sow(3)
        draw()
        assert (fingerprint() == untouched) == (draw() is None)


def test_generators_of_ones_own_draw_on_whoever_draws_between():
    torch = needs("torch")

    def drawn():
        return (
            random.gauss(0, 1),
            float(np.random.randn()),  # noqa: NPY002 - keeps its second draw for later
            float(torch.rand(())),
        )

    sow(3)
    alone = [drawn() for _ in range(5)]
    sow(3)
    first, second = Generators(), Generators()
    got = {id(each): [] for each in (first, second)}
    for _ in range(5):
        for each in (first, second):
            with each.in_use():
                got[id(each)].append(drawn())
            drawn()
    assert list(got.values()) == [alone, alone]
