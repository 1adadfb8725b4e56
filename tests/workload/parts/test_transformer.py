"""Decoders: parameters to the last one, and the published formula of every GPT."""

from dataclasses import replace

import pytest
from hypothesis import given
from tests.random_models import decoders

from foretrain.errors import InputError
from foretrain.workload.library.entries import build, entries
from foretrain.workload.operator import Attention
from foretrain.workload.parts.language_model import Decoder, decoder

# The number of elements of the published checkpoints' tensors.
LLAMA = {
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3-405b": 405_853_388_800,
}
GPT = [name for name, entry in entries().items() if entry.family == "megatron"]
SHAPE = Decoder(layers=2, hidden=64, feed_forward=256, heads=4, kv_heads=4, vocabulary=100)


@pytest.mark.parametrize(("name", "parameters"), LLAMA.items())
def test_llama_has_as_many_parameters_as_its_checkpoint(name, parameters):
    assert build(name, sequence=4096).parameters == parameters


@pytest.mark.parametrize("name", GPT)
def test_gpt_has_as_many_parameters_as_the_formula_says(name):
    shape, s = entries()[name].shape, 2048
    h, layers, vocabulary = shape.hidden, shape.layers, shape.vocabulary
    # narayanan2021, equation 2, which leaves out the 2 h of the last norm.
    formula = 12 * layers * h**2 + 13 * layers * h + (vocabulary + s) * h
    assert build(name, sequence=s).parameters == formula + 2 * h


@pytest.mark.parametrize("name", [name for name in GPT if name.endswith("b")])
def test_gpt_is_as_large_as_its_name_says(name):
    billions = float(name.split("-")[-1].removesuffix("b"))
    assert build(name, sequence=2048).parameters == pytest.approx(billions * 1e9, rel=0.03)


def test_block_of_a_small_decoder_by_hand():
    block = decoder("small", SHAPE, sequence=8).layers[1]
    norms, attention, feed_forward = 2 * 64, 4 * 64 * 64, 2 * 64 * 256
    assert block.weights == norms + attention + feed_forward
    gated = decoder("small", replace(SHAPE, gated=True, kv_heads=2), sequence=8).layers[1]
    # A third matrix in the feed-forward part, half the keys and values.
    assert gated.weights == norms + 3 * 64 * 64 + 3 * 64 * 256


@given(model=decoders())
def test_tokens_and_layers_are_those_asked_for(model):
    embedding, block, head = model.layers
    assert block.repeats == model.cuttable_layers
    assert embedding.output == block.input == block.output == head.input
    assert [layer.cuttable for layer in model.layers] == [False, True, False]


@given(model=decoders())
def test_both_kernels_attend_to_as_many_tokens(model):
    by_kernel = {
        kernel: sum(o.flop for _, o in model.operators if o.attention is kernel)
        for kernel in Attention
    }
    # The fused kernel skips the masked half.
    assert by_kernel[Attention.PLAIN] == 2 * by_kernel[Attention.FLASH]


@given(model=decoders())
def test_tied_head_is_counted_once(model):
    embedding, _, head = model.layers
    tables = embedding.operators[0].weights, head.operators[1].weights
    assert tables[0] == tables[1]
    assert model.tied in (0, tables[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": 0}, r"Decoder\.layers must be at least 1, got 0"),
        ({"kv_heads": 3}, r"Decoder\.kv_heads must divide the 4 heads, got 3"),
        ({"heads": 12}, r"Decoder\.heads must divide the hidden size 64, got 12"),
        ({"vocabulary": -5}, r"Decoder\.vocabulary must be at least 1, got -5"),
    ],
)
def test_impossible_shape_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(SHAPE, **change)


def test_heads_of_their_own_width_need_not_divide_the_hidden_size():
    assert replace(SHAPE, hidden=65, head_width=16).query == 64


def test_sample_without_tokens_is_refused():
    with pytest.raises(InputError, match="sequence must be at least 1 token, got 0"):
        decoder("small", SHAPE, sequence=0)
