"""The window: which numbers lie in the arena, and which of them can be read."""

import numpy as np

from batchcast.window import SKIPPED, SlotWindow, held

NONE = np.zeros(0, np.int64)


def array(*numbers):
    return np.array(numbers, np.int64)


def test_numbers_are_published_when_all_before_them_are_prepared():
    window = SlotWindow(4, first=10)
    assert window.append(array(0, 1, 2)) == 10
    window.prepared(11, 2, failed=NONE)
    assert (window.published, window.head) == (10, 13)
    window.prepared(10, 1, failed=NONE)
    assert window.published == 13
    assert window.slots(10, 13).tolist() == [0, 1, 2]


def test_a_number_that_could_not_be_prepared_has_no_slot():
    window = SlotWindow(4, first=0)
    window.append(array(2, 3))
    window.prepared(0, 2, failed=array(1))
    assert window.slots(0, 2).tolist() == [2, SKIPPED]
    assert held(window.slots(0, 2)).tolist() == [2]


def test_the_tail_is_behind_the_last_number_whose_slot_is_free():
    window = SlotWindow(4, first=0)
    window.append(array(0, 1, 2))
    window.freed(array(1))
    assert window.tail == 2
    window.freed(array(0))
    assert window.tail == 2
    window.privately(array(2))
    window.freed(array(2))
    assert window.tail == 2


def test_there_is_room_until_a_number_that_is_unread_or_unprepared_would_be_overwritten():
    window = SlotWindow(4, first=0)
    window.append(array(0, 1, 2))
    assert window.room(0) == 1
    assert window.room(99) == 1
    window.prepared(0, 3, failed=NONE)
    assert window.room(99) == 4
