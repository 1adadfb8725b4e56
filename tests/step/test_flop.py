"""FLOP: the formula of the literature, and the utilisations that others published with it."""

import csv
from pathlib import Path

import pytest

from foretrain.plan.plan import Plan, Recompute
from foretrain.step.price import model_flop, recomputed_flop
from foretrain.workload.library.entries import build, entries
from foretrain.workload.operator import Attention

TABLE = Path(__file__).parents[2] / "validation" / "tables" / "llm_training.csv"
GPT = [name for name, entry in entries().items() if entry.family == "megatron"]
NAMES = {
    "megatron-22B": "megatron-22b",
    "gpt3-175B": "gpt-3-175b",
    "turing-530B": "mt-nlg-530b",
    "megatron-1T": "megatron-1t",
}


def runs():
    with TABLE.open() as file:
        rows = [row for row in csv.DictReader(file) if row["source_id"] == "korthikanti"]
    return [pytest.param(row, id=row["model"]) for row in rows if row["mfu"]]


@pytest.mark.parametrize("name", GPT)
def test_gpt_takes_72_l_s_h_squared_and_the_rest(name):
    shape, s = entries()[name].shape, 2048
    h, l, v = shape.hidden, shape.layers, shape.vocabulary  # noqa: E741, the paper's letters
    whole = 72 * s * l * h**2 * (1 + s / (6 * h) + v / (12 * l * h))
    model = build(name, sequence=s)
    assert model_flop(model) == pytest.approx(whole, rel=1e-12)  # korthikanti2022, equation 7
    full = Plan(recompute=Recompute.FULL, attention=Attention.PLAIN)
    with_full = 96 * s * l * h**2 * (1 + s / (6 * h) + v / (16 * l * h))  # narayanan2021, eq. 3
    assert model_flop(model) + recomputed_flop(model, full) == pytest.approx(with_full, rel=1e-12)
    selective = Plan(recompute=Recompute.SELECTIVE, attention=Attention.PLAIN)
    with_scores = 72 * s * l * h**2 * (1 + s / (4.5 * h) + v / (12 * l * h))
    found = model_flop(model) + recomputed_flop(model, selective)
    assert found == pytest.approx(with_scores, rel=1e-12)  # 4 s^2 h of 12 s^2 h once more


@pytest.mark.parametrize("row", runs())
def test_measured_steps_have_the_utilisation_that_was_published(row):
    model = build(NAMES[row["model"]], sequence=int(row["seq_len"]))
    useful = model_flop(model) * int(row["gbs"]) / float(row["step_time_s"])
    mfu = useful / int(row["gpus_total"]) / 312e12
    assert mfu == pytest.approx(float(row["mfu"]), abs=0.005)


def test_four_utilisations_were_published():
    assert [row.values[0]["mfu"] for row in runs()] == ["0.415", "0.514", "0.56", "0.563"]


def test_rule_of_thumb_of_6_flop_per_parameter_and_token_is_near():
    model = build("llama-3-70b", sequence=8192)
    assert model_flop(model) / (6 * model.parameters * 8192) == pytest.approx(1.15, abs=0.1)


def test_resnet_50_takes_4_089_billion_multiply_adds_forward():
    assert model_flop(build("resnet-50", image=224)) / 6 == pytest.approx(4.089e9, rel=5e-4)


@pytest.mark.parametrize("attention", Attention)
def test_model_flop_do_not_depend_on_the_plan(attention):
    model = build("llama-2-7b", sequence=4096)
    assert recomputed_flop(model, Plan(attention=attention)) == 0


def test_selective_recomputation_repeats_nothing_of_a_fused_kernel():
    model = build("llama-2-7b", sequence=4096)
    assert recomputed_flop(model, Plan(recompute=Recompute.SELECTIVE)) == 0


def test_selective_recomputation_expands_latent_attention_whatever_the_kernel():
    model = build("deepseek-v3", sequence=4096)
    found = recomputed_flop(model, Plan(recompute=Recompute.SELECTIVE))
    up = 1536 * 128 * 192 + 512 * 128 * 256
    assert found == pytest.approx(61 * 4096 * 2 * up, rel=1e-3)  # activations take next to nothing
