"""The queue on disk: first in, first out, and never above its bound for long."""

from contextlib import closing

import numpy as np

from batchcast.spill import Spill


def record(value):
    return [np.array([value]), np.full((2, 3), float(value))]


def test_records_come_back_as_they_went_and_their_space_is_used_again():
    with closing(Spill(3 * 56)) as spill:
        for turn in range(3):
            assert spill.room(56) == 3
            spill.put(turn, record(turn))
            spill.put(turn + 1, None)
            spill.put(turn + 2, record(turn + 2))
            assert spill.room(56) == 0
            got = record(-1)
            spill.take(got)
            assert got[0].tolist() == [turn]
            assert spill.skipped()
            assert not spill.skipped()
            spill.take(got)
            assert (got[1] == turn + 2).all()
        assert spill._end == 2 * 56


def test_what_is_forgotten_leaves_room():
    with closing(Spill(56)) as spill:
        spill.put(0, record(0))
        spill.clear()
        assert (spill.room(56), list(spill.numbers)) == (1, [])
