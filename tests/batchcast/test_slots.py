"""Slots: free when nobody needs them, in whatever order they are given back."""

import numpy as np

from batchcast.slots import Slots


def array(*numbers):
    return np.array(numbers, np.int64)


def taken(count=6, held_by=("a",)):
    """Slots that are all taken, written, and held."""
    slots = Slots(count)
    for reader in held_by:
        slots.join(reader)
    numbers = slots.take(count, skip=False)
    for reader in held_by:
        slots.hold(reader, numbers)
    slots.written(numbers)
    return slots


def test_slots_are_taken_side_by_side_and_never_across_the_end():
    slots = Slots(5)
    slots.join("a")
    assert slots.take(3, skip=False).tolist() == [0, 1, 2]
    assert slots.take(9, skip=False).tolist() == [3, 4]
    assert slots.take(1, skip=True).tolist() == []
    assert slots.free == 0


def test_a_slot_is_free_when_the_last_of_its_readers_has_released_it():
    slots = taken(held_by=("a", "b"))
    assert slots.release("a", array(2, 3)).tolist() == []
    assert slots.release("b", array(3)).tolist() == [3]
    assert slots.leave("b").tolist() == [2]
    assert slots.free == 2


def test_a_slot_that_is_not_written_yet_is_not_free_though_nobody_needs_it():
    slots = Slots(2)
    numbers = slots.take(2, skip=False)
    assert slots.free == 0
    assert slots.written(numbers).tolist() == [0, 1]


def test_slots_that_are_still_held_are_passed_over_only_where_asked():
    slots = taken()
    slots.release("a", array(1, 4, 5))
    assert slots.take(2, skip=False).tolist() == []
    assert slots.take(2, skip=True).tolist() == [1]
    assert slots.take(2, skip=True).tolist() == [4, 5]


def test_what_is_released_twice_counts_once():
    slots = taken()
    slots.release("a", array(0))
    assert slots.release("a", array(0)).tolist() == []
    assert slots.free == 1


def test_a_slot_that_a_reader_holds_anew_outlives_the_batch_it_keeps():
    slots = taken()
    slots.lend("a", array(0))
    slots.hold("a", array(0))
    assert slots.release("a", array(0)).tolist() == []
    assert slots.lent_with(array()) == 1
    assert slots.release("a", array(0)).tolist() == [0]
    assert slots.lent_with(array()) == 0


def test_a_reader_that_leaves_keeps_only_the_batches_it_names():
    slots = taken()
    slots.lend("a", array(1, 2))
    assert slots.keep("a", array(2)).tolist() == [0, 1, 3, 4, 5]
    assert slots.lent_with(array()) == 1
    assert slots.leave("a").tolist() == [2]
