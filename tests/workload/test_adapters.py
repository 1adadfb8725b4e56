"""Adapters: projections under their names, and factors divided like the product beside them."""

import pytest

from foretrain.workload.library.entries import build
from foretrain.workload.operator import Split
from foretrain.workload.trainable import adapter, is_linear, projections, stem


def parts(name, *, sequence=16):
    """Projections of every product of a model's last layer but the head."""
    layer = build(name, sequence=sequence).layers[-2]
    return {each.name: projections(each, layer) for each in layer.operators if is_linear(each)}


def test_fused_products_are_told_apart_by_the_width_of_what_follows():
    found = parts("llama-3-8b")
    assert found["query-key-value"] == {"q_proj": 4096, "k_proj": 1024, "v_proj": 1024}
    assert found["feed-forward in"] == {"gate_proj": 14336, "up_proj": 14336}
    assert found["attention output"] == {"o_proj": 4096}
    assert found["feed-forward out"] == {"down_proj": 4096}


def test_plain_feed_forward_part_has_no_gate():
    assert parts("gpt-3-175b")["feed-forward in"] == {"up_proj": 4 * 12288}


def test_experts_have_projections_of_their_own():
    found = parts("mixtral-8x7b")
    assert found["experts in"] == {"gate_proj": 14336, "up_proj": 14336}
    assert found["router"] == {"router": 8}


def test_single_key_value_head_is_two_projections():
    found = parts("falcon-7b")
    assert found["query"] == {"q_proj": 4544}
    assert found["key-value"] == {"k_proj": 64, "v_proj": 64}


def test_blocks_of_one_layer_do_not_mix():
    found = parts("llama-4-maverick")
    assert found["query-key-value 1"] == found["query-key-value 2"]
    assert found["feed-forward in 1"] == {"gate_proj": 16384, "up_proj": 16384}


@pytest.mark.parametrize("name", ["llama-3-8b", "gpt-3-175b", "mixtral-8x7b", "deepseek-v3"])
def test_projections_are_as_wide_as_their_product(name):
    layer = build(name, sequence=16).layers[-2]
    for each in filter(is_linear, layer.operators):
        assert sum(projections(each, layer).values()) == each.matrices.columns, stem(each)


def test_every_expert_has_an_adapter():
    layer = build("mixtral-8x7b", sequence=16).layers[-2]
    base = next(each for each in layer.operators if each.name == "experts out")
    down, up, added = adapter(base, "", outputs=4096, rank=8)
    assert down.weights + up.weights == 8 * 8 * (14336 + 4096)
    assert (down.split, up.split) == (Split.DEPTH, Split.NONE)
    assert down.experts == up.experts == added.experts == 8
    assert down.matrices.batch == base.matrices.batch
