"""Models that transformers builds: counted as the families that are read without it, or refused."""

import json

import pytest
from tests.needs import needs, needs_installed

from foretrain.errors import ForetrainError, InputError, UnsupportedModel
from foretrain.study.config.hugging_face import model_of
from foretrain.study.study import read_study
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Attention

needs("torch")
needs_installed("transformers")

from foretrain.study.tracing.hugging_face import traced_config  # noqa: E402

STUDY = """
[workload]
model = "config.json"
{size}
global_batch = 8

[cluster]
name = "pcie-8x-rtx-3090"
nodes = 1

[plan]
data = 8
micro_batch = 1
"""
SMALL = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 500,
    "max_position_embeddings": 128,
}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
KNOWN = {
    "llama": {**SMALL, "tie_word_embeddings": False},
    "mistral": {**SMALL, "sliding_window": 16},
    "qwen2": SMALL,
    "qwen3": SMALL,
    "gemma": SMALL,
    "gemma2": {**SMALL, "sliding_window": 16},
    "mixtral": {**SMALL, "num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen3_moe": {**SMALL, **EXPERTS},
    "gpt2": {"n_embd": 64, "n_layer": 3, "n_head": 4, "vocab_size": 500, "n_positions": 128},
    "opt": {**SMALL, "ffn_dim": 96, "word_embed_proj_dim": 64},
    "t5": {"d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 3, "num_heads": 4,
           "vocab_size": 500},
    "bart": {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 96,
             "decoder_ffn_dim": 96, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
             "vocab_size": 500, "max_position_embeddings": 128},
}  # fmt: skip


def flop(model, kernel):
    mine = (None, kernel)
    return sum(
        layer.repeats * each.flop for layer, each in model.operators if each.attention in mine
    )


@pytest.mark.parametrize("family", KNOWN)
def test_traced_family_has_the_parameters_and_flop_of_the_one_that_is_read(family):
    config = {"model_type": family, **KNOWN[family]}
    known = model_of(config, sequence=64)
    traced = traced_config(config, sequence=64, image=None)
    assert traced.parameters == known.parameters
    for kernel in Attention:
        assert flop(traced, kernel) == pytest.approx(flop(known, kernel), rel=1e-9)
    assert traced.tied == known.tied
    assert traced.cuttable_layers == known.cuttable_layers


def test_llama_by_its_configuration_is_the_library_s():
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "tie_word_embeddings": False,
    }
    known, traced = (
        build("llama-3-8b", sequence=1024),
        traced_config(config, sequence=1024, image=None),
    )
    assert traced.parameters == known.parameters
    assert flop(traced, Attention.FLASH) == pytest.approx(flop(known, Attention.FLASH), rel=0.01)
    assert [layer.repeats for layer in traced.layers] == [1, 32, 1]
    assert [layer.output for layer in traced.layers] == [layer.output for layer in known.layers]


def really_kept(config, kind, inputs):
    """Bytes that autograd keeps of a real run, parameters apart, each storage once."""
    import torch
    import transformers

    sizes = transformers.AutoConfig.for_model(**config, use_cache=False)
    net = getattr(transformers, kind)._from_config(
        sizes, attn_implementation="sdpa", dtype=torch.bfloat16
    )
    own = {each.untyped_storage().data_ptr() for each in net.parameters()}
    found = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            found[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda each: each):
        out = net.train()(**inputs)
    assert out[0].requires_grad
    return sum(each.nbytes() for each in found.values())


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        ("llama", "LlamaForCausalLM"),
        ("qwen3", "Qwen3ForCausalLM"),
        ("gpt2", "GPT2LMHeadModel"),
        ("opt", "OPTForCausalLM"),
    ],
)
def test_what_is_kept_is_what_a_real_run_keeps(family, kind):
    import torch

    still = {"attention_dropout": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
             "dropout": 0.0}  # fmt: skip
    config = {"model_type": family, **KNOWN[family], **still}
    tokens = torch.randint(0, 500, (2, 64))
    real = really_kept(config, kind, {"input_ids": tokens, "labels": tokens.clone()})
    model = traced_config(config, sequence=64, image=None)
    kept = sum(
        layer.repeats * (each.kept.values * 2 + each.kept.fixed)
        for layer, each in model.operators
        if each.attention in (None, Attention.FLASH)
    )
    assert 2 * kept == pytest.approx(real, rel=0.02)


def read(folder, config, size="sequence = 64"):
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "study.toml").write_text(STUDY.format(size=size))
    return read_study(folder / "study.toml").workload.model


def test_family_that_is_not_known_here_is_traced(tmp_path):
    model = read(tmp_path, {"model_type": "distilbert", "dim": 64, "n_layers": 2, "n_heads": 4,
                            "hidden_dim": 96, "vocab_size": 500})  # fmt: skip
    assert (model.name, model.spread, model.source) == ("distilbert", 1.0, "config.json")
    assert [layer.repeats for layer in model.layers] == [1, 2, 1]


def test_family_that_is_known_here_is_not_traced(tmp_path, monkeypatch):
    monkeypatch.setattr("foretrain.study.model.traced_config", None)
    assert read(tmp_path, {"model_type": "llama", **SMALL}).parameters > 0


def test_pictures_have_the_configuration_s_size_or_the_study_s(tmp_path):
    config = {"model_type": "dinov2", "hidden_size": 64, "num_hidden_layers": 2,
              "num_attention_heads": 4, "image_size": 56, "patch_size": 14}  # fmt: skip
    assert read(tmp_path, config, "").tokens == 17
    assert read(tmp_path, config, "image = 112").tokens == 65
    with pytest.raises(InputError, match="reads pictures: give image"):
        read(tmp_path, config, "sequence = 64")


def test_scan_of_a_state_space_model_is_one_operator():
    model = traced_config({"model_type": "mamba", "hidden_size": 64, "num_hidden_layers": 2,
                           "vocab_size": 500}, sequence=4096, image=None)  # fmt: skip
    assert len([each for _, each in model.operators if each.name.endswith("scan")]) == 2
    assert sum(layer.repeats for layer in model.layers) == 4


def test_decoder_that_transformers_refuses_is_read_by_its_fields_and_says_so(tmp_path):
    config = {"model_type": "nobody_knows", "architectures": ["NobodyForCausalLM"], **SMALL}
    model = read(tmp_path, config)
    assert model.spread > 1
    assert "transformers could not be asked" in model.assumed[0]


@pytest.mark.parametrize(
    ("config", "size", "told"),
    [
        ({"model_type": "nobody_knows"}, "", "transformers does not know either"),
        ({"model_type": "distilbert"}, "", r"distilbert reads tokens: give sequence"),
        ({"model_type": "distilbert"}, "image = 3\nsequence = 4", "reads no pictures"),
        ({"model_type": "distilbert", "dim": "wide"}, "sequence = 4", r"does not read it|built"),
        ({"model_type": "distilbert", "dim": 7}, "sequence = 4", "cannot be built"),
        ({"model_type": "distilbert"}, "sequence = 9999", "IndexError|raised|512"),
        ({"model_type": "detr"}, "", "timm"),
    ],
)
def test_configuration_that_cannot_be_traced_is_told_with_its_file(config, size, told, tmp_path):
    with pytest.raises(ForetrainError, match=told) as error:
        read(tmp_path, config, size)
    assert "config.json: " in str(error.value)


def test_without_transformers_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("foretrain.errors.find_spec", lambda _: None)
    with pytest.raises(InputError, match=r'pip install "foretrain\[transformers\]"'):
        read(tmp_path, {"model_type": "distilbert"})
    with pytest.raises(UnsupportedModel):
        model_of({"model_type": "distilbert"}, sequence=4)


@pytest.mark.parametrize("family", ["llama", "gpt2", "t5", "mixtral"])
def test_model_that_somebody_built_is_traced_as_by_its_configuration_and_left_as_it_is(family):
    import transformers

    from foretrain.study.tracing.module import traced_module

    config = {"model_type": family, **KNOWN[family]}
    sizes = transformers.AutoConfig.for_model(**config)
    mapping = (
        transformers.AutoModelForSeq2SeqLM if family == "t5" else transformers.AutoModelForCausalLM
    )
    net = mapping.from_config(sizes)
    before = (net.config._attn_implementation, net.config.use_cache, net.training)
    ours = traced_module(net, name="net", sequence=64)
    assert (net.config._attn_implementation, net.config.use_cache, net.training) == before
    theirs = traced_config(config, sequence=64, image=None)
    assert ours.parameters == theirs.parameters
    assert flop(ours, Attention.FLASH) == flop(theirs, Attention.FLASH)
    assert [each.repeats for each in ours.layers] == [each.repeats for each in theirs.layers]
