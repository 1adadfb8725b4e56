"""Situations: what the width of a prediction follows from, as its plan says."""

from dataclasses import replace
from math import log

import pytest
from tests import small

import foretrain
from foretrain.coefficients.intervals import Situation
from foretrain.plan.plan import Sharding
from foretrain.plan.study import Space
from foretrain.step.estimate import estimate
from foretrain.step.situation import among
from foretrain.workload.operator import Attention
from foretrain.workload.parts.transformer_xl import TransformerXL, transformer_xl
from foretrain.workload.workload import Precision, Workload


def situation(space):
    return estimate(small.gpt_study(space=space)).confidence.situation


def test_a_host_that_starts_few_kernels_for_much_work_is_less_of_a_bound():
    def bound(micro_batch):
        return situation(Space(micro_batch=(micro_batch,), pipeline=(8,))).host_bound

    assert 0 < bound(8) < bound(1) <= 1


def test_a_plan_says_what_kind_of_run_it_is():
    plain = Space(micro_batch=(1,), sharding=(Sharding.NONE,))
    found = situation(plain)
    assert not (found.sharded)
    assert not (found.divided)
    assert not (found.experts)
    assert not (found.pictures)
    divided = situation(replace(plain, tensor=(2,), sharding=(Sharding.PARAMETERS,)))
    assert divided.divided
    assert divided.sharded


def test_attention_is_unfused_where_its_products_are_kernels_of_their_own():
    def unfused(**changes):
        study = small.gpt_study(space=Space(micro_batch=(1,), pipeline=(1,), **changes))
        return estimate(study).confidence.situation.unfused

    assert unfused(attention=(Attention.PLAIN,))
    assert not unfused(attention=(Attention.FLASH,))


def test_attention_for_which_no_fused_kernel_exists_is_unfused_whatever_the_plan_asks_for():
    relative = TransformerXL(layers=2, hidden=64, heads=4, feed_forward=128, clusters=(100, 300))
    model = transformer_xl("relative", relative, sequence=32)
    workload = Workload(model=model, global_batch=16, samples=1e6)
    space = Space(micro_batch=(1,), attention=(Attention.FLASH,), pipeline=(1,))
    study = small.gpt_study(workload=workload, space=space)
    assert estimate(study).confidence.situation.unfused


@pytest.mark.parametrize(
    ("precision", "wide"),
    [(Precision.BF16, False), (Precision.TF32, True), (Precision.FP32, True)],
)
def test_products_of_32_bits_are_a_kind_of_their_own(precision, wide):
    workload = replace(small.gpt_study().workload, precision=precision)
    study = small.gpt_study(workload=workload, space=Space(micro_batch=(1,), pipeline=(1,)))
    assert estimate(study).confidence.situation.wide is wide


def test_plans_that_may_be_meant_reach_from_the_quickest_to_the_slowest():
    one = Situation(device="a100-sxm-80gb", devices=8, parameters=1e9)
    found = among(one, 2.0, (1.0, 2.0, 5.0))
    assert (found.lower, found.higher) == pytest.approx((log(2.0), log(2.5)))
    alone = among(one, 2.0, ())
    assert (alone.lower, alone.higher) == (0.0, 0.0)


def test_pictures_that_devices_share_are_a_kind_that_was_never_fitted_to():
    def told(space):
        study = small.resnet_study(space=replace(space, micro_batch=(8,)))
        return estimate(study).confidence

    alone = told(Space(data=(8,)))
    pixels = told(Space(context=(4,), grid=((2, 2),), data=(2,)))
    filters = told(Space(tensor=(4,), data=(2,)))
    assert not alone.situation.shared_pictures
    for each in (pixels, filters):
        assert each.situation.shared_pictures
        assert "no run of networks of images divided by pixels or channels" in each.outside


def test_frames_of_a_spectrogram_under_windows_of_two_dimensions_are_samples_of_their_own():
    asked = {"model": "deep-speech-2", "sequence": 512, "global_batch": 8, "devices": "8x h100-sxm"}
    found = foretrain.estimate(**asked, plan={"micro_batch": 1})
    assert found.confidence.situation.sample == "tokens of spectrograms"
    assert not found.confidence.inside_calibration


def test_only_levels_that_a_step_uses_are_said_to_be_priced_approximately():
    asked = {"model": "resnet-50", "image": 224, "global_batch": 32, "plan": {"micro_batch": 8}}
    for devices, told in (("1x rtx-4090", 0), ("2x rtx-4090", 1)):
        warnings = foretrain.estimate(**asked, devices=devices).warnings
        assert sum("priced approximately" in each for each in warnings) == told
