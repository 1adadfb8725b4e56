"""Latent attention: DeepSeek-V3's by hand."""

from dataclasses import replace

import pytest

from foretrain.errors import InputError
from foretrain.workload.operator import Attention, Split
from foretrain.workload.parts.mixers import Latent, latent_attention
from foretrain.workload.parts.stream import HiddenStates, Norm

SHAPE = Latent(heads=128, query_rank=1536, key_rank=512, plain=128, rotary=64, value=128)
STREAM = HiddenStates(tokens=4096, hidden=7168, norm=Norm.SCALE, dropout=False)
OPERATORS = {each.name: each for each in latent_attention(SHAPE, STREAM)}


def test_parameters_of_deepseek_v3_by_hand():
    queries = 7168 * 1536 + 1536 + 1536 * 128 * 192
    keys = 7168 * (512 + 64) + 512 + 512 * 128 * (128 + 128)
    assert sum(each.weights for each in OPERATORS.values()) == queries + keys + 128 * 128 * 7168


def test_queries_without_a_narrow_vector_come_from_the_stream():
    operators = latent_attention(replace(SHAPE, query_rank=None), STREAM)
    [query] = [each for each in operators if each.name == "query"]
    assert query.weights == 7168 * 128 * 192


def test_members_of_the_tensor_axis_share_heads_but_not_narrow_vectors():
    splits = {name: each.split for name, each in OPERATORS.items()}
    assert splits["query down"] is splits["key-value down"] is Split.NONE
    assert splits["query up"] is splits["key-value up"] is Split.COLUMNS
    assert splits["attention output"] is Split.DEPTH
    assert OPERATORS["query down"].sequence
    assert OPERATORS["query up"].output == 4096 * 1536


def test_scores_are_wider_than_values():
    tokens, heads = 4096, 128
    flop = 2 * tokens * tokens * heads * (192 + 128)
    plain = [each.flop for each in OPERATORS.values() if each.attention is Attention.PLAIN]
    assert sum(plain) == flop
    assert OPERATORS["flash attention"].flop == flop / 2


def test_context_axis_sees_expanded_keys_and_values():
    heads = OPERATORS["queries, keys, values"]
    assert heads.keys == heads.queries == 4096 * 128 * (192 + 128)
    assert heads.kept.values == 4096 * 128 * (192 + 192 + 128)


def test_selective_recomputation_keeps_narrow_vectors_and_expands_them_again():
    again = [name for name, each in OPERATORS.items() if each.selective and each.attention is None]
    assert again == [
        "query norm",
        "query up",
        "key-value norm",
        "key-value up",
        "queries, keys, values",
    ]
    dropped = [each.kept.values for each in OPERATORS.values() if each.dropped]
    assert sum(dropped) == 4096 * (1536 + 512 + 128 * (192 + 192 + 128)) + 128 * 4096 * 4096


def test_impossible_ranks_are_refused():
    with pytest.raises(InputError, match=r"Latent\.query_rank must be at least 1, got 0"):
        replace(SHAPE, query_rank=0)
