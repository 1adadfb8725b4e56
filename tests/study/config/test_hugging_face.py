"""Configurations of Hugging Face: parameters to the last one, and clear refusals."""

import subprocess
import sys

import pytest
from tests.study.config.configs import (
    ALL,
    BERT,
    DEEPSEEK_V3,
    EXACT,
    GEMMA_2,
    GPT_2,
    GPT_OSS,
    LLAMA_2,
    LLAMA_4,
    MAVERICK,
    NEMOTRON_H,
    QWEN_3_MOE,
    ROUNDED,
    VIT,
)

from foretrain.errors import ForetrainError, InputError, UnsupportedModel
from foretrain.study.config.hugging_face import FAMILIES, model_of, pictures, shape_of
from foretrain.workload.library.entries import build, entries


def read(config, **changes):
    size = {} if config["model_type"] == "vit" else {"sequence": 512}
    return model_of({**config, **changes}, **size)


def refusal(config, **changes):
    with pytest.raises(ForetrainError) as found:
        read(config, **changes)
    return str(found.value)


def test_model_has_as_many_parameters_as_published():
    for name, (config, parameters) in EXACT.items():
        assert read(config).parameters == parameters, name


def test_model_is_as_large_as_published():
    for name, (config, parameters, rounding) in ROUNDED.items():
        assert abs(read(config).parameters - parameters) <= rounding, name


SAME = sorted(ALL.keys() & entries().keys() - {"mpt-7b", "roberta-base", "roberta-large"})
"""The library has MPT as others train it, and logits of masked words alone for RoBERTa."""


def test_reader_and_library_agree_on_every_operator():
    for name in SAME:
        read_here = [layer.operators for layer in read(ALL[name]).layers]
        built = build(name, sequence=512)
        assert read_here == [layer.operators for layer in built.layers], name
        assert read(ALL[name]).tied == built.tied, name


def test_every_family_is_read_once_at_least():
    assert {config["model_type"] for config in ALL.values()} - set(pictures()["text"]) >= set(
        FAMILIES
    ) - {"llama4_text"}


def test_layers_are_those_that_the_configuration_counts():
    for name in ALL:
        config = ALL[name].get("text_config", ALL[name])
        keys = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers")
        layers = next(config[key] for key in keys if key in config)
        model = read(ALL[name])
        streams = 2 if model.layers[1].name.endswith("encoder block") else 1
        blocks = 2 if ALL[name] is MAVERICK else 1
        assert model.cuttable_layers == streams * layers / blocks, name


@pytest.mark.parametrize("key", sorted(LLAMA_2.keys() - {"model_type"}))
def test_needed_key_is_missed_by_name(key):
    rest = {each: value for each, value in LLAMA_2.items() if each != key}
    assert refusal(rest) == f"{key} is missing; a model of type llama needs it."


def test_configuration_that_says_its_family_alone_misses_something():
    for name in ALL:
        assert "is missing" in refusal({"model_type": ALL[name]["model_type"]}), name


def test_absent_flags_mean_what_the_family_means_by_their_absence():
    tied = {name: read(ALL[name]).tied > 0 for name in ("gpt-2", "gemma-2-9b", "bloom-560m")}
    assert all(tied.values())
    assert read(LLAMA_2).tied == 0
    assert read(LLAMA_2, tie_word_embeddings=True).tied == 32000 * 4096


def test_heads_may_have_a_width_of_their_own():
    assert shape_of(GEMMA_2).runs[0].blocks[0].mixer.width == 256
    assert shape_of(LLAMA_2).runs[0].blocks[0].mixer.width == 128
    rest = {key: value for key, value in QWEN_3_MOE.items() if key != "head_dim"}
    assert shape_of(rest).runs[0].blocks[0].mixer.width == 128


@pytest.mark.parametrize(
    ("name", "tokens", "share"),
    [
        ("mistral-7b", 4096, 1),
        ("phi-3-mini", 2047, 1),
        ("gemma-2-9b", 4096, 1 / 2),
        ("gemma-3-1b", 512, 22 / 26),
        ("gpt-oss-20b", 128, 1 / 2),
        ("llama-4-scout", 8192, 3 / 4),
    ],
)
def test_windows_are_read_with_the_layers_that_have_them(name, tokens, share):
    window = shape_of(ALL[name]).runs[0].blocks[0].mixer.window
    assert (window.tokens, window.share) == (tokens, pytest.approx(share))


@pytest.mark.parametrize("name", ["llama-2-7b", "mixtral-8x7b", "qwen2-7b", "gpt-2"])
def test_window_that_is_null_or_not_used_is_none(name):
    assert shape_of(ALL[name]).runs[0].blocks[0].mixer.window is None


def test_layer_types_count_for_more_than_the_pattern_of_the_family():
    types = ["full_attention"] * 24
    assert shape_of({**GPT_OSS, "layer_types": types}).runs[0].blocks[0].mixer.window is None


def test_dense_layers_come_before_those_with_experts():
    assert [run.repeats for run in shape_of(DEEPSEEK_V3).runs] == [3, 58]


def test_layers_that_alternate_are_read_as_layers_of_two_blocks():
    (run,) = shape_of(MAVERICK).runs
    assert (run.repeats, len(run.blocks)) == (24, 2)


def test_hybrid_has_one_layer_per_letter():
    assert sum(run.repeats for run in shape_of(NEMOTRON_H).runs) == 52


def test_experts_may_be_left_out_of_some_layers():
    shape = shape_of({**QWEN_3_MOE, "mlp_only_layers": [0, 1]})
    assert [run.repeats for run in shape.runs] == [2, 46]


def test_text_of_a_model_of_pictures_is_told_to_be_read_alone():
    assert read(LLAMA_4).name == "llama4 (text alone)"
    assert read(LLAMA_2, _name_or_path="mine/llama").name == "mine/llama"


GEMMA_3_WITH_PICTURES = {
    "gemma-3-4b": {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34},
    "gemma-3-12b": {
        "hidden_size": 3840,
        "intermediate_size": 15360,
        "num_hidden_layers": 48,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
    },
    "gemma-3-27b": {
        "hidden_size": 5376,
        "intermediate_size": 21504,
        "num_hidden_layers": 62,
        "num_attention_heads": 32,
        "num_key_value_heads": 16,
        "head_dim": 128,
    },
}
"""Published text_config: what differs from its family's defaults."""


@pytest.mark.parametrize("name", GEMMA_3_WITH_PICTURES)
def test_a_published_gemma_3_leaves_defaults_to_its_family(name):
    text = {**GEMMA_3_WITH_PICTURES[name], "model_type": "gemma3_text", "sliding_window": 1024}
    found = read({"model_type": "gemma3", "text_config": text, "vision_config": {}})
    published = build(name, sequence=512)
    assert [each.operators for each in found.layers] == [
        each.operators for each in published.layers
    ]


@pytest.mark.parametrize(
    ("family", "text", "like"),
    [
        ("llava", {"vocab_size": 32064}, {"model_type": "llama", "num_hidden_layers": 32}),
        ("mistral3", {"model_type": "mistral", "sliding_window": None}, {"model_type": "mistral"}),
        ("llava_next", {"model_type": "gemma2"}, {"model_type": "gemma2"}),
        ("llava_onevision", {"hidden_size": 896}, {"model_type": "qwen2", "hidden_size": 896}),
    ],
)
def test_text_of_a_model_of_pictures_is_that_of_its_family(family, text, like):
    found = shape_of({"model_type": family, "text_config": text})
    assert found == shape_of({**pictures()["defaults"][like["model_type"]], **text, **like})


def test_a_window_that_is_null_is_none_and_no_default():
    text = {"model_type": "mistral", "sliding_window": None}
    shape = shape_of({"model_type": "mistral3", "text_config": text})
    assert shape.runs[0].blocks[0].mixer.window is None


@pytest.mark.parametrize("family", sorted({*pictures()["text"].values(), *pictures()["defaults"]}))
def test_families_of_text_are_read_and_have_all_keys_by_default(family):
    assert shape_of(pictures()["defaults"][family] | {"model_type": family})


def test_text_of_an_unknown_family_is_named_with_its_place():
    with pytest.raises(UnsupportedModel, match=r"text_config\.model_type is 'cohere2'"):
        shape_of({"model_type": "llava", "text_config": {"model_type": "cohere2"}})


def test_image_is_as_large_as_the_configuration_says_unless_told_otherwise():
    assert model_of(VIT).tokens == 14 * 14 + 1
    assert model_of(VIT, image=384).tokens == 24 * 24 + 1


@pytest.mark.parametrize(
    ("config", "changes", "message"),
    [
        (
            LLAMA_2,
            {"model_type": "lama", "hidden_size": None},
            "Did you mean 'llama'? Known: bart, bert, bloom",
        ),
        (LLAMA_2, {"model_type": 3}, "model_type is 3; it names the family"),
        (LLAMA_2, {"hidden_size": None}, "hidden_size is missing; a model of type llama needs it."),
        (LLAMA_2, {"hidden_size": "4096"}, "hidden_size is '4096', not a whole number"),
        (LLAMA_2, {"hidden_size": True}, "hidden_size is true, not a whole number"),
        (LLAMA_2, {"num_hidden_layers": 0}, "num_hidden_layers is 0, not a whole number of at"),
        (LLAMA_2, {"num_attention_heads": 33}, "which its 33 attention heads do not divide"),
        (LLAMA_2, {"num_key_value_heads": 5}, "kv_heads must divide the 32 heads, got 5"),
        (LLAMA_2, {"attention_bias": "no"}, "attention_bias is 'no', neither true nor false"),
        (GPT_OSS, {"layer_types": ["full_attention"]}, "layer_types has 1 entries for num_hidden"),
        (GPT_OSS, {"layer_types": "full"}, "layer_types is 'full', not a list"),
        (QWEN_3_MOE, {"mlp_only_layers": [48]}, "mlp_only_layers names 48, but there are 48"),
        (QWEN_3_MOE, {"num_experts_per_tok": 129}, "chosen must be at most the 128 experts"),
        (DEEPSEEK_V3, {"first_k_dense_replace": 62}, "62, but there are 61 layers"),
        (DEEPSEEK_V3, {"moe_layer_freq": 2}, "moe_layer_freq is 2; foretrain reads deepseek_v3"),
        (NEMOTRON_H, {"num_hidden_layers": 51}, "write 51 letters, one per layer"),
        (NEMOTRON_H, {"hybrid_override_pattern": "X" * 52}, "M (Mamba-2), * (attention)"),
        (LLAMA_4, {"text_config": None}, "text_config is None, not a table"),
        (LLAMA_4, {"text_config": {}}, "text_config is missing"),
        (GPT_2, {"n_positions": 256}, "has learned positions for 256 tokens; sequence is 512"),
        (GPT_2, {"resid_pdrop": "0.1"}, "resid_pdrop is '0.1', not a number of at least 0"),
        (BERT, {"architectures": ["BertForQuestionAnswering"]}, "reads bert as BertForPreTraining"),
    ],
)
def test_what_cannot_be_read_is_told_with_its_key(config, changes, message):
    assert message in refusal(config, **changes)


def test_unknown_family_is_no_mistake_of_the_input():
    with pytest.raises(UnsupportedModel, match="cannot read"):
        model_of({"model_type": "rwkv"}, sequence=1)


@pytest.mark.parametrize(
    ("config", "size", "message"),
    [
        (LLAMA_2, {}, "reads tokens: give sequence"),
        (LLAMA_2, {"sequence": 8, "image": 224}, "reads tokens: give sequence"),
        (VIT, {"sequence": 8}, "reads images: give image"),
        (VIT, {"image": 225}, "multiple of the 16 pixels"),
    ],
)
def test_size_of_a_sample_must_suit_the_model(config, size, message):
    with pytest.raises(InputError, match=message):
        model_of(config, **size)


def test_reader_needs_neither_torch_nor_transformers():
    code = "import sys, foretrain.study.config.hugging_face; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "transformers", "requests", "pydantic"} & set(loaded)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000; at most 10,000 are read"),
        ({"num_hidden_layers": 2**63}, "at most 10,000 are read"),
        ({"vocab_size": 10**4000}, "vocab_size is 1000000"),
        ({"vocab_size": 1e9}, "not a whole number"),
        ({"attention_dropout": float("inf")}, "not a number from 0 to 1,000,000,000"),
        ({"attention_dropout": float("nan")}, "not a number from 0"),
        ({"model_type": {"a": 1}}, "it names the family of the model"),
        ({"model_type": "x" * 100_000}, "which foretrain cannot read"),
    ],
)
def test_what_is_out_of_all_proportion_is_refused_at_once(changes, told):
    with pytest.raises(ForetrainError, match=told) as error:
        shape_of({**LLAMA_2, "num_key_value_heads": 8, **changes})
    assert len(str(error.value)) < 1000
