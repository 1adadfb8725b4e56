"""Decoders of unknown families: read by their fields, with what is assumed and how sure it is."""

import json
from dataclasses import replace
from math import log, sqrt
from statistics import median

import pytest
from tests.small import QUICK_HOST
from tests.study.config.configs import BART, BERT, NEMOTRON_H, VIT
from tests.study.config.published import OF_LLAMA, WHOLE

from foretrain import read_study
from foretrain.errors import InputError, UnsupportedModel
from foretrain.step.estimate import estimate
from foretrain.study.coefficients import DEFAULT
from foretrain.study.config.hugging_face import model_of, shape_of
from foretrain.study.config.unknown import MOST_NAMED, SPREAD
from foretrain.study.study import study_from
from foretrain.workload.library.entries import entries

DOCUMENT = {
    "workload": {"model": "llama-3-8b", "global_batch": 64, "sequence": 1024},
    "cluster": {"name": "dgx-h100", "nodes": 4},
    "plan": {
        "tensor": 1,
        "context": 1,
        "pipeline": 1,
        "micro_batch": 1,
        "sharding": "parameters",
        "recompute": "none",
    },
}
STUDY = study_from(DOCUMENT, "study")


def seconds(model):
    """What devices take; how often hosts are called tells models apart that compute alike."""
    study = replace(STUDY, workload=replace(STUDY.workload, model=model))
    return estimate(study, coefficients=QUICK_HOST).step_time


def renamed(config, **changes):
    return model_of({**config, "model_type": "mine", **changes}, sequence=1024)


SAID = [
    "llama-2-7b", "llama-3-8b", "mistral-7b", "mixtral-8x7b", "gemma-2b", "phi-3-mini",
    "deepseek-v2-lite", "deepseek-v2", "deepseek-v3", "gpt-2", "falcon-7b",
]  # fmt: skip
"""Models whose fields say all that their family does."""


@pytest.mark.parametrize("name", SAID)
def test_a_known_family_by_another_name_is_the_same_model(name):
    known, found = model_of(WHOLE[name], sequence=1024), renamed(WHOLE[name])
    assert (found.spread, found.known_by) == (SPREAD, "the fields of its configuration only")
    assert found.assumed
    assert replace(found, name=known.name, spread=1.0, known_by="", assumed=()) == known


@pytest.mark.parametrize("name", WHOLE)
def test_a_known_family_read_by_its_fields_takes_as_long(name):
    known, found = model_of(WHOLE[name], sequence=1024), renamed(WHOLE[name])
    assert abs(log(seconds(found) / seconds(known))) < 0.03


def test_interval_is_wider_by_what_architecture_alone_does_to_a_step():
    nearest = {}
    for entry in entries().values():
        if entry.shape_by.startswith("Decoder") and not entry.sizes.get("experts"):
            model = entry.build(1024)
            if model.longest is None:
                nearest.setdefault(entry.told, []).append(model)
    chosen = [min(each, key=lambda it: abs(log(it.parameters / 8e9))) for each in nearest.values()]
    each = [log(seconds(model) / model.parameters) for model in chosen if model.parameters > 3e9]
    apart = max(abs(one - median(each)) for one in each)
    easy = DEFAULT.uncertainty.time
    assert len(each) > 12
    assert SPREAD - 0.1 < sqrt(1 + (apart / easy) ** 2) <= SPREAD


PUBLISHED = {
    "olmo2": (
        {**OF_LLAMA, "architectures": ["Olmo2ForCausalLM"], "hidden_size": 4096,
         "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32,
         "num_key_value_heads": 32, "vocab_size": 100352, "attention_bias": False},
        7.30e9,
    ),
    "baichuan": (
        {**OF_LLAMA, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
         "num_attention_heads": 32, "vocab_size": 125696, "model_max_length": 4096,
         "auto_map": {"AutoModelForCausalLM": "modeling_baichuan.BaichuanForCausalLM"}},
        7.51e9,
    ),
    "internlm2": (
        {**OF_LLAMA, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 92544, "bias": False},
        7.74e9,
    ),
    "granite": (
        {**OF_LLAMA, "hidden_size": 4096, "intermediate_size": 12800, "num_hidden_layers": 40,
         "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 49155,
         "tie_word_embeddings": True, "attention_multiplier": 0.0078125, "logits_scaling": 16.0},
        8.17e9,
    ),
    "chatglm": (
        {"architectures": ["ChatGLMModel"], "padded_vocab_size": 65024, "hidden_size": 4096,
         "auto_map": {"AutoModelForCausalLM": "modeling_chatglm.ChatGLMForConditionalGeneration"},
         "num_layers": 28, "num_attention_heads": 32, "ffn_hidden_size": 13696, "kv_channels": 128,
         "multi_query_attention": True, "multi_query_group_num": 2, "add_qkv_bias": True,
         "add_bias_linear": False, "rmsnorm": True, "layernorm_epsilon": 1e-05,
         "attention_dropout": 0.0, "hidden_dropout": 0.0, "tie_word_embeddings": False},
        6.24e9,
    ),
    "starcoder2": (
        {"hidden_size": 4608, "intermediate_size": 18432, "num_hidden_layers": 32,
         "num_attention_heads": 36, "num_key_value_heads": 4, "vocab_size": 49152,
         "hidden_act": "gelu_pytorch_tanh", "norm_epsilon": 1e-05, "use_bias": True,
         "rope_theta": 1000000, "sliding_window": 4096, "mlp_type": "default"},
        7.17e9,
    ),
    "cohere": (
        {"hidden_size": 8192, "intermediate_size": 22528, "num_hidden_layers": 40,
         "num_attention_heads": 64, "num_key_value_heads": 64, "vocab_size": 256000,
         "hidden_act": "silu", "layer_norm_eps": 1e-05, "rope_theta": 8000000.0,
         "attention_bias": False, "use_qk_norm": False, "logit_scale": 0.0625},
        34.98e9,
    ),
    "stablelm": (
        {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 24,
         "num_attention_heads": 32, "num_key_value_heads": 32, "vocab_size": 100352,
         "hidden_act": "silu", "layer_norm_eps": 1e-05, "rope_theta": 10000, "use_qkv_bias": True,
         "partial_rotary_factor": 0.25, "tie_word_embeddings": False},
        1.64e9,
    ),
    "ernie4_5_moe": (
        {**OF_LLAMA, "hidden_size": 2560, "intermediate_size": 12288, "num_hidden_layers": 28,
         "moe_intermediate_size": 1536, "num_attention_heads": 20, "num_key_value_heads": 4,
         "head_dim": 128, "moe_num_experts": 64, "moe_k": 6, "moe_num_shared_experts": 2,
         "moe_layer_start_index": 1, "vocab_size": 103424, "tie_word_embeddings": True},
        21.8e9,
    ),
    "glm4_moe": (
        {**OF_LLAMA, "hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46,
         "moe_intermediate_size": 1408, "num_attention_heads": 96, "num_key_value_heads": 8,
         "head_dim": 128, "n_routed_experts": 128, "num_experts_per_tok": 8, "n_shared_experts": 1,
         "first_k_dense_replace": 1, "vocab_size": 151552, "attention_bias": True,
         "use_qk_norm": False, "num_nextn_predict_layers": 1},
        106.8e9,
    ),
}  # fmt: skip
"""Configurations of families without a reader, from memory, and parameters as published."""


@pytest.mark.parametrize("family", PUBLISHED)
def test_unknown_family_has_about_as_many_parameters_as_published(family):
    config, parameters = PUBLISHED[family]
    found = model_of({"model_type": family, **config}, sequence=1024)
    assert found.parameters == pytest.approx(parameters, rel=0.02)
    assert f"'{family}', a model_type that is not known" in found.assumed[0]


LEAST = {
    "hidden_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "vocab_size": 1000,
}


def test_all_that_no_field_says_is_told():
    assert renamed(LEAST).assumed == (
        "that 'mine', a model_type that is not known, is a decoder",
        "a plain feed-forward part (no activation is named) and layer norms",
        "a feed-forward part four times as wide as the stream",
        "one table for both ends (the default of tie_word_embeddings)",
        "no norms of queries and keys",
        "as many key-value heads as heads",
        "heads that share the stream's width",
        "biases in all products",
        "rotated positions",
    )


def test_keys_that_may_change_the_cost_are_named():
    found = renamed(LEAST, mystery_factor=3, off=False, nothing=None, use_cache=True)
    assert found.assumed[-1] == "that nothing hangs on the keys mystery_factor"
    many = renamed(LEAST, **{f"mystery_{number:02}": 1 for number in range(MOST_NAMED + 5)})
    assert many.assumed[-1].endswith("mystery_11 and 5 more")


def test_a_name_that_is_nearly_known_is_told():
    assert "Did you mean 'llama'?" in renamed(LEAST, model_type="lama").assumed[0]


@pytest.mark.parametrize(
    ("changes", "block"),
    [
        ({"intermediate_size": 3000}, {"gated": True}),
        ({"intermediate_size": 4096}, {"gated": False}),
        ({"intermediate_size": 3000, "hidden_act": "gelu", "layer_norm_eps": 1}, {"gated": False}),
        ({"intermediate_size": 4096, "hidden_act": "silu"}, {"gated": True}),
        ({"intermediate_size": 3000, "hidden_act": "relu2", "rms_norm_eps": 1}, {"gated": False}),
    ],
)
def test_gate_follows_from_activation_norms_and_width(changes, block):
    (run,) = shape_of({"model_type": "mine", **LEAST, **changes}).runs
    assert run.blocks[0].feed_forward.gated == block["gated"]


@pytest.mark.parametrize(
    ("changes", "rotary", "positions"),
    [
        ({}, True, None),
        ({"n_positions": 512}, False, 512),
        ({"n_positions": 512, "rope_theta": 1e4}, True, None),
        ({"alibi": True}, False, None),
        ({"max_position_embeddings": 512, "rms_norm_eps": 1}, True, None),
    ],
)
def test_positions_are_learned_rotated_or_added(changes, rotary, positions):
    shape = shape_of({"model_type": "mine", **LEAST, **changes})
    assert shape.runs[0].blocks[0].mixer.rotary == rotary
    assert shape.embedding.positions == positions


@pytest.mark.parametrize(
    ("changes", "repeats"),
    [
        ({"first_k_dense_replace": 1}, [1, 3]),
        ({"mlp_only_layers": [0, 1]}, [2, 2]),
        ({"decoder_sparse_step": 2}, [1, 1, 1, 1]),
        ({}, [4]),
    ],
)
def test_layers_with_experts_are_those_that_fields_name(changes, repeats):
    moe = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64, **changes}
    assert [run.repeats for run in shape_of({"model_type": "mine", **LEAST, **moe}).runs] == repeats


@pytest.mark.parametrize(
    "config",
    [
        {**BERT, "architectures": ["MineForPreTraining"]},
        {**BERT, "type_vocab_size": 2},
        VIT,
        BART,
        NEMOTRON_H,
        {**LEAST, "architectures": ["MineForMaskedLM"]},
        {**LEAST, "architectures": ["MineForSequenceClassification"]},
        {**LEAST, "is_encoder_decoder": True},
        {**LEAST, "mamba_d_state": 16},
        {**LEAST, "vision_config": {"hidden_size": 8}},
        {key: value for key, value in LEAST.items() if key != "vocab_size"},
    ],
)
def test_what_is_no_decoder_is_refused_as_ever(config):
    with pytest.raises(UnsupportedModel, match="model_type is 'mine', which foretrain cannot read"):
        shape_of({**config, "model_type": "mine"})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"num_attention_heads": 7}, "which its 7 attention heads do not divide"),
        ({"num_experts": 8}, "num_experts_per_tok is missing; a model of type mine needs it"),
        ({"hidden_size": "wide"}, "hidden_size is 'wide', not a whole number"),
        ({"attention_bias": "some"}, "attention_bias is 'some', neither true nor false"),
    ],
)
def test_a_mistake_in_a_field_is_told_with_its_key(changes, told):
    with pytest.raises(InputError, match=told):
        shape_of({"model_type": "mine", **LEAST, **changes})


def answered(folder, config):
    (folder / "config.json").write_text(json.dumps(config))
    lines = [f"[{name}]\n" + "\n".join(f"{k} = {json.dumps(v)}" for k, v in keys.items())
             for name, keys in DOCUMENT.items()]  # fmt: skip
    study = "\n".join(lines).replace('"llama-3-8b"', '"config.json"')
    (folder / "study.toml").write_text(study)
    return estimate(read_study(folder / "study.toml"))


def test_answer_tells_what_was_assumed_and_is_less_sure(tmp_path):
    known = answered(tmp_path, WHOLE["llama-2-7b"])
    found = answered(tmp_path, {**WHOLE["llama-2-7b"], "model_type": "mine"})
    assert found.step_time == known.step_time
    assert any("known by the fields of its configuration only" in it for it in found.warnings)
    assert any(it.startswith("assumed that 'mine'") for it in found.warnings)
    wide, easy = (log(it.step_time_high / it.step_time) for it in (found, known))
    assert wide / easy == pytest.approx(SPREAD)
    assert known.confidence.inside_calibration
    assert not found.confidence.inside_calibration
