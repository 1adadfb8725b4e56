"""Language models: ends, runs of different layers, and the FLOP of the literature."""

from dataclasses import replace

import pytest

from foretrain.errors import InputError
from foretrain.workload.library.entries import SampleKind, build, entries
from foretrain.workload.operator import UNDIVIDED, Attention, Split
from foretrain.workload.parts.attention import Heads
from foretrain.workload.parts.block import Block, Run
from foretrain.workload.parts.ends import Embedding, LanguageHead
from foretrain.workload.parts.feed_forward import FeedForward
from foretrain.workload.parts.language_model import LanguageModel, language_model

TEXT = [name for name, entry in entries().items() if isinstance(entry.shape, LanguageModel)]
RUN = Run(
    blocks=(
        Block(
            mixer=Heads(heads=4, kv_heads=4, width=16),
            feed_forward=FeedForward(width=256),
        ),
    ),
    repeats=2,
)
SHAPE = LanguageModel(
    hidden=64, embedding=Embedding(vocabulary=100), runs=(RUN,), head=LanguageHead()
)


def made(**changes):
    return language_model("small", replace(SHAPE, **changes), sequence=8)


def flop(model):
    return sum(
        layer.repeats * each.flop
        for layer, each in model.operators
        if each.attention is not Attention.FLASH
    )


def met(model):
    """Weights of the products that a token passes."""
    return sum(
        layer.repeats * each.weights * (each.matrices.rows / model.tokens if each.experts else 1)
        for layer, each in model.operators
        if each.matrices and each.matrices.rows * each.matrices.batch >= model.tokens
    )


# Logits for some of the tokens or twice, and scans, are counted in tests of their own.
PLAIN = [n for n in TEXT if not any(word in n for word in ("bert", "mtp", "nemotron"))]


def test_forward_pass_takes_two_flop_per_weight_and_token_and_the_scores():
    for name in PLAIN:
        model = build(name, sequence=1024)
        scores = sum(
            layer.repeats * each.flop
            for layer, each in model.operators
            if each.attention is Attention.PLAIN and each.flop
        )
        # Biases add without a product: at most one number per row of weights.
        assert flop(model) - scores == pytest.approx(2 * 1024 * met(model), rel=2e-3), name


def test_names_of_operators_are_unique_within_their_layer():
    for name in TEXT:
        for layer in build(name, sequence=64).layers:
            names = [each.name for each in layer.operators]
            assert len(set(names)) == len(names), name


def test_tensor_axis_can_divide_what_it_must():
    for name in [n for n, e in entries().items() if e.reads is SampleKind.TOKENS]:
        operators = build(name, sequence=64).operators if entries()[name].shape else ()
        for _, each in operators:
            refused = each.unit.endswith(UNDIVIDED)
            divided = each.split in (Split.COLUMNS, Split.DEPTH) or bool(each.keys) or refused
            assert bool(each.units) == divided, name


def test_table_of_positions_follows_the_sample_where_its_trainer_says_so():
    table = SHAPE.embedding
    for positions, rows in ((None, 0), (0, 8), (5, 8), (20, 20)):
        added = made(embedding=replace(table, positions=positions, follows=True)).parameters
        assert added - made().parameters == rows * 64


def test_narrow_embedding_is_projected_on_both_ends():
    narrow = made(embedding=replace(SHAPE.embedding, width=16))
    difference = 2 * 100 * (64 - 16) - 2 * 16 * 64
    assert made().parameters - narrow.parameters == difference


def test_logits_are_made_for_predicted_tokens_alone():
    head = made(head=LanguageHead(predicted=0.5)).layers[-1]
    [logits] = [each for each in head.operators if each.name == "logits"]
    assert logits.matrices.rows == 4


def test_further_predictions_use_the_same_logits_again():
    further = made(predictions=2)
    assert [layer.name for layer in further.layers][-2:] == ["multi-token prediction", "head"]
    assert further.layers[-2].repeats == 2
    [logits] = [each for each in further.layers[-1].operators if each.name == "logits"]
    assert (logits.matrices.rows, logits.weights) == (3 * 8, 64 * 100)
    assert further.cuttable_layers == made().cuttable_layers


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": 0}, r"LanguageModel\.hidden must be at least 1, got 0"),
        ({"runs": ()}, "needs at least one run of layers"),
        ({"predictions": -1}, r"LanguageModel\.predictions must be at least 0"),
    ],
)
def test_impossible_shape_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        replace(SHAPE, **change)


def test_impossible_ends_are_refused():
    with pytest.raises(InputError, match=r"Embedding\.vocabulary must be at least 1"):
        Embedding(vocabulary=0)
    with pytest.raises(InputError, match=r"LanguageHead\.predicted must be above 0"):
        LanguageHead(predicted=0)


def test_sample_without_tokens_is_refused():
    with pytest.raises(InputError, match="sequence must be at least 1 token, got 0"):
        language_model("small", SHAPE, sequence=0)


def test_hybrid_has_as_many_layers_as_its_pattern():
    for name in ("nemotron-h-8b", "nemotron-3-nano"):
        assert build(name, sequence=64).cuttable_layers == 52
