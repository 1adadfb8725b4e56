"""The key `model`: a name, a config.json beside the study, or totals."""

import json

import pytest

from foretrain.errors import InputError
from foretrain.study.problems import Problems
from foretrain.study.workload import read_workload
from foretrain.workload.gradients import CODECS, FP32, top
from foretrain.workload.library.entries import build
from foretrain.workload.totals import SPREAD

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "vocab_size": 32000,
}
TOTALS = {"parameters": "25.6 M", "flop": "8.2 GFLOP", "activations": "11.1 M"}


def workload(folder=None, **keys):
    section = {"global_batch": 64, **keys}
    problems = Problems("study.toml")
    found = read_workload(section, problems, folder)
    problems.check()
    return found


def refusal(folder=None, **keys):
    with pytest.raises(InputError) as found:
        workload(folder, **keys)
    return str(found.value)


def test_configuration_lies_beside_the_study(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "config.json").write_text(json.dumps(LLAMA))
    found = workload(tmp_path, model="models/config.json", sequence=4096).model
    named = build("llama-2-7b", sequence=4096)
    assert found.parameters == named.parameters
    assert found.source == "models/config.json"
    assert found.layers == named.layers


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not JSON: Expecting property name"),
        (b"[1]", "is not a table of keys and values"),
        (b"\xff", "is not UTF-8 text"),
        (b"[" * 100_000, "config.json: is nested too deeply"),
        (b"{}", "model_type is None; it names the family"),
        (b'{"model_type": "llma"}', "Did you mean 'llama'?"),
        (b'{"model_type": "llama"}', "num_attention_heads is missing; a model of type llama"),
        (b" " * 2**21, "is larger than 1 MiB"),
    ],
)
def test_file_that_is_no_configuration_is_told_with_its_path(tmp_path, content, message):
    (tmp_path / "config.json").write_bytes(content)
    told = refusal(tmp_path, model="config.json", sequence=128)
    assert told.startswith("study.toml: workload: ")
    assert message in told


def test_missing_file_is_told(tmp_path):
    assert "config.json: there is no such file" in refusal(tmp_path, model="config.json")


def test_study_that_is_no_file_names_none():
    assert "which only a study in a file can name" in refusal(model="/etc/config.json")


def test_totals_make_a_model_of_images_or_of_text():
    image = workload(model=TOTALS).model
    text = workload(model={**TOTALS, "layers": 12}, sequence=128).model
    assert image.parameters == pytest.approx(25.6e6)
    assert (image.tokens, image.cuttable_layers, image.spread) == (1, 1, SPREAD)
    assert (text.tokens, text.cuttable_layers) == (128, 12)


def test_totals_have_no_image():
    assert "known by its totals has neither image" in refusal(model=TOTALS, image=224)


def test_adapters_are_read():
    trainable = {"lora": 8, "targets": ["q_proj", "v_proj"], "quantised": "nf4"}
    model = workload(model="llama-2-7b", sequence=128, trainable=trainable).model
    assert model.trainable == 4_194_304
    assert any(operator.stored for _, operator in model.operators)


def test_frozen_layers_are_read():
    model = workload(model="llama-2-7b", sequence=128, trainable={"frozen": 31}).model
    assert model.trainable == model.layers[-2].weights + model.layers[-1].weights


@pytest.mark.parametrize(
    ("written", "codec"),
    [("1-bit", CODECS["1-bit"]), ("bf16", CODECS["bf16"]), ({"top": "1 %"}, top(0.01))],
)
def test_codec_of_gradients_is_read(written, codec):
    found = workload(model="llama-2-7b", sequence=128, gradients=written)
    assert found.gradients == codec


def test_rank_of_thin_products_is_read():
    found = workload(model="llama-2-7b", sequence=128, gradients={"powersgd": 4}).gradients
    assert found.name == "powersgd 4"
    assert 0 < found.wire_bytes < 0.1


def test_what_a_study_leaves_out_is_plain():
    found = workload(model="llama-2-7b", sequence=128)
    assert found.gradients is FP32
    assert found.model == build("llama-2-7b", sequence=128)


def imbalances(model):
    return {operator.imbalance for _, operator in model.operators if operator.experts}


def test_experts_are_used_as_the_study_says():
    even, uneven, full = (
        workload(model="mixtral-8x7b", sequence=128, **keys).model
        for keys in ({}, {"expert_imbalance": 1.5}, {"expert_capacity": 1.25})
    )
    assert (imbalances(even), imbalances(uneven)) == ({1.0}, {1.5})
    flop = [
        sum(operator.flop for _, operator in model.operators if operator.experts)
        for model in (even, full)
    ]
    assert flop[1] == pytest.approx(1.25 * flop[0])
    assert even.parameters == uneven.parameters == full.parameters


def test_experts_of_a_configuration_are_used_as_the_study_says(tmp_path):
    mixtral = {
        **LLAMA,
        "model_type": "mixtral",
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
    }
    (tmp_path / "config.json").write_text(json.dumps(mixtral))
    model = workload(tmp_path, model="config.json", sequence=128, expert_imbalance=1.5).model
    assert imbalances(model) == {1.5}
