"""The ledger: it tells a sample that is lost, doubled or swapped, in whatever order they came."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from batchcast.ledger import Ledger, ledger_of

samples = st.lists(st.integers(0, 2**40), max_size=30, unique=True)


@given(ids=samples, cut=st.integers(0, 30))
def test_books_of_parts_add_up_in_any_order(ids, cut):
    parts = ledger_of(np.array(ids[cut:], np.int64)) + ledger_of(np.array(ids[:cut], np.int64))
    assert parts == ledger_of(np.array(ids, np.int64))
    assert parts - ledger_of(np.array(ids, np.int64)) == Ledger()


@given(ids=samples.filter(bool), other=st.integers(2**41, 2**42))
def test_a_swap_a_loss_and_a_double_are_told(ids, other):
    whole = ledger_of(np.array(ids, np.int64))
    for wrong in ([other, *ids[1:]], ids[1:], [ids[0], *ids]):
        assert ledger_of(np.array(wrong, np.int64)) != whole
