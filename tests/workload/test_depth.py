"""Depth: more of the same layers, and nothing else."""

import pytest
from tests.small import gpt, mixture

from foretrain.errors import InputError
from foretrain.workload.graph import growing, least_layers, steady_layers, with_layers
from foretrain.workload.library.entries import build


def test_llama_of_70b_with_as_many_layers_as_405b_keeps_its_width():
    model = build("llama-3-70b", sequence=8192)
    deep = with_layers(model, 126)
    each = growing(model).weights
    assert deep.parameters == model.parameters + 46 * each
    assert deep.cuttable_layers == 126
    assert deep.name == "llama-3-70b with 126 layers"


def test_as_many_layers_as_before_are_the_same_model():
    assert with_layers(gpt(), 8) == gpt()


def test_layer_that_repeats_most_grows():
    model = mixture()
    assert growing(model).repeats == 3
    assert [layer.repeats for layer in with_layers(model, 9).layers] == [1, 1, 8, 1]


def test_others_keep_their_number():
    assert least_layers(mixture()) == 2
    with pytest.raises(InputError, match="has at least 2 layers, got 1"):
        with_layers(mixture(), 1)


def test_model_whose_layers_all_differ_cannot_grow():
    with pytest.raises(InputError, match="no layer of alexnet repeats"):
        growing(build("alexnet", image=224))


def test_chunks_are_steady_once_they_hold_all_layers_of_other_kinds():
    assert steady_layers(gpt()) == 1
    assert steady_layers(mixture()) == 2
