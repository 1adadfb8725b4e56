"""Models of stated sizes: whatever their family is called, each blank by a rule that is listed."""

from dataclasses import replace

import pytest
from tests.measured.runs import GPT, case, layout, network

from foretrain.measured import defaults
from foretrain.measured.coverage import NotCovered
from foretrain.measured.decoders import heads_of
from foretrain.measured.run import TrainedNetwork

UNKNOWN = {"name": "Quux 7B", "family": "quux"}


def model(**changes):
    return case(network(**changes)).workload.model


@pytest.mark.parametrize(
    ("hidden", "tensor", "heads"),
    [
        (14336, 8, 112),  # of 128
        (14400, 8, 120),  # 112.5 would be of 128; of 120
        (12288, 8, 96),
        (1024, 1, 16),  # of 64
        (768, 1, 12),
        (2048, 1, 16),
        (2304, 1, 18),  # of 128
    ],
)
def test_heads_are_of_a_usual_width_and_whole_on_every_device(hidden, tensor, heads):
    assert heads_of(hidden, tensor) == heads
    assert hidden % heads == 0 == heads % tensor


def test_blank_heads_are_listed_and_widen_the_interval():
    found = case(network(heads=None, kv_heads=None))
    assert defaults.HEAD_WIDTHS.words in found.assumed
    assert len(found.assumed) > len(case(network(kv_heads=None)).assumed)


def test_blank_layers_are_as_many_as_fill_the_parameters():
    """12 h^2 a layer and the embedding: 72 layers of 14,400 have 183 billion with 250,880 rows."""
    found = case(
        network(layers=None, hidden=14400, heads=None, kv_heads=None, feed_forward=None,
                vocabulary=250_880, parameters=183e9)
    )  # fmt: skip
    assert found.workload.model.cuttable_layers == 72
    assert defaults.LAYERS_OF_PARAMETERS.words in found.assumed


def test_any_family_is_priced_by_its_stated_sizes():
    """12 h^2 a layer, as GPT's, without biases; the head has weights of its own."""
    sizes = 96 * 12 * 12288**2 + 2 * 51200 * 12288
    assert model(**UNKNOWN).parameters == pytest.approx(sizes, rel=1e-4)


def test_an_unknown_family_is_said():
    words = [each for each in case(network(**UNKNOWN)).assumed if "quux" in each]
    assert words == ["family 'quux' is not known: a decoder of the stated sizes, plain"]


@pytest.mark.parametrize(("width", "gated"), [(49152, False), (32768, True)])
def test_a_width_other_than_four_times_the_stream_is_gated(width, gated):
    found = case(network(**UNKNOWN, feed_forward=width)).assumed
    assert any(each.endswith("gated" if gated else "plain") for each in found)


def test_stated_parameters_decide_whether_it_is_gated():
    """Three matrices of 8 h^2 and four of attention: 28 h^2 a layer where two would make 20."""
    sizes = {"layers": 96, "hidden": 4096, "heads": 32, "kv_heads": 32, "feed_forward": 32768}
    around = 51200 * 4096
    for matrices, kind in ((3, "gated"), (2, "plain")):
        parameters = around + 96 * (4 + 8 * matrices) * 4096**2
        found = case(network(**UNKNOWN, **sizes, parameters=float(parameters))).assumed
        assert any(each.endswith(kind) for each in found)


def test_stated_experts_take_the_place_of_the_feed_forward_part():
    found = case(
        replace(
            network(**UNKNOWN, experts=8, chosen=2, feed_forward=16384),
            layout=replace(GPT.layout, recompute="full", attention="flash"),
        )
    ).workload.model
    assert found.experts
    # Of eight experts a token meets two.
    assert found.active < 0.5 * found.parameters


def test_both_sides_of_an_encoder_decoder_have_the_stated_layers():
    sizes = {"layers": 12, "hidden": 768, "heads": 12, "feed_forward": 3072, "kv_heads": None}
    run = replace(
        network(name="my-t5", family="t5", **sizes, vocabulary=32_128),
        layout=replace(GPT.layout, tensor=1, pipeline=1, data=128, interleaving=None,
                       recompute="none", attention=""),
        global_batch=128,
    )  # fmt: skip
    assert case(run).workload.model.cuttable_layers == 24


def test_parameters_alone_do_not_make_an_encoder_decoder():
    with pytest.raises(NotCovered, match="structure of 'my-t5' not stated"):
        case(replace(GPT, network=TrainedNetwork(name="my-t5", family="t5", parameters=3e9)))


def test_parameters_alone_make_a_plain_decoder_of_any_other_family():
    run = replace(
        layout(tensor=1, pipeline=1, data=128, interleaving=None, recompute="full"),
        network=TrainedNetwork(name="Quux", parameters=6.7e9),
        global_batch=128,
    )
    found = case(run)
    assert found.workload.model.parameters == pytest.approx(6.7e9, rel=0.1)
    assert defaults.CONTEXT.words in found.assumed


def test_uneven_shares_wait_for_the_largest():
    """63 samples on two replicas: one has 32, and so many take 64."""
    found = case(replace(GPT, global_batch=63))
    assert found.workload.global_batch == 64
    assert defaults.ROUNDED_SHARES.words in found.assumed


def test_part_of_a_sample_is_a_whole_one_for_the_device_that_has_it():
    assert case(layout(micro_batch=0.5)).plan.micro_batch == 1
