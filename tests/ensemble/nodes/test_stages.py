from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.ensemble.nodes.decode import ahead


@given(items=st.lists(st.none() | st.integers(), max_size=20), queue=st.integers(0, 5))
@few(50)
def test_items_come_in_their_order_whatever_the_queue(items, queue):
    assert list(ahead(iter(items), queue)) == items


@given(queue=st.integers(0, 3))
@few(4)
def test_error_is_raised_after_the_items_before_it(queue):
    def failing():
        yield 1
        raise ValueError("broken")

    stage = ahead(failing(), queue)
    assert next(stage) == 1
    with pytest.raises(ValueError, match="broken"):
        next(stage)


def test_stage_runs_ahead_by_its_queue_and_no_further():
    made, third = [], Event()

    def counted():
        for number in range(10):
            made.append(number)
            if number == 3:
                third.set()
            yield number

    stage = ahead(counted(), 2)
    assert next(stage) == 0
    assert third.wait(5)  # one taken, two in the queue, one in the thread's hands
    assert made == [0, 1, 2, 3]
    stage.close()


def test_stage_that_is_left_ends_its_thread():
    ended = Event()

    def endless():
        try:
            while True:
                yield 0
        finally:
            ended.set()

    stage = ahead(endless(), 1)
    next(stage)
    stage.close()
    assert ended.wait(5)
