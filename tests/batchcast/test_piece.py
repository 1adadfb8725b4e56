"""Granted samples: taken from the front, past those that could not be prepared."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from batchcast.messages import GAP, ZERO_COPY, Kind, Message
from batchcast.prefetch_buffer import BatchPiece
from batchcast.window import SKIPPED, held


@given(
    slots=st.lists(st.sampled_from([SKIPPED, 0, 1, 2]), min_size=1, max_size=20),
    counts=st.lists(st.integers(1, 5), min_size=20, max_size=20),
    gap=st.integers(0, 9),
)
def test_pieces_of_a_piece_are_the_whole(slots, counts, gap):
    body = np.array(slots, np.int64).tobytes()
    piece = BatchPiece.of(Message(Kind.GRANT, 100, gap << GAP | ZERO_COPY, body), slots=1 << 40)
    assert piece.lent
    got, numbers, passed = [], [], 0
    for count in counts:
        if not len(piece.slots):
            break
        first, by, part = piece.take(count)
        assert len(held(part)) <= count
        got += part.tolist()
        numbers += range(first, first + len(part))
        passed += by
    assert got == slots
    assert numbers == list(range(100, 100 + len(slots)))
    assert passed == len(slots) + gap
