"""States of generators as bytes: whoever goes on from them draws what would have been drawn."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.needs import needs

from batchcast.generator_states import LONGEST, GeneratorStates
from batchcast.order import generators_kept, sow

torch = needs("torch")


def drawn():
    """What each of the three generators draws, a half of a pair of normal numbers too."""
    of_numpy = np.random.normal(), np.random.rand()  # noqa: NPY002 - scripts draw from the old one
    return torch.rand(3).tolist(), of_numpy, (random.gauss(0, 1), random.random())


@given(seed=st.integers(0, 2**40), before=st.integers(0, 3))
def test_generators_go_on_from_a_state_that_travelled(seed, before):
    with generators_kept():
        sow(seed)
        for _ in range(before):
            drawn()
        states = GeneratorStates.now()
        want = drawn()
        sow(seed + 1)
        GeneratorStates.of(states.as_bytes()).put()
        assert drawn() == want


def test_a_generator_of_which_nothing_is_told_stays_as_it_is():
    with generators_kept():
        sow(1)
        states = GeneratorStates.now()
        want = drawn()
        sow(2)
        other = drawn()
        sow(2)
        states._replace(numpy=b"", python=b"").put()
        assert drawn() == (want[0], other[1], other[2])


def test_no_states_are_no_bytes_and_all_three_fit_into_a_packet():
    assert GeneratorStates().as_bytes() == b""
    assert GeneratorStates.of(b"") == GeneratorStates()
    assert len(GeneratorStates.now().as_bytes()) <= LONGEST


@pytest.mark.parametrize("told", [b"abc", bytes(11), bytes(13), b"\xff" * 12, bytes(LONGEST + 1)])
def test_bytes_that_are_no_states_are_refused(told):
    with pytest.raises(ValueError, match="bytes"):
        GeneratorStates.of(told)
