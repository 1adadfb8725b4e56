"""What is trained: published counts of adapters, and what frozen weights no longer need."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.random_models import decoders

from foretrain.errors import InputError
from foretrain.workload.library.entries import build
from foretrain.workload.operator import NOTHING, Size, Split
from foretrain.workload.trainable import Trainable, WeightStorage, adapted

LLAMA = build("llama-2-7b", sequence=4096)
ALL = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def flop(model):
    return sum(layer.repeats * each.flop for layer, each in model.operators)


def backward_flop(model):
    return sum(layer.repeats * each.backward_flop for layer, each in model.operators)


def kept(model):
    return sum(layer.repeats * each.kept.values for layer, each in model.operators)


@pytest.mark.parametrize(
    ("model", "rank", "targets", "parameters"),
    [
        # Printed by the PEFT library for these models; from memory.
        ("llama-2-7b", 8, ("q_proj", "v_proj"), 4_194_304),
        ("llama-2-7b", 16, (), 39_976_960),
        ("llama-2-7b", 64, ALL, 159_907_840),
        ("llama-2-13b", 8, ("q_proj", "v_proj"), 6_553_600),
        ("llama-3-8b", 16, ALL, 41_943_040),
        ("llama-3-70b", 16, ALL, 207_093_760),
    ],
)
def test_adapters_have_as_many_parameters_as_published(model, rank, targets, parameters):
    tuned = adapted(build(model, sequence=128), Trainable(lora=rank, targets=targets))
    assert tuned.trainable == parameters


def test_largest_gpt_has_as_many_adapter_parameters_as_published():
    # hu2022, table 4: rank 4 on queries and values of GPT-3 175B is 18 M with queries alone at
    # rank 8; 37.7 M are queries and values at rank 8.
    gpt = build("gpt-3-175b", sequence=128)
    tuned = adapted(gpt, Trainable(lora=8, targets=("q_proj", "v_proj")))
    assert tuned.trainable == pytest.approx(37.7e6, rel=0.005)


def test_operator_of_several_projections_may_have_one_adapter():
    tuned = adapted(LLAMA, Trainable(lora=8, targets=("query-key-value",)))
    assert tuned.trainable == 32 * 8 * (4096 + 3 * 4096)


@given(model=decoders())
def test_everything_is_trained_unless_a_study_says_otherwise(model):
    assert adapted(model, Trainable()) is model
    assert model.trainable == model.parameters


@given(model=decoders(), rank=st.integers(1, 64))
def test_adapters_alone_are_trained_and_the_rest_stays(model, rank):
    tuned = adapted(model, Trainable(lora=rank))
    adapters = [each for _, each in tuned.operators if "adapter" in each.name]
    assert tuned.parameters == model.parameters + tuned.trainable
    assert tuned.trainable == model.layers[1].repeats * sum(each.weights for each in adapters)
    assert flop(tuned) > flop(model)


@given(model=decoders())
def test_frozen_products_compute_one_gradient_instead_of_two(model):
    tuned = adapted(model, Trainable(lora=1))
    for layer, each in tuned.operators:
        if each.matrices and each.weights and "adapter" not in each.name:
            assert each.backward_flop == each.flop * (layer.name != "embedding")


def test_backward_pass_on_frozen_products_takes_about_as_long_as_the_forward_pass():
    tuned = adapted(LLAMA, Trainable(lora=8))
    # Attention has its whole backward pass, and stands here with both of its kernels.
    assert 1 < backward_flop(tuned) / flop(tuned) < 1.3
    assert backward_flop(LLAMA) / flop(LLAMA) == pytest.approx(2.0, abs=0.1)


def test_input_of_a_product_is_kept_once_for_all_its_adapters():
    block = adapted(LLAMA, Trainable(lora=16)).layers[1]
    sizes = {each.name: each.kept.values for each in block.operators}
    assert sizes["query-key-value"] == 0
    assert sizes["query-key-value q_proj adapter down"] == 4096 * 4096
    assert (
        sizes["query-key-value k_proj adapter down"]
        == sizes["query-key-value v_proj adapter down"]
        == 0
    )
    assert sizes["query-key-value v_proj adapter up"] == 4096 * 16


def test_dropout_before_adapters_keeps_a_copy_and_a_mask_once_for_a_product():
    trainable = Trainable(lora=16, targets=("q_proj", "v_proj", "o_proj"), dropout=True)
    block = adapted(LLAMA, trainable).layers[1]
    sizes = {each.name: each.kept for each in block.operators}
    values = 4096 * 4096
    for name in ("query-key-value q_proj", "attention output o_proj"):
        assert sizes[f"{name} adapter down"] == Size(values=values, fixed=values)
    assert sizes["query-key-value v_proj adapter down"] == NOTHING
    assert sizes["attention output"].values == values


def test_scales_that_are_not_quantised_again_take_half_a_bit():
    assert WeightStorage.NF4_PLAIN.weight_bytes * 8 == 4.5
    assert (
        WeightStorage.NF4.weight_bytes
        < WeightStorage.NF4_PLAIN.weight_bytes
        < WeightStorage.INT8.weight_bytes
    )


def test_output_of_fused_attention_stays_for_its_own_backward_pass():
    block = adapted(LLAMA, Trainable(lora=16, targets=("q_proj",))).layers[1]
    sizes = {each.name: each.kept.values for each in block.operators}
    assert sizes["attention output"] == 4096 * 4096
    assert sizes["feed-forward in"] == sizes["feed-forward out"] == 0
    assert sizes["activation"] == 2 * 4096 * 11008


def test_adapters_are_divided_like_the_product_beside_them():
    block = adapted(LLAMA, Trainable(lora=16)).layers[1]
    split = {each.name: each.split for each in block.operators}
    units = {each.name: each.units for each in block.operators}
    assert split["query-key-value q_proj adapter down"] is Split.NONE
    assert split["query-key-value q_proj adapter up"] is Split.COLUMNS
    assert split["attention output o_proj adapter down"] is Split.DEPTH
    assert split["attention output o_proj adapter up"] is Split.NONE
    assert units["attention output o_proj adapter down"] == units["attention output"] == 32


@given(model=decoders(), data=st.data())
def test_nothing_comes_back_to_layers_before_the_first_trained_one(model, data):
    frozen = data.draw(st.integers(1, model.cuttable_layers))
    tuned = adapted(model, Trainable(frozen=frozen))
    first = [layer for layer in tuned.layers if layer.trainable == 0]
    operators = [each for layer in first for each in layer.operators]
    assert sum(layer.repeats for layer in first) == frozen + 1
    assert all(each.backward_flop == 0 for each in operators)
    assert all(each.backward == each.kept == NOTHING for each in operators)
    assert tuned.cuttable_layers == model.cuttable_layers
    assert tuned.parameters == model.parameters
    assert flop(tuned) == pytest.approx(flop(model))


def test_frozen_layers_have_all_the_parameters_that_are_not_trained():
    tuned = adapted(LLAMA, Trainable(frozen=20))
    block, table = LLAMA.layers[1].weights, LLAMA.layers[0].weights
    assert LLAMA.parameters - tuned.trainable == 20 * block + table


def test_table_that_the_head_shares_is_trained_through_the_head():
    gpt = build("megatron-1.7b", sequence=128)
    tuned = adapted(gpt, Trainable(frozen=24))
    assert tuned.trainable == gpt.tied + 2 * 2304


@given(model=decoders(), frozen=st.integers(0, 3))
def test_freezing_more_never_costs_more(model, frozen):
    if frozen < model.cuttable_layers:
        less = adapted(model, Trainable(frozen=frozen))
        more = adapted(model, Trainable(frozen=frozen + 1))
        assert more.trainable <= less.trainable
        assert backward_flop(more) <= backward_flop(less)
        assert kept(more) <= kept(less)


def test_quantised_base_of_70_billion_parameters_fits_48_gigabytes():
    # dettmers2023, abstract: 65 billion parameters are tuned on a single device of 48 GB.
    tuned = adapted(
        build("llama-2-70b", sequence=512), Trainable(lora=16, stored=WeightStorage.NF4)
    )
    stored = sum(
        layer.repeats * (each.weights - each.trainable) * (each.stored or 2.0)
        for layer, each in tuned.operators
    )
    assert 35e9 < stored < 40e9
    # Working copy, master copy, gradient and two moments of each trained parameter.
    assert stored + 18 * tuned.trainable < 48e9


def test_only_products_between_embedding_and_head_are_quantised():
    tuned = adapted(LLAMA, Trainable(lora=16, stored=WeightStorage.INT8))
    stored = {each.name for _, each in tuned.operators if each.stored is not None}
    products = {"query-key-value", "attention output", "feed-forward in", "feed-forward out"}
    assert stored == products


@pytest.mark.parametrize(
    ("trainable", "message"),
    [
        ({"lora": -1}, r"Trainable\.lora must be at least 0"),
        ({"frozen": -1}, r"Trainable\.frozen must be at least 0"),
        ({"frozen": 3, "lora": 8}, "adapters freeze every layer"),
        ({"stored": WeightStorage.NF4}, "need adapters; give their rank as lora"),
        ({"targets": ("q_proj",)}, "need adapters; give their rank as lora"),
        ({"frozen": 33}, "model 'llama-2-7b' has 32 layers; 33 cannot be frozen"),
        ({"lora": 8, "targets": ("q_prj",)}, "no projection 'q_prj'. Did you mean 'q_proj'"),
        ({"lora": 8, "targets": ("logits",)}, "no projection 'logits'"),
    ],
)
def test_impossible_choice_is_refused(trainable, message):
    with pytest.raises(InputError, match=message):
        adapted(LLAMA, Trainable(**trainable))


def test_adapters_in_fp32_each_read_a_copy_of_their_own():
    """Four bytes a value for queries and four for values, which otherwise share two."""
    model = build("llama-2-7b", sequence=64)
    known = Trainable(lora=8, targets=("q_proj", "v_proj"))
    narrow, wide = (
        sum(
            2 * each.kept.values + each.kept.fixed
            for each in adapted(model, trainable).layers[1].operators
            if each.name.endswith("adapter down")
        )
        for trainable in (known, replace(known, widened=True))
    )
    assert wide == 2 * 4 * 64 * 4096
    assert narrow < wide


def test_gptq_has_four_bits_and_a_scale_for_128_weights():
    assert WeightStorage.GPTQ.weight_bytes * 8 == 4 + 20 / 128
