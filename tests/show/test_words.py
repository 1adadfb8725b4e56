"""Words: plans for people who do not read short forms."""

import pytest
from tests import builders

from foretrain.plan.plan import ChannelSplit, Plan, Recompute, Sends, Sharding
from foretrain.show.words import count, percent, sentences, written
from foretrain.units import DOLLARS
from foretrain.workload.library.entries import build
from foretrain.workload.operator import Attention
from foretrain.workload.workload import Workload

WORKLOAD = builders.study().workload


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0.0 %"),
        (0.0002, "<0.1 %"),
        (-0.0002, ">-0.1 %"),
        (-0.041, "-4.1 %"),
        (0.041, "4.1 %"),
        (0.0999, "10 %"),
        (0.414, "41 %"),
        (0.9949, "99 %"),
        (0.997, "99.7 %"),
        (0.9999, ">99.9 %"),
        (1.0 - 1e-12, "100 %"),
        (1.02, "102 %"),
    ],
)
def test_percentages_have_two_digits(share, text):
    assert percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(9_999e6, "9999 MUSD"), (12_500e6, "12,500 MUSD"), (5e12, "5e+06 MUSD"), (2.5, "2.5 USD")],
)
def test_numbers_of_10_000_and_more_have_commas(value, text):
    assert written(DOLLARS, value) == text


def test_one_of_a_thing_is_not_a_plural():
    assert (count(1, "stage"), count(9310, "plan")) == ("1 stage", "9,310 plans")
    assert count(2, "batch", plural="batches") == "2 batches"
    assert count(1.2, "failure") == "1 failure"


def test_plan_on_one_device_speaks_of_no_axis():
    told = " ".join(sentences(Plan(), WORKLOAD))
    assert told == (
        "One copy of the model computes 1,024 micro-batches of 1 sample per step. "
        "All activations are kept for the backward pass."
    )


def test_everything_unusual_about_a_plan_is_said():
    plan = builders.plan(
        interleaving=2,
        recompute=Recompute.FULL,
        attention=Attention.PLAIN,
        sends=Sends.BLOCKING,
        order=("data", "tensor", "context", "pipeline"),
    )
    told = " ".join(sentences(plan, WORKLOAD))
    assert "2 interleaved chunks each" in told
    assert "Only each layer's input is kept" in told
    assert "without a fused kernel" in told
    assert "wait while they send" in told
    assert "share the data axis, then tensor and then pipeline" in told


def test_selective_recomputation_says_what_it_computes_again():
    told = " ".join(sentences(builders.plan(recompute=Recompute.SELECTIVE), WORKLOAD))
    assert "(attention core, activations of experts) is computed again" in told


def test_sharding_without_replicas_is_not_mentioned():
    alone = builders.plan(data=1, sharding=Sharding.OPTIMIZER)
    assert "divide the optimizer state" not in " ".join(sentences(alone, WORKLOAD))


def test_pictures_are_told_by_pixels_filters_and_channels():
    pictures = Workload(model=build("resnet-50", image=224), global_batch=64)
    pixels = Plan(data=4, context=4, grid=(2, 2), split=14)
    told = " ".join(sentences(pixels, pictures))
    assert "Each sample is shared by 4 devices in a grid of 2 x 2 over its pixels." in told
    assert "as far as 14 layers of the network's front go" in told
    filters = " ".join(sentences(Plan(data=4, tensor=2), pictures))
    assert "The filters of convolutions are split over groups of 2 devices." in filters
    channels = Plan(data=4, tensor=2, convolutions=ChannelSplit.CHANNEL)
    assert "The channels of convolutions" in " ".join(sentences(channels, pictures))
