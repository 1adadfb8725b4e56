"""Attention: parameters by hand, what windows and causality leave, what the context axis sends."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.errors import InputError
from foretrain.workload.operator import Attention, OperatorKind, Reach, Split
from foretrain.workload.parts.attention import Heads, SlidingWindow, attention, cross_attention
from foretrain.workload.parts.stream import HiddenStates, Norm

HEADS = Heads(heads=8, kv_heads=2, width=16)
STREAM = HiddenStates(tokens=64, hidden=96, norm=Norm.SCALE, dropout=False)


def flop(operators, kernel):
    return sum(each.flop for each in operators if each.attention is kernel)


def weights(operators):
    return sum(each.weights for each in operators)


def named(operators, name):
    [found] = [each for each in operators if each.name == name]
    return found


@st.composite
def heads(draw):
    kv_heads = draw(st.integers(1, 8))
    return Heads(
        heads=kv_heads * draw(st.integers(1, 8)),
        kv_heads=kv_heads,
        width=draw(st.integers(1, 128)),
        bias=draw(st.booleans()),
        output_bias=draw(st.booleans()),
        rotary=draw(st.booleans()),
        norms=draw(st.booleans()),
        sinks=draw(st.booleans()),
    )


def test_parameters_of_every_option_by_hand():
    plain = 96 * (128 + 2 * 32) + 128 * 96
    assert weights(attention(HEADS, STREAM)) == plain
    biased = replace(HEADS, bias=True, output_bias=True)
    assert weights(attention(biased, STREAM)) == plain + (128 + 2 * 32) + 96
    assert weights(attention(replace(HEADS, norms=True), STREAM)) == plain + 2 * 16
    assert weights(attention(replace(HEADS, sinks=True), STREAM)) == plain + 8


@few(50)
@given(shape=heads(), tokens=st.integers(1, 4096))
def test_context_axis_sees_keys_and_values_once_and_queries_with_outputs(shape, tokens):
    operators = attention(shape, replace(STREAM, tokens=tokens))
    assert sum(each.keys for each in operators) == tokens * 2 * shape.kv_heads * shape.width
    assert sum(each.queries for each in operators) == tokens * 2 * shape.heads * shape.width


@few(50)
@given(shape=heads(), tokens=st.integers(1, 4096))
def test_causal_kernel_computes_half_of_what_a_seeing_one_does(shape, tokens):
    stream = replace(STREAM, tokens=tokens)
    causal, seeing = (attention(replace(shape, causal=c), stream) for c in (True, False))
    assert flop(seeing, Attention.FLASH) == 2 * flop(causal, Attention.FLASH)
    assert flop(seeing, Attention.FLASH) == flop(seeing, Attention.PLAIN)
    assert flop(seeing, Attention.PLAIN) == flop(causal, Attention.PLAIN)


@few(50)
@given(tokens=st.integers(1, 4096), window=st.integers(1, 8192))
def test_window_saves_work_of_the_fused_kernel_alone(tokens, window):
    whole = replace(HEADS, window=None)
    windowed = replace(HEADS, window=SlidingWindow(tokens=window))
    assert 0 < windowed.pairs(tokens) <= whole.pairs(tokens)
    if window >= tokens:
        assert windowed.pairs(tokens) == whole.pairs(tokens)
    stream = replace(STREAM, tokens=tokens)
    assert flop(attention(windowed, stream), Attention.PLAIN) == flop(
        attention(whole, stream), Attention.PLAIN
    )


def test_window_of_128_tokens_leaves_128_per_query_of_a_long_sample():
    pairs = replace(HEADS, window=SlidingWindow(tokens=128)).pairs(131_072)
    assert pairs == pytest.approx(128 * 131_072, rel=1e-3)


def test_layers_that_alternate_compute_the_mean_of_both():
    window = SlidingWindow(tokens=100)
    alternating = replace(HEADS, window=replace(window, share=0.25))
    whole, windowed = HEADS, replace(HEADS, window=window)
    mean = 0.25 * windowed.pairs(1000) + 0.75 * whole.pairs(1000)
    assert alternating.pairs(1000) == mean


def test_members_of_the_tensor_axis_repeat_the_only_key_value_head():
    operators = attention(replace(HEADS, kv_heads=1), STREAM)
    assert named(operators, "query").units == 8
    assert named(operators, "key-value").split is Split.NONE
    assert weights(operators) == 96 * (128 + 2 * 16) + 128 * 96


def test_cross_attention_reads_queries_here_and_keys_there():
    operators = cross_attention(HEADS, STREAM, memory=10)
    assert named(operators, "cross query").matrices.rows == 64
    assert named(operators, "cross key-value").matrices.rows == 10
    assert named(operators, "cross scores").matrices.columns == 10
    assert named(operators, "cross flash attention").flop == 2 * 64 * 10 * 128 * 2
    assert weights(operators) == weights(attention(HEADS, STREAM))


def test_learned_positions_rotate_nothing():
    operators = attention(replace(HEADS, rotary=False), STREAM)
    heads = named(operators, "queries, keys, values")
    assert (heads.kind, heads.kernels, heads.forward.values) == (OperatorKind.MEMORY, 0, 0)


def test_rotations_with_a_temperature_take_six_times_the_traffic():
    plain, scaled = (
        named(attention(replace(HEADS, scaled=each), STREAM), "queries, keys, values")
        for each in (False, True)
    )
    assert (plain.kernels, scaled.kernels) == (1, 12)
    assert scaled.forward.values == 6 * plain.forward.values
    assert scaled.backward.values == 5 * plain.backward.values
    assert (plain.reach, scaled.reach) == (Reach.WHOLE, Reach.STRETCHED)
    assert scaled.kept == plain.kept


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"heads": 0}, r"Heads\.heads must be at least 1, got 0"),
        ({"kv_heads": 3}, r"Heads\.kv_heads must divide the 8 heads, got 3"),
        ({"width": -1}, r"Heads\.width must be at least 1, got -1"),
    ],
)
def test_impossible_heads_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(HEADS, **change)


@pytest.mark.parametrize("share", [0, 1.5, float("nan")])
def test_share_of_layers_with_a_window_is_a_fraction(share):
    with pytest.raises(InputError, match=r"SlidingWindow\.share must be above 0 and at most 1"):
        SlidingWindow(tokens=128, share=share)
