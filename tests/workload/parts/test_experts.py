"""Experts: their products are those of the tokens that are sent, whoever gets them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import few

from foretrain.errors import InputError
from foretrain.workload.operator import Reach, Split
from foretrain.workload.parts.feed_forward import Experts, FeedForward, experts, feed_forward
from foretrain.workload.parts.stream import HiddenStates, Norm

EACH = FeedForward(width=48, gated=True)
SHAPE = Experts(count=8, chosen=2, each=EACH)
STREAM = HiddenStates(tokens=64, hidden=32, norm=Norm.SCALE, dropout=False)


def made(shape, stream=STREAM):
    return {each.name: each for each in experts(shape, stream)}


@st.composite
def mixtures(draw):
    count = draw(st.integers(1, 256))
    each = FeedForward(width=draw(st.integers(1, 4096)), gated=draw(st.booleans()))
    shared = draw(st.none() | st.just(each))
    return Experts(
        count=count,
        chosen=draw(st.integers(1, count)),
        each=each,
        shared=shared,
        imbalance=draw(st.floats(1, 4)),
    )


@few(50)
@given(shape=mixtures(), tokens=st.integers(1, 4096))
def test_tokens_cost_as_much_as_in_dense_parts_of_the_chosen_experts(shape, tokens):
    stream = replace(STREAM, tokens=tokens)
    found = made(shape, stream)
    dense = feed_forward(shape.each, stream)
    sent = found["experts in"].flop + found["experts out"].flop
    assert sent == pytest.approx(shape.chosen * sum(each.flop for each in dense), rel=1e-12)
    kept = found["experts in"].kept.values + found["experts out"].kept.values
    assert kept == shape.chosen * sum(each.kept.values for each in dense if each.weights)


@few(50)
@given(shape=mixtures())
def test_experts_have_the_weights_of_as_many_dense_parts(shape):
    found = made(shape)
    each = sum(operator.weights for operator in feed_forward(shape.each, STREAM))
    routed = [operator for operator in found.values() if operator.experts]
    assert sum(operator.weights for operator in routed) == shape.count * each
    assert {operator.experts for operator in routed} == {shape.count}
    assert {operator.imbalance for operator in routed} == {shape.imbalance}


@few(50)
@given(shape=mixtures(), tokens=st.integers(1, 4096))
def test_every_copy_of_a_token_goes_out_and_comes_back(shape, tokens):
    found = made(shape, replace(STREAM, tokens=tokens))
    routed = {name: each.routed for name, each in found.items() if each.routed}
    assert routed == {
        "dispatch": tokens * shape.chosen * 32,
        "combine": tokens * shape.chosen * 32,
    }
    assert found["experts in"].output == pytest.approx(routed["dispatch"], rel=1e-12)
    assert found["experts out"].output == pytest.approx(routed["combine"], rel=1e-12)


def test_one_product_holds_an_independent_matrix_of_every_expert():
    product = made(SHAPE)["experts in"]
    assert (product.matrices.batch, product.matrices.rows) == (8, 64 * 2 / 8)
    assert product.weights == 8 * 32 * 2 * 48
    assert (product.split, product.units, product.unit) == (Split.COLUMNS, 48, "expert columns")


def test_capacity_pads_what_experts_work_on():
    found = made(replace(SHAPE, capacity=1.25))
    assert found["experts in"].matrices.rows == 1.25 * 64 * 2 / 8
    assert found["dispatch"].routed == 1.25 * 64 * 2 * 32


def test_shared_experts_read_what_the_router_keeps():
    found = made(replace(SHAPE, shared=FeedForward(width=96, gated=True), shared_gate=True))
    assert found["shared expert in"].kept.values == 0
    assert found["choice of experts"].kept.values == 64 * 32
    assert found["shared expert in"].experts == 0
    assert found["shared expert gate"].weights == 32
    assert "shared expert gate" not in made(replace(SHAPE, shared=EACH))


def test_selective_recomputation_redoes_the_activation_alone_and_keeps_what_it_reads():
    found = made(SHAPE)
    assert [name for name in found if found[name].selective] == ["expert activation"]
    assert [name for name in found if found[name].dropped] == ["experts out"]


def test_clamped_branches_move_one_by_one_and_are_kept_before_and_recomputed_after():
    plain, found = made(SHAPE), made(replace(SHAPE, clamped=True))
    clamps, values = found["expert clamps"], 2 * 64 * 2 * 48
    assert "expert clamps" not in plain
    assert (clamps.forward.values, clamps.backward.values) == (4 * values, 5 * values)
    assert clamps.kept.values == plain["expert activation"].kept.values == values
    assert clamps.reach is Reach.STRETCHED
    assert [name for name in found if found[name].selective] == [
        "expert clamps",
        "expert activation",
    ]
    assert [name for name in found if found[name].dropped] == ["expert activation", "experts out"]


def test_biases_of_experts_are_weighed_and_joined_by_kernels_for_two_widths():
    bias = made(replace(SHAPE, each=replace(EACH, bias=True)))["expert bias"]
    values = 64 * 2 * 32
    assert (bias.forward.values, bias.forward.fixed) == (2 * values, 24 * values)
    assert (bias.backward.values, bias.backward.fixed) == (4 * values, 32 * values)
    assert bias.reach is Reach.STRETCHED


def test_latent_experts_work_on_narrow_tokens_and_send_them():
    found = made(replace(SHAPE, latent=16))
    assert found["dispatch"].routed == found["combine"].routed == 64 * 2 * 16
    assert found["experts in"].weights == 8 * 16 * 2 * 48
    assert found["latent down"].weights == found["latent up"].weights == 32 * 16
    assert found["latent down"].kept.values == 0  # the router keeps its input
    assert "latent down" not in made(SHAPE)


def test_router_is_repeated_on_the_tokens_that_a_member_has():
    found = made(replace(SHAPE, router_bias=True))
    assert found["router"].weights == 32 * 8 + 8
    for name in ("router", "choice of experts", "dispatch", "combine"):
        assert (found[name].split, found[name].sequence) == (Split.NONE, True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"chosen": 9}, r"Experts\.chosen must be at most the 8 experts, got 9"),
        ({"count": 0}, r"Experts\.count must be at least 1, got 0"),
        ({"capacity": 0.0}, r"Experts\.capacity must be above 0"),
        ({"imbalance": 0.5}, r"Experts\.imbalance must be at least 1"),
        ({"capacity": 1.0, "imbalance": 2.0}, "give one of them"),
        ({"shared_gate": True}, r"give Experts\.shared"),
        ({"clamped": True, "each": FeedForward(width=48)}, "give Experts.each.gated"),
        ({"latent": 0}, r"Experts\.latent must be at least 1, got 0"),
    ],
)
def test_impossible_experts_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(SHAPE, **change)
