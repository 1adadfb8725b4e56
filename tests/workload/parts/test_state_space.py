"""Mamba-2 layers: parameters by hand, work that grows with tokens alone."""

from dataclasses import replace

import pytest

from foretrain.errors import InputError
from foretrain.workload.parts.mixers import StateSpace, state_space
from foretrain.workload.parts.stream import HiddenStates, Norm

SHAPE = StateSpace(heads=32, width=64, groups=8, state=128)
STREAM = HiddenStates(tokens=1024, hidden=1024, norm=Norm.SCALE, dropout=False)


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


def test_traffic_of_a_scan_by_hand():
    scan = next(each for each in state_space(SHAPE, STREAM) if each.name == "scan")
    inner, projections, decays = 1024 * 2048, 1024 * 8 * 128, 4 * 1024 * 32
    scores, states = 4 * 1024 * 8 * 128, 4 * 8 * 2048 * 128
    assert scan.forward.values == 5 * inner + 4 * projections
    assert scan.forward.fixed == 2 * scores + 6 * decays + 3 * states
    assert scan.backward.values == 16 * inner + 12 * projections
    assert scan.backward.fixed == 7 * scores + 16 * decays + 7.5 * states


def test_longer_chunks_hand_on_fewer_states_and_have_more_scores():
    short, long = (
        next(each for each in state_space(replace(SHAPE, chunk=chunk), STREAM) if each.kernels == 5)
        for chunk in (128, 256)
    )
    states, scores = 3 * 4 * 8 * 2048 * 128, 2 * 4 * 1024 * 8 * 128
    assert long.forward.fixed - short.forward.fixed == scores - states / 2
    assert long.flop > short.flop


def test_context_axis_has_no_keys_to_send():
    assert not any(each.keys or each.queries for each in state_space(SHAPE, STREAM))


def test_groups_share_heads_evenly():
    with pytest.raises(InputError, match=r"StateSpace\.groups must divide the 32 heads, got 5"):
        replace(SHAPE, groups=5)
