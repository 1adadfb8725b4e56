"""Learned positions: no sample is longer than their table, and nothing stretches it in silence."""

import pytest

from foretrain.errors import InputError
from foretrain.search.ladders import LONGEST
from foretrain.search.largest import largest
from foretrain.study.config.hugging_face import model_of
from foretrain.study.study import study_from
from foretrain.workload.library.entries import SampleKind, build, entries
from foretrain.workload.library.variants import with_positions

LONGER = 65_536
TABLES = {"gpt-2": 1024, "opt-1.3b": 2048, "bert-base": 512, "roberta-base": 512}
"""Published lengths; OPT's and RoBERTa's tables have two rows more, which no token uses."""


@pytest.mark.parametrize(("name", "longest"), [*TABLES.items(), ("bart-base", 1024)])
def test_longest_sample_has_a_position_for_each_token(name, longest):
    assert build(name, sequence=longest).longest == longest
    with pytest.raises(InputError) as refused:
        build(name, sequence=longest + 1)
    assert f"has learned positions for {longest} tokens; sequence is {longest + 1}" in str(
        refused.value
    )
    assert f"workload.positions = {longest + 1}" in str(refused.value)


def test_model_reads_samples_of_any_length_or_says_how_long_they_may_be():
    for name in [n for n, e in entries().items() if e.reads is SampleKind.TOKENS]:
        longest = build(name, sequence=64).longest
        if longest is None:
            assert build(name, sequence=LONGER).tokens > 1024, name
        else:
            with pytest.raises(InputError, match=f"'{entries()[name].name}' has learned positions"):
                build(name, sequence=longest + 1)


@pytest.mark.parametrize("name", [*TABLES, "electra-base", "bart-base", "gpt-3-1.3b", "mpt-1b"])
def test_stated_positions_make_the_table_as_long(name):
    short, long = (build(name, sequence=512, positions=each) for each in (512, 4096))
    assert (long.longest, long.tokens) == (4096, 512)
    assert build(name, sequence=4096, positions=4096).longest == 4096
    rows = 4096 - 512
    assert (long.parameters - short.parameters) % rows == 0
    assert long.parameters > short.parameters


def test_published_table_stated_is_the_published_model():
    assert build("gpt-2", sequence=512, positions=1024) == build("gpt-2", sequence=512)


@pytest.mark.parametrize("name", ["llama-3-8b", "bloom-560m", "t5-base", "gpt-j-6b"])
def test_model_without_a_table_has_no_positions_to_state(name):
    with pytest.raises(InputError, match=r"workload\.positions: the model has no learned table"):
        build(name, sequence=512, positions=512)
    with pytest.raises(InputError, match="no learned table"):
        with_positions(None, 512)


def test_rows_that_no_token_uses_of_a_configuration_count_no_tokens():
    config = {
        "model_type": "roberta",
        "vocab_size": 50_265,
        "max_position_embeddings": 514,
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
    }
    assert model_of(config, sequence=512).longest == 512
    with pytest.raises(InputError, match="learned positions for 512 tokens; sequence is 513"):
        model_of(config, sequence=513)
    assert model_of(config, sequence=513, positions=600).longest == 600


def study(**workload):
    return study_from(
        {
            "workload": {"model": "gpt-2", "global_batch": 8, "sequence": 256, **workload},
            "cluster": {"name": "dgx-h100", "nodes": 1},
            "plan": {"pipeline": 1, "recompute": "full", "sharding": "optimizer"},
            "search": {"maximise": "sequence"},
        },
        "study",
    )


def test_study_states_positions():
    assert study(sequence=2048, positions=2048).workload.model.tokens == 2048
    with pytest.raises(InputError, match=r"workload: model 'gpt-2-124m' has learned positions"):
        study(sequence=2048)


def test_longest_sequence_ends_with_the_table():
    assert (largest(study()).size, largest(study()).next) == (1024, None)
    assert largest(study(positions=4096)).size == 4096 < LONGEST
