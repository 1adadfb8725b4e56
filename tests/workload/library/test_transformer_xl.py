"""Transformer-XL: weights as in its configuration, and laws of its segments and clusters."""

import pytest

from foretrain.errors import InputError
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Attention
from foretrain.workload.parts.transformer_xl import TransformerXL, transformer_xl

SMALL = TransformerXL(layers=2, hidden=64, heads=4, feed_forward=128, clusters=(100, 300))


def operators(model):
    return {operator.name: operator for _, operator in model.operators}


def test_weights_of_a_layer_are_those_of_its_products_positions_and_norms():
    """Queries, keys, values, positions and output are 5 h^2; two products of h x 4 h; two norms."""
    large = build("transformer-xl-large", sequence=384)
    hidden, wide = 1024, 4096
    layer = 5 * hidden**2 + 2 * hidden * wide + wide + hidden + 4 * hidden
    assert large.layers[1].weights == layer
    assert large.layers[1].repeats == 18


def test_a_table_as_wide_as_the_stream_is_used_on_both_ends():
    base = build("transformer-xl-base", sequence=192)
    assert base.tied == 267_735 * 512
    assert base.parameters == pytest.approx(192e6, rel=0.001)  # NVIDIA's page, from memory


def test_queries_meet_twice_as_many_keys_as_a_segment_has_tokens():
    scores = operators(transformer_xl("", SMALL, sequence=32))["scores"].matrices
    assert (scores.rows, scores.columns) == (32, 64)


def test_positions_cost_as_much_as_keys():
    found = operators(transformer_xl("", SMALL, sequence=32))
    assert found["position scores"].flop == found["scores"].flop


@pytest.mark.parametrize("kernel", Attention)
def test_no_kernel_of_attention_drops_an_operator(kernel):
    model = transformer_xl("", SMALL, sequence=32)
    assert kernel not in model.kernels


def test_shares_of_the_clusters_add_up_and_common_words_lead():
    assert sum(SMALL.shares) == pytest.approx(1.0)
    assert SMALL.shares[0] > SMALL.shares[1]


def test_narrower_tables_have_fewer_weights():
    narrow = TransformerXL(
        layers=2, hidden=64, heads=4, feed_forward=128, clusters=(100, 300), narrowing=4
    )
    assert narrow.widths == (64, 16)
    wide = transformer_xl("", SMALL, sequence=32)
    assert transformer_xl("", narrow, sequence=32).parameters < wide.parameters


def test_a_shape_without_layers_is_refused():
    with pytest.raises(InputError, match="layers"):
        TransformerXL(layers=0, hidden=64, heads=4, feed_forward=128, clusters=(100,))
