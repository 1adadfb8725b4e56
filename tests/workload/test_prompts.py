"""Prompts: trained parameters that others printed, and what frozen layers keep."""

import pytest

from foretrain.errors import InputError
from foretrain.workload.library.entries import build
from foretrain.workload.prompts import Prompt, prompted

LITGPT = {
    ("stablelm-alpha-3b", False): 573_888,
    ("llama-2-7b", False): 1_229_760,
    ("stablelm-alpha-3b", True): 2_125_248,
    ("llama-2-7b", True): 4_279_744,
}
"""Printed by LitGPT for ten tokens from the third layer on, without and with scales."""


@pytest.mark.parametrize(("name", "scales"), LITGPT)
def test_trained_parameters_are_those_that_litgpt_prints(name, scales):
    model = build(name, sequence=128)
    found = prompted(model, Prompt(tokens=10, first=2, scales=scales))
    assert found.trainable == LITGPT[name, scales]
    assert found.cuttable_layers == model.cuttable_layers


def test_layers_before_the_first_prompt_keep_nothing():
    found = prompted(build("llama-2-7b", sequence=128), Prompt(tokens=10, first=2))
    before = found.layers[1]
    assert before.repeats == 2
    assert not any(each.kept.values or each.kept.fixed for each in before.operators)
    assert not any(each.backward_flop for each in before.operators)


def test_layers_before_the_first_prompt_keep_what_their_scales_need():
    found = prompted(build("llama-2-7b", sequence=128), Prompt(tokens=10, first=2, scales=True))
    assert any(each.kept.values for each in found.layers[1].operators)


def test_prompts_in_every_layer_leave_one_kind_of_layer():
    model = build("llama-2-7b", sequence=128)
    assert len(prompted(model, Prompt(tokens=10)).layers) == len(model.layers)


def test_prompts_need_a_layer():
    with pytest.raises(InputError, match="has 32 layers; a prompt cannot start after 32"):
        prompted(build("llama-2-7b", sequence=128), Prompt(tokens=10, first=32))


@pytest.mark.parametrize("wrong", [{"tokens": 0}, {"tokens": 1, "first": -1}])
def test_prompts_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InputError, match="must be at least"):
        Prompt(**wrong)
