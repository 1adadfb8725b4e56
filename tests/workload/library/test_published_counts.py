"""Parameters against published figures: the tables of docs/reference/models.md."""

import re
from pathlib import Path

import pytest

from foretrain.workload.library.entries import SampleKind, build, find

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "models.md").read_text()


def rows(heading):
    """Cells of a table of the page, the heading apart."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| `(.+) \|$", section, re.MULTILINE)
    return [tuple(cell.strip(" `") for cell in line.split("|")) for line in lines]


EXACT = rows("Parameters, exactly")
ROUNDED = rows("Parameters, rounded")
ACTIVE = rows("Active parameters")


def model(name):
    sizes = {SampleKind.TOKENS: {"sequence": 16}, SampleKind.IMAGE: {"image": 224}}
    return build(name, **sizes[find(name).reads])


def last_digit(figure):
    """What one more in its last digit would add."""
    return 10.0 ** -len(figure.partition(".")[2])


def test_page_has_its_tables():
    assert (len(EXACT), len(ROUNDED), len(ACTIVE)) == (91, 28, 16)


def test_model_has_as_many_parameters_as_were_published():
    for name, published, _where in EXACT:
        assert model(name).parameters == int(published.replace(",", "")), name


def test_model_is_as_large_as_published_within_its_rounding():
    for name, published, counted in ROUNDED:
        parameters = model(name).parameters
        assert parameters == int(counted.replace(",", "")), name
        assert parameters / 1e9 == pytest.approx(float(published), abs=last_digit(published) / 2), (
            name
        )


def test_token_meets_as_many_parameters_as_published():
    for name, published, counted, convention in ACTIVE:
        built = model(name)
        table = {"all": 0.0, "no table": built.layers[0].weights}[convention]
        billions = (built.active - table) / 1e9
        assert billions == pytest.approx(float(counted), abs=0.005 + 1e-9), name
        assert billions == pytest.approx(float(published), abs=last_digit(published)), name


def test_bert_is_its_published_encoder_and_the_heads_of_its_pre_training():
    # The product before the logits, its norm, a bias per word, and the pooled classes.
    heads = 768 * 769 + 2 * 768 + 30_522 + 2 * 769
    assert model("bert-base").parameters == 109_482_240 + heads


def test_discriminator_of_electra_is_a_bert_without_pooler_and_a_head():
    built = model("electra-base")
    own = [layer for layer in built.layers if "generator block" not in layer.name]
    projection = 768 * 256 + 256
    parameters = sum(layer.repeats * layer.weights for layer in own) - projection
    assert parameters == 108_891_648 + 768 * 769 + 769


def test_multi_token_prediction_of_deepseek_v3_adds_a_layer_with_experts():
    added = model("deepseek-v3-mtp").parameters - model("deepseek-v3").parameters
    layer = model("deepseek-v3").layers[2].weights
    assert added == layer + 2 * 7168 * 7168 + 3 * 7168
    assert added / 1e9 == pytest.approx(11.5, abs=0.15)  # 14 with copies of table and logits


def test_palm_lacks_nothing_but_its_norms():
    norms = (118 + 1) * 18_432
    assert (model("palm-540b").parameters - norms) / 1e9 == pytest.approx(540.35, abs=0.005)
