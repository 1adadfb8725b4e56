"""Mamba-2 layers: parameters by hand, work that grows with tokens alone."""

from dataclasses import replace

import pytest

from foretrain.errors import InputError
from foretrain.workload.library.parts.state_space import StateSpace, state_space
from foretrain.workload.library.parts.stream import Norm, Stream

SHAPE = StateSpace(heads=32, width=64, groups=8, state=128)
STREAM = Stream(tokens=1024, hidden=1024, norm=Norm.SCALE, dropout=False)


def flop(tokens):
    return sum(each.flop for each in state_space(SHAPE, replace(STREAM, tokens=tokens)))


def test_parameters_by_hand():
    inner, mixed = 2048, 2048 + 2 * 8 * 128
    into = 1024 * (inner + mixed + 32)
    convolution, recurrence, norm = 5 * mixed, 3 * 32, inner
    found = sum(each.weights for each in state_space(SHAPE, STREAM))
    assert found == into + convolution + recurrence + norm + inner * 1024


def test_work_is_linear_in_tokens_beyond_one_chunk():
    assert flop(4096) == 4 * flop(1024)
    assert flop(64) < flop(128) / 2


def test_context_axis_has_no_keys_to_send():
    assert not any(each.keys or each.queries for each in state_space(SHAPE, STREAM))


def test_groups_share_heads_evenly():
    with pytest.raises(InputError, match=r"StateSpace\.groups must divide the 32 heads, got 5"):
        replace(SHAPE, groups=5)
