"""The order: every epoch holds each sample once, and places and numbers are the same thing."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from batchcast.order import Order, permutation


def order_of(samples, epochs=3):
    return Order(samples=samples, epochs=epochs, shuffle=True, seed=4)


@given(samples=st.integers(1, 200), epoch=st.integers(0, 5), data=st.data())
def test_an_epoch_read_in_pieces_holds_every_sample_once(samples, epoch, data):
    order, start = order_of(samples), epoch * samples
    cut = data.draw(st.integers(0, samples))
    parts = order.ids(start, cut), order.ids(start + cut, samples - cut)
    assert sorted(np.concatenate(parts)) == list(range(samples))


@given(samples=st.integers(1, 50), number=st.integers(0, 500))
def test_a_place_is_a_number(samples, number):
    order = order_of(samples)
    assert order.number(*order.place(number)) == number


def test_orders_differ_by_epoch_and_seed_only():
    one = permutation(50, seed=1, epoch=0)
    assert (one == permutation(50, seed=1, epoch=0)).all()
    assert (one != permutation(50, seed=1, epoch=1)).any()
    assert (one != permutation(50, seed=2, epoch=0)).any()


def test_epochs_of_a_loader_have_numbers_once_the_one_before_has_ended():
    order = order_of(None, epochs=2)
    assert (order.number(0, 3), order.number(1, 0), order.last()) == (3, None, None)
    order.close(0, 7)
    order.close(1, 12)
    assert (order.number(1, 2), order.place(9), order.last()) == (9, (1, 2), 12)


def test_epochs_before_the_first_of_a_loader_that_goes_on_are_gone():
    order = order_of(None)
    order.begin(2)
    assert order.number(2, 5) == 5
    assert order.place(5) == (2, 5)
    assert order.number(1, 0) < 0
